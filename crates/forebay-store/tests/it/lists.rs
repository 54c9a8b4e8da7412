//! The lists of a queue, its contents, and what a load and an opening cost (queue claims 1 to 3, 9,
//! 11, 12, 22).

use forebay_store::{
    Batch, CommitError, FileName, List, Options, Outcome, Place, QueueId, SimDisk, Store, UserFlag,
};

/// Longer than what is read around a content that is asked for.
const LONG: usize = 200 << 10;

fn options() -> Options {
    Options {
        segment_size: 4 << 20,
        transaction_max: 1 << 20,
        recent_max: 0,
        low_water: 0,
        ..Options::default()
    }
}

fn open(disk: &SimDisk, options: Options) -> (Store<SimDisk>, forebay_store::Recovery) {
    Store::open(disk.clone(), options).expect("the store opens")
}

fn new_store(options: Options) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = SimDisk::new(1);
    let (mut store, _) = open(&disk, options);
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q");
    store.commit(&batch).expect("committed");
    store.open_queue(queue);
    (disk, store, queue)
}

fn append(store: &mut Store<SimDisk>, queue: QueueId, content: Vec<u8>) -> u64 {
    let mut batch = Batch::new();
    batch.content(1, content);
    batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
    store.commit(&batch).expect("committed").rowids[0]
}

fn finish(rowids: impl IntoIterator<Item = u64>, queue: QueueId) -> Batch {
    let mut batch = Batch::new();
    for rowid in rowids {
        batch.finish(queue, rowid, Outcome::ACKED);
    }
    batch
}

#[test]
fn opening_twice_is_as_good_as_once_and_there_is_one_queue_of_a_name() {
    // queue claim 1
    let (_, mut store, queue) = new_store(options());
    append(&mut store, queue, vec![1]);
    assert!(store.open_queue(queue));
    assert!(store.open_queue(queue));
    assert!(store.list(queue, List::Inflight, ..).eq([1]));
    let mut batch = Batch::new();
    let other = store.next_queue_id();
    batch.create_queue(other, "q");
    let error = store.commit(&batch).expect_err("it exists");
    assert!(matches!(error, CommitError::QueueExists { queue: named } if named == queue));
    assert_eq!(store.queue(b"q"), Some(queue));
    assert!(!store.open_queue(other), "there is no such queue");
}

#[test]
fn closing_changes_nothing_on_disk() {
    // queue claim 2
    let (disk, mut store, queue) = new_store(options());
    for n in 1..=3 {
        append(&mut store, queue, vec![n]);
    }
    store.sync().expect("synced");
    let (files, steps) = (disk.files(), disk.steps());
    store.close_queue(queue);
    assert_eq!(store.list(queue, List::Inflight, ..).count(), 0);
    store.load(queue, Place::ByRule).expect("readable");
    assert!(store.list(queue, List::Inflight, ..).eq(1..=3));
    assert_eq!((disk.files(), disk.steps()), (files, steps));
}

#[test]
fn a_load_and_an_opening_cost_what_is_pending_and_not_what_was_ever_stored() {
    // queue claims 3, 22
    let cost = |done: u64| {
        let options = Options {
            segment_size: 64 << 10,
            transaction_max: 32 << 10,
            checkpoint_after: 32 << 10,
            ..options()
        };
        let (disk, mut store, queue) = new_store(options.clone());
        for _ in 0..done {
            let rowid = append(&mut store, queue, vec![1; 100]);
            store.commit(&finish([rowid], queue)).expect("committed");
            store.poll(false).expect("sound");
        }
        for _ in 0..10 {
            append(&mut store, queue, vec![2; 100]);
        }
        store.checkpoint().expect("the disk is sound");
        let disk = disk.restart();
        let (mut store, recovery) = open(&disk, options);
        let reads = disk.reads();
        let loaded = store.load(queue, Place::ByRule).expect("readable");
        assert_eq!(loaded.inflight, 10);
        let info = store.queue_info(queue).expect("it is there");
        assert_eq!((info.first_pending, info.next_rowid), (done + 1, done + 11));
        (recovery.bytes, disk.reads() - reads, disk.files().len())
    };
    let (bytes, reads, files) = cost(20_000);
    assert!(bytes < 2 * (32 << 10), "{bytes} bytes of log are read");
    assert!(reads <= 10, "{reads} reads of contents");
    assert!(files < 8, "{files} files");
}

#[test]
fn finishing_in_any_order_costs_the_same() {
    // queue claim 9
    let cost = |order: &[u64]| {
        let (disk, mut store, queue) = new_store(options());
        for _ in 0..1000 {
            append(&mut store, queue, vec![1]);
        }
        store.sync().expect("synced");
        let before = disk.bytes_written();
        store
            .commit(&finish(order.iter().copied(), queue))
            .expect("committed");
        store.sync().expect("synced");
        assert_eq!(store.stats().pending, 0);
        disk.bytes_written() - before
    };
    let forward: Vec<u64> = (1..=1000).collect();
    let backward: Vec<u64> = (1..=1000).rev().collect();
    let mixed: Vec<u64> = (0..1000).map(|n| n * 617 % 1000 + 1).collect();
    assert_eq!(cost(&backward), cost(&forward));
    assert_eq!(cost(&mixed), cost(&forward));
}

