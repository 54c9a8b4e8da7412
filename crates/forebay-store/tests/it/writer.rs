//! A store on a thread of its own, and what each durability promises (queue claim 19).

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use forebay_store::{
    Access, Batch, CommitError, Committed, Disk, Durability, Handle, Options, OsDisk, OsOptions,
    Place, QueueId, SimDisk, Store, UserFlag, Writer,
};

fn options(durability: Durability) -> Options {
    Options {
        durability,
        segment_size: 1 << 20,
        transaction_max: 64 << 10,
        low_water: 0,
        ..Options::default()
    }
}

fn open<D: Disk>(disk: D, durability: Durability) -> Store<D> {
    let opened = Store::open(disk, options(durability));
    opened.expect("the store opens").0
}

fn os_disk(dir: &tempfile::TempDir) -> OsDisk {
    OsDisk::open(dir.path(), OsOptions::default()).expect("the directory opens")
}

/// A store with a queue, `q`, and nothing on its way.
fn with_queue<D: Disk>(disk: D, durability: Durability) -> (Store<D>, QueueId) {
    let mut store = open(disk, durability);
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q");
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    (store, queue)
}

fn message(queue: QueueId, content: impl Into<bytes::Bytes>) -> Batch {
    let mut batch = Batch::new();
    batch.content(1, content);
    batch.append(queue, UserFlag::default(), 0, "", Place::Queued);
    batch
}

/// Commits messages from many threads at once, `each` from every one.
fn commit_from_many<D: Disk>(
    handle: &Handle<D>,
    queue: QueueId,
    threads: usize,
    each: usize,
) -> Vec<thread::JoinHandle<Vec<Result<Committed, CommitError>>>> {
    let start = |_| {
        let handle = handle.clone();
        let commit = move || handle.commit(message(queue, "x"));
        thread::spawn(move || std::iter::repeat_with(&commit).take(each).collect())
    };
    (0..threads).map(start).collect()
}

