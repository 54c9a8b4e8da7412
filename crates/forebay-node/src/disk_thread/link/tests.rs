use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
};

use forebay_proto::Seq;
use forebay_store::Poisoned;

use super::{Found, Job, Link, Report};
use crate::metrics::StoreNumbers;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

fn commit(seq: u64) -> Job {
    Job::Commit {
        seq: Seq(seq),
        ops: Vec::new(),
    }
}

#[test]
fn the_bell_rings_once_for_everything_that_comes_while_the_disk_thread_waits() {
    let link = Link::default();
    let (rung, bell) = counted();
    let mut jobs = Vec::new();
    assert_eq!(link.take_jobs(&mut jobs, &bell), Found::Nothing);
    link.send(&mut vec![commit(1)]);
    link.send(&mut vec![commit(2), commit(3)]);
    assert_eq!(rung.0.load(Ordering::Relaxed), 1);
    assert_eq!(link.take_jobs(&mut jobs, &bell), Found::Jobs);
    let seqs: Vec<_> = jobs.iter().filter_map(Job::seq).collect();
    assert_eq!(seqs, [Seq(1), Seq(2), Seq(3)]);
}

#[test]
fn a_stop_comes_after_the_jobs_before_it() {
    let link = Link::default();
    let (rung, bell) = counted();
    let mut jobs = Vec::new();
    link.send(&mut vec![commit(1)]);
    link.stop();
    assert_eq!(link.take_jobs(&mut jobs, &bell), Found::Jobs);
    jobs.clear();
    assert_eq!(link.take_jobs(&mut jobs, &bell), Found::Stop);
    assert_eq!(rung.0.load(Ordering::Relaxed), 0, "nobody waited");
}

#[test]
fn a_failure_takes_back_what_was_reported_and_not_taken() {
    let link = Link::default();
    let (woken, waker) = counted();
    assert!(link.take_reports(&waker).unwrap().is_empty());
    link.report(&mut vec![Report::Durable(Seq(7))], &StoreNumbers::default());
    link.fail(Poisoned {
        reason: "gone".into(),
    });
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(&*link.take_reports(&waker).unwrap_err().reason, "gone");
}
