//! What the disk thread does.
//!
//! Owns [`Worker`]. A commit that the store refuses for want of space is held, with everything
//! behind it, and tried again; the machine is told to take nothing in well before that.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use forebay_proto as proto;
use forebay_store::{CommitError, Disk, Poisoned, Seq, Store};

use super::link::{Found, Job, Link, Report};
use crate::{
    broker::{ApplyError, Queues},
    metrics::StoreNumbers,
};

/// How often a full store looks whether it has room again.
const FULL_TICK: Duration = Duration::from_millis(100);

/// A commit on its way to the disk.
#[derive(Debug)]
struct Waiting {
    at: Seq,
    seq: proto::Seq,
    since: Instant,
}

/// The store and what is on its way to it.
pub(super) struct Worker<'a, D: Disk> {
    store: Store<D>,
    queues: Queues,
    link: &'a Link,
    margin: usize,
    /// Jobs that are not done yet, in order.
    jobs: VecDeque<Job>,
    /// Whether the first of them waits for space.
    held: bool,
    waiting: VecDeque<Waiting>,
    /// Answers, with the commit that must be durable before.
    answers: VecDeque<(Seq, Report)>,
    /// The last commit.
    last: Seq,
    reports: Vec<Report>,
    numbers: StoreNumbers,
    full: bool,
}

/// Wakes a thread that waits with `std::thread::park`.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<'a, D: Disk> Worker<'a, D> {
    pub(super) fn new(store: Store<D>, queues: Queues, link: &'a Link, margin: usize) -> Self {
        Self {
            store,
            queues,
            link,
            margin,
            jobs: VecDeque::new(),
            held: false,
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            last: Seq::default(),
            reports: Vec::new(),
            numbers: StoreNumbers::default(),
            full: false,
        }
    }

    /// Works until it is stopped and everything is durable.
    pub(super) fn run(mut self) -> Result<(), Poisoned> {
        let sleeps = self.store.waker();
        let bell = sleeps
            .clone()
            .unwrap_or_else(|| Waker::from(Arc::new(Unpark(std::thread::current()))));
        let mut taken = Vec::new();
        loop {
            let found = self.link.take_jobs(&mut taken, &bell);
            self.jobs.extend(taken.drain(..));
            let now = Instant::now();
            self.work(now)?;
            self.store.submit()?;
            let durable = self.store.poll(false)?;
            let progress = self.release(durable, now);
            self.look_for_room();
            if progress || !self.reports.is_empty() {
                self.count();
                self.link.report(&mut self.reports, &self.numbers);
            } else if found != Found::Jobs {
                let idle =
                    self.jobs.is_empty() && self.waiting.is_empty() && !self.store.is_writing();
                if idle && found == Found::Stop {
                    break;
                }
                self.wait(sleeps.is_some());
            }
        }
        self.store.sync()?;
        self.store.checkpoint()
    }

    /// Waits until a write has ended, jobs have come, or a full store is due for a look.
    fn wait(&mut self, sleeps: bool) {
        let limit = (self.full || self.held).then_some(FULL_TICK);
        if sleeps {
            self.store.park(limit);
        } else if self.store.is_writing() {
            // A disk that can't be woken doesn't keep its callers waiting.
            std::thread::yield_now();
        } else {
            std::thread::park_timeout(limit.unwrap_or(Duration::from_secs(1)));
        }
    }

    fn work(&mut self, now: Instant) -> Result<(), Poisoned> {
        self.held = false;
        while let Some(job) = self.jobs.pop_front() {
            match job {
                Job::Commit { seq, ops } => match self.queues.commit(&mut self.store, &ops) {
                    Ok(at) => {
                        self.last = at;
                        self.waiting.push_back(Waiting {
                            at,
                            seq,
                            since: now,
                        });
                    }
                    Err(ApplyError::Commit(CommitError::Full | CommitError::Io(_))) => {
                        self.jobs.push_front(Job::Commit { seq, ops });
                        self.held = true;
                        return Ok(());
                    }
                    Err(ApplyError::Commit(CommitError::Poisoned(poisoned))) => {
                        return Err(poisoned);
                    }
                    // Nothing can be acknowledged behind a commit that can't be made.
                    Err(error) => {
                        return Err(Poisoned {
                            reason: error.to_string().into(),
                        });
                    }
                },
                Job::Resume {
                    session,
                    epoch,
                    window,
                } => {
                    let resumed = self.queues.resume(&mut self.store, session, window);
                    self.answers.push_back((
                        self.last,
                        Report::Resumed {
                            session,
                            epoch,
                            resumed,
                        },
                    ));
                }
                Job::Promote {
                    session,
                    epoch,
                    count,
                } => {
                    let messages = self.queues.promote(&mut self.store, session, count);
                    let report = Report::Promoted {
                        session,
                        epoch,
                        messages,
                    };
                    self.answers.push_back((self.last, report));
                }
            }
        }
        Ok(())
    }

    /// Reports what has become durable. Answers whether anything has.
    fn release(&mut self, durable: Seq, now: Instant) -> bool {
        let mut last = None;
        while let Some(waiting) = self.waiting.pop_front_if(|waiting| waiting.at <= durable) {
            // Once for all commits of a write.
            if last.is_none_or(|(at, _)| at != waiting.at) {
                self.numbers
                    .sync
                    .observe(now.saturating_duration_since(waiting.since));
            }
            last = Some((waiting.at, waiting.seq));
        }
        if let Some((_, seq)) = last {
            self.reports.push(Report::Durable(seq));
        }
        while let Some((_, report)) = self.answers.pop_front_if(|(at, _)| *at <= durable) {
            self.reports.push(report);
        }
        last.is_some()
    }

    /// Tells the machine when the store runs full and when it has room again.
    fn look_for_room(&mut self) {
        // Twice as much to come back as to go, so that it doesn't flutter.
        let margin = if self.full {
            2 * self.margin
        } else {
            self.margin
        };
        let full = self.held || !self.store.has_room(margin);
        if full != self.full {
            if full {
                tracing::warn!("the disk is full: no new messages are taken");
            } else {
                tracing::info!("the disk has room again");
            }
            self.full = full;
            self.reports.push(Report::Full(full));
        }
    }

    fn count(&mut self) {
        let stats = self.store.stats();
        self.numbers.commits = stats.commits;
        self.numbers.frames = stats.frames;
        self.numbers.bytes = stats.frame_bytes;
        self.numbers.checkpoints = stats.checkpoints;
        self.numbers.compacted = stats.compacted_bytes;
        self.numbers.disk = stats.segment_bytes;
    }
}