fn join<T>(threads: Vec<thread::JoinHandle<Vec<T>>>) -> Vec<T> {
    let results = threads.into_iter().map(|it| it.join().expect("it ends"));
    results.flatten().collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

fn commits<D: Disk>(handle: &Handle<D>) -> u64 {
    handle.run(|store| store.stats().commits).expect("it runs")
}

#[test]
fn commits_of_many_threads_share_their_writes() {
    // queue claim 19: group commit on a real disk
    let dir = tempfile::tempdir().expect("a directory");
    let (store, queue) = with_queue(os_disk(&dir), Durability::Always);
    let before = store.stats();
    let writer = Writer::start(store, 64).expect("a thread");
    let results = join(commit_from_many(&writer.handle(), queue, 64, 50));
    let mut rowids: Vec<u64> = results
        .into_iter()
        .map(|result| result.expect("committed").rowids[0])
        .collect();
    rowids.sort_unstable();
    assert_eq!(rowids, (1..=64 * 50).collect::<Vec<_>>());
    let (_, after) = writer
        .handle()
        .run(move |store| (store.queue_info(queue), store.stats()))
        .expect("it runs");
    let (commits, frames) = (after.commits - before.commits, after.frames - before.frames);
    println!("{commits} commits in {frames} frames");
    assert_eq!(commits, 64 * 50);
    assert!(
        frames * 4 < commits,
        "{frames} frames for {commits} commits"
    );
    drop(writer.close().expect("closed"));
    let store = open(os_disk(&dir), Durability::Always);
    assert_eq!(
        store.queue_info(queue).expect("it is there").pending,
        64 * 50
    );
}

#[test]
fn what_comes_while_all_slots_are_taken_goes_into_one_frame() {
    // queue claim 19
    let disk = SimDisk::new(1);
    let (store, queue) = with_queue(disk.clone(), Durability::Always);
    let (slots, before) = (4, store.stats().frames);
    let writer = Writer::start(store, 64).expect("a thread");
    let handle = writer.handle();
    disk.hold_writes(true);
    let begun = commits(&handle);
    let threads = commit_from_many(&handle, queue, 64, 1);
    wait_until(|| commits(&handle) >= begun + 64);
    assert!(
        threads.iter().all(|it| !it.is_finished()),
        "none is durable"
    );
    disk.hold_writes(false);
    assert!(join(threads).iter().all(Result::is_ok));
    let store = writer.close().expect("closed");
    let checkpoint = 1;
    assert!(store.stats().frames - before <= slots + 1 + checkpoint);
}

#[test]
fn a_lone_append_costs_one_write_and_waits_for_no_other() {
    // queue claim 19
    let disk = SimDisk::new(1);
    let (store, queue) = with_queue(disk.clone(), Durability::Always);
    let writer = Writer::start(store, 64).expect("a thread");
    for n in 1..=20 {
        let before = disk.writes();
        let committed = writer.handle().commit(message(queue, "x"));
        assert_eq!(committed.expect("committed").rowids, [n]);
        assert_eq!(disk.writes() - before, 1);
    }
}

#[test]
fn a_failed_write_reaches_everyone_who_waits() {
    // queue claim 19
    let disk = SimDisk::new(1);
    let (store, queue) = with_queue(disk.clone(), Durability::Always);
    let writer = Writer::start(store, 64).expect("a thread");
    let handle = writer.handle();
    disk.hold_writes(true);
    disk.fail_write(1);
    let begun = commits(&handle);
    let threads = commit_from_many(&handle, queue, 16, 2);
    wait_until(|| commits(&handle) >= begun + 16);
    disk.hold_writes(false);
    let results = join(threads);
    let poisoned = |result: &Result<_, _>| matches!(result, Err(CommitError::Poisoned(_)));
    // Others' writes may have ended before the one that failed, but not their next ones.
    let failed = results.iter().filter(|result| poisoned(result)).count();
    assert!(failed > 16, "{results:?}");
    assert!(results.iter().all(|it| it.is_ok() || poisoned(it)));
    assert!(poisoned(&handle.commit(message(queue, "x"))));
    assert!(writer.close().is_err());
    let acknowledged = results.iter().filter(|result| result.is_ok()).count() as u64;
    let store = open(disk.restart(), Durability::Always);
    assert!(store.queue_info(queue).expect("it is there").pending >= acknowledged);
}

#[test]
fn a_batch_that_is_refused_stops_nobody_else() {
    let (store, queue) = with_queue(SimDisk::new(1), Durability::Always);
    let writer = Writer::start(store, 64).expect("a thread");
    let mut bad = Batch::new();
    bad.append(queue, UserFlag::default(), 0, "", Place::Queued);
    let error = writer.handle().commit(bad).expect_err("it has no content");
    assert!(matches!(error, CommitError::NoContent));
    writer
        .handle()
        .commit(message(queue, "x"))
        .expect("committed");
}

#[test]
fn closing_finishes_what_waits_and_writes_a_checkpoint() {
    let disk = SimDisk::new(1);
    let (store, queue) = with_queue(disk.clone(), Durability::Always);
    let checkpoints = store.stats().checkpoints;
    let writer = Writer::start(store, 64).expect("a thread");
    let handle = writer.handle();
    let begun = commits(&handle);
    disk.hold_writes(true);
    let threads = commit_from_many(&handle, queue, 8, 1);
    wait_until(|| commits(&handle) >= begun + 8);
    let closing = thread::spawn(move || writer.close());
    disk.hold_writes(false);
    assert!(join(threads).iter().all(Result::is_ok));
    let store = closing.join().expect("it ends").expect("closed");
    assert_eq!(store.stats().checkpoints, checkpoints + 1);
    assert!(!store.is_writing());
    let error = handle
        .commit(message(queue, "x"))
        .expect_err("it is closed");
    assert!(matches!(error, CommitError::Closed));
    assert!(matches!(handle.run(|_| ()), Err(CommitError::Closed)));
}

#[test]
fn no_more_callers_than_agreed_wait_in_the_queue_and_all_are_served() {
    let (store, queue) = with_queue(SimDisk::new(1), Durability::Always);
    let writer = Writer::start(store, 2).expect("a thread");
    let (handle, barrier) = (writer.handle(), Arc::new(Barrier::new(2)));
    let (busy, theirs) = (writer.handle(), Arc::clone(&barrier));
    let busy = thread::spawn(move || {
        busy.run(move |_| {
            theirs.wait();
            theirs.wait();
        })
    });
    barrier.wait();
    let threads = commit_from_many(&handle, queue, 8, 4);
    wait_until(|| handle.waiting() == 2);
    for _ in 0..1000 {
        assert_eq!(handle.waiting(), 2);
        thread::yield_now();
    }
    barrier.wait();
    busy.join().expect("it ends").expect("it ran");
    assert!(join(threads).iter().all(Result::is_ok));
}

#[test]
fn a_panic_on_the_thread_lets_everyone_go() {
    let (store, queue) = with_queue(SimDisk::new(1), Durability::Always);
    let writer = Writer::start(store, 2).expect("a thread");
    let handle = writer.handle();
    assert!(handle.run(|_| panic!("on purpose")).is_err());
    let error = handle
        .commit(message(queue, "x"))
        .expect_err("it has ended");
    assert!(matches!(error, CommitError::Poisoned(_)), "{error}");
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| writer.close()));
    assert!(
        closed.is_err(),
        "the panic comes out where the writer is closed"
    );
}