#[test]
fn a_finish_that_cannot_be_recorded_is_reported_and_the_message_is_there_again() {
    // queue claim 9
    let (disk, mut store, queue) = new_store(options());
    let rowid = append(&mut store, queue, vec![1]);
    store.sync().expect("synced");
    let twice = store.commit(&finish([rowid, rowid], queue));
    assert!(matches!(twice, Err(CommitError::NotPending { .. })));
    disk.hold_writes(true);
    store.commit(&finish([rowid], queue)).expect("staged");
    disk.crash();
    store.sync().expect_err("the disk is gone");
    let again = store.commit(&finish([rowid], queue));
    assert!(matches!(again, Err(CommitError::Poisoned(_))));
    let (store, _) = open(&disk.restart(), options());
    assert!(store.message(queue, rowid).is_some());
}

#[test]
fn a_content_is_read_once_and_belongs_to_its_message() {
    // queue claims 7, 11
    let (disk, mut store, queue) = new_store(options());
    store.set_max_inflight(queue, 1);
    for n in 1..=3 {
        append(&mut store, queue, vec![n; LONG]);
    }
    store.sync().expect("synced");
    drop(store);
    let disk = disk.restart();
    let (mut store, _) = open(&disk, options());
    store.set_max_inflight(queue, 1);
    store.load(queue, Place::ByRule).expect("readable");
    let reads = disk.reads();
    assert_eq!(store.content(queue, 1).expect("in memory").bytes[0], 1);
    assert_eq!(disk.reads(), reads, "what is inflight is in memory");
    assert_eq!(store.content(queue, 2).expect("readable").bytes[0], 2);
    assert_eq!(disk.reads(), reads + 1, "what is queued is read");
    disk.fail_reads(FileName::Segment(1), true);
    assert_eq!(store.content(queue, 2).expect("kept").bytes[0], 2);
    store.content(queue, 3).expect_err("it was never read");
    store.commit(&finish([1], queue)).expect("committed");
    let promoted = store.promote(queue, 2).expect("its content is there");
    assert_eq!(promoted.bytes.len(), LONG);
    assert_eq!(
        store.content(queue, 2).expect("still kept").bytes,
        promoted.bytes
    );
    store.close_queue(queue);
    store.content(queue, 2).expect_err("memory was freed");
}

#[test]
fn a_list_is_walked_either_way_while_messages_leave_it() {
    // queue claim 12
    let (_, mut store, queue) = new_store(options());
    store.set_max_inflight(queue, 4);
    for n in 1..=9 {
        append(&mut store, queue, vec![n]);
    }
    for (list, rowids) in [(List::Inflight, 1..=4), (List::Queued, 5..=9)] {
        let (first, last) = (*rowids.start(), *rowids.end());
        assert_eq!(store.list(queue, list, ..).next(), Some(first));
        assert_eq!(store.list(queue, list, ..).next_back(), Some(last));
        assert_eq!(store.next(queue, list, first), Some(first + 1));
        assert_eq!(store.list(queue, list, ..last).next_back(), Some(last - 1));
        assert_eq!(store.next(queue, list, last), None);
        assert_eq!(store.list(queue, list, ..first).next_back(), None);
    }
    let info = store.queue_info(queue).expect("it is there");
    assert_eq!((info.inflight, info.queued), (4, 5));
    for list in [List::Inflight, List::Queued] {
        let (mut at, mut seen) = (0, Vec::new());
        while let Some(rowid) = store.next(queue, list, at) {
            at = rowid;
            seen.push(rowid);
            if rowid % 2 == 0 {
                store.commit(&finish([rowid], queue)).expect("committed");
            }
        }
        assert!(
            store
                .list(queue, list, ..)
                .eq(seen.into_iter().filter(|it| it % 2 == 1))
        );
    }
    let info = store.queue_info(queue).expect("it is there");
    assert_eq!((info.inflight, info.queued), (2, 3));
}

#[test]
fn a_slot_that_is_freed_is_filled_in_order_without_another_append() {
    // queue claims 6, 7
    let (_, mut store, queue) = new_store(options());
    store.set_max_inflight(queue, 1);
    for n in 1..=4 {
        append(&mut store, queue, vec![n]);
    }
    for rowid in 1..=4 {
        assert!(
            store.list(queue, List::Inflight, ..).eq([rowid]),
            "strictly one by one"
        );
        store.commit(&finish([rowid], queue)).expect("committed");
        if let Some(next) = store.next_queued(queue) {
            assert_eq!(next, rowid + 1);
            store.promote(queue, next).expect("there is room");
        }
    }
    assert_eq!(store.stats().pending, 0);
}