#[test]
fn always_acknowledges_nothing_before_its_write_has_ended() {
    // queue claim 19
    let disk = SimDisk::new(1);
    let (mut store, queue) = with_queue(disk.clone(), Durability::Always);
    disk.hold_writes(true);
    let committed = store.commit(&message(queue, "x")).expect("committed");
    for _ in 0..10 {
        assert!(store.poll(false).expect("sound") < committed.seq);
    }
    assert!(store.poll(true).expect("sound") >= committed.seq);
    let store = open(disk.restart(), Durability::Always);
    assert_eq!(store.queue_info(queue).expect("it is there").pending, 1);
}

#[test]
fn os_acknowledges_what_was_handed_over_and_only_that_may_be_lost() {
    // queue claim 19
    let mut lost = 0;
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let (mut store, queue) = with_queue(disk.clone(), Durability::Os);
        disk.hold_writes(true);
        let committed = store.commit(&message(queue, "x")).expect("committed");
        assert!(store.poll(false).expect("sound") >= committed.seq);
        assert_eq!(disk.in_flight(), 1, "it is on its way");
        drop(store);
        if seed % 2 == 0 {
            // The system goes on with the writes it was given.
            let mut rest = disk.clone();
            while rest.next_done(true).is_some() {}
            let store = open(disk, Durability::Os);
            assert_eq!(store.queue_info(queue).expect("it is there").pending, 1);
        } else {
            let store = open(disk.restart(), Durability::Os);
            lost += 1 - store.queue_info(queue).expect("it is there").pending;
        }
    }
    assert!(lost > 0, "a loss of power takes what was in flight");
}

#[test]
fn interval_acknowledges_at_once_and_writes_when_its_time_is_over_or_it_is_told_to() {
    // queue claim 19
    let disk = SimDisk::new(1);
    let hour = Duration::from_hours(1);
    let (mut store, queue) = with_queue(disk.clone(), Durability::Interval(hour));
    let before = disk.writes();
    for _ in 0..10 {
        let committed = store.commit(&message(queue, "x")).expect("committed");
        assert!(store.poll(true).expect("sound") >= committed.seq);
    }
    assert_eq!(disk.writes(), before, "no write has begun");
    store.sync().expect("synced");
    assert_eq!(disk.writes(), before + 1);
    drop(store);
    let mut store = open(disk.restart(), Durability::Interval(hour));
    assert_eq!(store.queue_info(queue).expect("it is there").pending, 10);
    store.commit(&message(queue, "x")).expect("committed");
    store.poll(false).expect("sound");
    let store = open(disk.restart(), Durability::Interval(hour));
    assert_eq!(store.queue_info(queue).expect("it is there").pending, 10);
}

#[test]
fn a_store_that_sleeps_wakes_when_its_interval_is_over() {
    // queue claim 19
    let dir = tempfile::tempdir().expect("a directory");
    let interval = Durability::Interval(Duration::from_millis(5));
    let (mut store, queue) = with_queue(os_disk(&dir), interval);
    let before = store.stats().frames;
    store.commit(&message(queue, "x")).expect("committed");
    store.poll(false).expect("sound");
    // Nobody else wakes it.
    while store.is_writing() {
        store.park(None);
        store.poll(false).expect("sound");
    }
    assert_eq!(store.stats().frames, before + 1);

    let writer = Writer::start(store, 1).expect("a thread");
    let handle = writer.handle();
    handle.commit(message(queue, "x")).expect("committed");
    wait_until(|| {
        let disk = OsDisk::open(dir.path(), OsOptions::reader()).expect("the directory opens");
        let reader = Options {
            access: Access::Read,
            ..options(interval)
        };
        let (store, _) = Store::open(disk, reader).expect("it opens");
        store.queue_info(queue).expect("it is there").pending == 2
    });
}
