//! The claims of a queue, through the public API on a simulated disk.

use forebay_store::{
    Access, Batch, CommitError, Committed, ContentError, FileName, List, LoadError, OpenError,
    Options, Outcome, Place, PromoteError, QueueId, SimDisk, State, Store, UserFlag,
};

fn options() -> Options {
    Options {
        low_water: 0,
        segment_size: 64 * 512,
        transaction_max: 24 << 10,
        ..Options::default()
    }
}

fn open(disk: &SimDisk) -> Store<SimDisk> {
    Store::open(disk.clone(), options())
        .expect("the store opens")
        .0
}

/// A store with one open queue.
fn with_queue(max_inflight: u32) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = SimDisk::new(1);
    let mut store = open(&disk);
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "c-OUT");
    store.commit(&batch).expect("committed");
    store.open_queue(queue);
    store.set_max_inflight(queue, max_inflight);
    (disk, store, queue)
}

fn append(store: &mut Store<SimDisk>, queue: QueueId, content: &str, packet_id: u16) -> Committed {
    let mut batch = Batch::new();
    let flag = UserFlag::default().with_qos(1).with_state(State::Queued);
    batch
        .content(5, content.to_owned())
        .append(queue, flag, packet_id, "", Place::ByRule);
    store.commit(&batch).expect("committed")
}

fn finish(store: &mut Store<SimDisk>, queue: QueueId, rowid: u64) {
    let mut batch = Batch::new();
    batch.finish(queue, rowid, Outcome::ACKED);
    store.commit(&batch).expect("committed");
}

fn lists(store: &Store<SimDisk>, queue: QueueId) -> (Vec<u64>, Vec<u64>) {
    (
        store.list(queue, List::Inflight, ..).collect(),
        store.list(queue, List::Queued, ..).collect(),
    )
}

/// Restarts on what survives, with the queue open and limited.
fn restart(disk: &SimDisk, max_inflight: u32) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = disk.restart();
    let mut store = open(&disk);
    let queue = store.queue(b"c-OUT").expect("the queue is there");
    store.open_queue(queue);
    store.set_max_inflight(queue, max_inflight);
    (disk, store, queue)
}

#[test]
fn a_queue_opens_empty_and_a_load_brings_in_what_is_pending_in_order() {
    // queue claims 1, 2, 3
    let (disk, mut store, queue) = with_queue(2);
    for n in 1..=5 {
        append(&mut store, queue, &n.to_string(), n);
    }
    finish(&mut store, queue, 1);
    store.sync().expect("synced");
    let (_, mut store, queue) = restart(&disk, 2);
    assert_eq!(lists(&store, queue), (vec![], vec![]));
    assert_eq!(store.queue_info(queue).unwrap().first_pending, 2);
    store
        .load(queue, Place::ByRule)
        .expect("everything is readable");
    assert_eq!(lists(&store, queue), (vec![2, 3], vec![4, 5]));
    store.load(queue, Place::ByRule).expect("twice is as good");
    assert_eq!(lists(&store, queue), (vec![2, 3], vec![4, 5]));
    store.close_queue(queue);
    assert_eq!(lists(&store, queue), (vec![], vec![]));
    store.load(queue, Place::ByRule).expect("and again");
    assert_eq!(lists(&store, queue), (vec![2, 3], vec![4, 5]));
}

#[test]
fn a_new_message_never_overtakes_an_older_queued_one() {
    // queue claim 6
    let (_, mut store, queue) = with_queue(2);
    for n in 1..=3 {
        append(&mut store, queue, &n.to_string(), 0);
    }
    finish(&mut store, queue, 1);
    append(&mut store, queue, "4", 0);
    assert_eq!(lists(&store, queue), (vec![2], vec![3, 4]));
    assert_eq!(store.promote(queue, 3).expect("there is room").bytes, "3");
    assert_eq!(lists(&store, queue), (vec![2, 3], vec![4]));
    assert!(matches!(
        store.promote(queue, 4),
        Err(PromoteError::WindowFull)
    ));
}

#[test]
fn a_message_whose_content_cannot_be_read_stays_queued_and_can_be_stepped_over() {
    // queue claims 4, 7
    let (disk, mut store, queue) = with_queue(0);
    for n in 1..=3 {
        append(&mut store, queue, &format!("message {n}"), 0);
    }
    store.sync().expect("synced");
    let (disk, mut store, queue) = restart(&disk, 1);
    store
        .load(queue, Place::Queued)
        .expect("no content is read");
    disk.fail_reads(FileName::Segment(1), true);
    let error = store.promote(queue, 1).expect_err("it can't be read");
    assert!(matches!(
        error,
        PromoteError::Unreadable {
            rowid: 1,
            source: ContentError::Io { .. }
        }
    ));
    assert_eq!(lists(&store, queue), (vec![], vec![1, 2, 3]));
    assert!(store.quarantine(queue, 1));
    assert_eq!(store.next_queued(queue), Some(2));
    store.close_queue(queue);
    let error = store
        .load(queue, Place::Inflight)
        .expect_err("nothing can be read");
    assert!(matches!(error, LoadError::Incomplete { ref range, .. } if *range == (1..4)));
    assert!(store.queue_info(queue).unwrap().load_failed);
    disk.fail_reads(FileName::Segment(1), false);
    store.load(queue, Place::Inflight).expect("repaired");
    assert_eq!(lists(&store, queue), (vec![1, 2, 3], vec![]));
    assert!(!store.queue_info(queue).unwrap().load_failed);
}

#[test]
fn a_step_of_a_handshake_survives_a_crash_and_stays_pending() {
    // queue claims 8, 21
    let (disk, mut store, queue) = with_queue(0);
    append(&mut store, queue, "x", 0);
    let flag = UserFlag::default()
        .with_qos(2)
        .with_state(State::WaitForPubcomp);
    store
        .save_flag(queue, 1, flag.with_pending(false), 7)
        .expect("committed");
    store.sync().expect("synced");
    let (_, mut store, queue) = restart(&disk, 0);
    store.load(queue, Place::ByRule).expect("loaded");
    let message = store
        .by_packet_id(queue, 7)
        .expect("found by its packet identifier");
    assert_eq!((message.rowid, message.flag), (1, flag.with_pending(true)));
    assert_eq!(store.by_packet_id(queue, 8), None);
}

#[test]
fn rowids_are_never_used_again() {
    let (disk, mut store, queue) = with_queue(0);
    for n in 1..=3 {
        append(&mut store, queue, &n.to_string(), 0);
        finish(&mut store, queue, n);
    }
    store.checkpoint().expect("the disk is sound");
    store.sync().expect("synced");
    let (_, mut store, queue) = restart(&disk, 0);
    assert_eq!(append(&mut store, queue, "next", 0).rowids, [4]);
}

#[test]
fn a_publish_to_many_queues_stores_its_content_once() {
    // queue claim 20
    let disk = SimDisk::new(1);
    let mut store = open(&disk);
    let ids: Vec<QueueId> = (0..100).map(|_| store.next_queue_id()).collect();
    let mut batch = Batch::new();
    for (number, id) in ids.iter().enumerate() {
        batch.create_queue(*id, number.to_string());
    }
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    let before = disk.bytes_written();
    let mut batch = Batch::new();
    batch.content(1, vec![b'x'; 4000]);
    for id in &ids {
        batch.append(*id, UserFlag::default(), 0, "", Place::Queued);
    }
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    assert!(disk.bytes_written() - before < 4000 + 100 * 60 + 512);
    for id in ids {
        assert_eq!(store.content(id, 1).expect("readable").bytes.len(), 4000);
    }
}

#[test]
fn a_batch_that_cannot_be_applied_changes_nothing() {
    let (_, mut store, queue) = with_queue(0);
    let mut batch = Batch::new();
    batch
        .content(1, "x")
        .append(queue, UserFlag::default(), 0, "", Place::ByRule);
    batch.finish(queue, 2, Outcome::ACKED);
    let error = store.commit(&batch).expect_err("message 2 does not exist");
    assert!(matches!(error, CommitError::NotPending { rowid: 2, .. }));
    assert_eq!(store.queue_info(queue).unwrap().pending, 0);

    let mut batch = Batch::new();
    batch
        .content(1, vec![0; 26_000])
        .append(queue, UserFlag::default(), 0, "", Place::ByRule);
    assert!(matches!(
        store.commit(&batch),
        Err(CommitError::TooLarge { .. })
    ));
    let mut batch = Batch::new();
    batch.create_queue(store.next_queue_id(), "c-OUT");
    assert!(matches!(
        store.commit(&batch),
        Err(CommitError::QueueExists { .. })
    ));
    assert_eq!(append(&mut store, queue, "first", 0).rowids, [1]);
}

#[test]
fn a_queue_that_is_dropped_and_made_anew_in_one_batch_begins_at_one() {
    let (disk, mut store, queue) = with_queue(0);
    append(&mut store, queue, "old", 0);
    let again = store.next_queue_id();
    let mut batch = Batch::new();
    batch
        .drop_queue(queue)
        .create_queue(again, "c-OUT")
        .content(1, "new");
    batch.append(again, UserFlag::default(), 0, "", Place::ByRule);
    assert_eq!(store.commit(&batch).expect("committed").rowids, [1]);
    store.sync().expect("synced");
    let (_, mut store, queue) = restart(&disk, 0);
    store.load(queue, Place::ByRule).expect("loaded");
    assert_eq!(store.content(queue, 1).expect("readable").bytes, "new");
    assert_eq!(store.queue_info(queue).unwrap().pending, 1);
}

#[test]
fn a_failed_write_poisons_the_store_for_good() {
    // queue claim 19
    let (disk, mut store, queue) = with_queue(0);
    store.sync().expect("synced");
    disk.fail_write(1);
    append(&mut store, queue, "x", 0);
    assert!(store.sync().is_err());
    let mut batch = Batch::new();
    batch
        .content(1, "y")
        .append(queue, UserFlag::default(), 0, "", Place::ByRule);
    assert!(matches!(
        store.commit(&batch),
        Err(CommitError::Poisoned(_))
    ));
    assert!(store.poll(false).is_err());
}

#[test]
fn damage_before_the_end_is_named_and_nothing_is_touched() {
    // queue claim 22
    let (disk, mut store, queue) = with_queue(0);
    for n in 0..6 {
        append(&mut store, queue, &format!("message {n}"), 0);
        store.sync().expect("synced");
    }
    let disk = disk.restart();
    disk.damage(FileName::Segment(1), 512 * 3 + 60, 4);
    let before = disk.files();
    let error = Store::open(disk.clone(), options())
        .err()
        .expect("it does not open");
    let OpenError::Damaged(damage) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (damage.file, damage.offset),
        (FileName::Segment(1), 512 * 3)
    );
    assert_eq!(disk.files(), before);
    let reader = Options {
        access: Access::Read,
        ..options()
    };
    let (_, recovery) = Store::open(disk.clone(), reader).expect("the rest can be read");
    assert_eq!(recovery.damage.len(), 1);
    assert_eq!(disk.files(), before);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    // queue claim 28
    let (disk, mut store, _) = with_queue(0);
    store.sync().expect("synced");
    let disk = disk.restart();
    let mut root = disk.files()[&FileName::Root].clone();
    for slot in [0, 4096] {
        root[slot + 8] = 2;
        let checksum = crc32c::crc32c(&root[slot..slot + 92]).to_le_bytes();
        root[slot + 92..slot + 96].copy_from_slice(&checksum);
    }
    disk.put_file(FileName::Root, root);
    let error = Store::open(disk, options())
        .err()
        .expect("it does not open");
    assert!(
        matches!(error, OpenError::Newer { version: 2, .. }),
        "{error}"
    );
}

#[test]
fn a_stuck_message_costs_no_memory_for_those_that_go_past_it() {
    let (_, mut store, queue) = with_queue(0);
    append(&mut store, queue, "stuck", 0);
    for n in 2..=5000 {
        append(&mut store, queue, "passes", 0);
        finish(&mut store, queue, n);
    }
    let info = store.queue_info(queue).unwrap();
    assert_eq!(
        (info.first_pending, info.pending, info.next_rowid),
        (1, 1, 5001)
    );
    assert_eq!(store.content(queue, 1).expect("readable").bytes, "stuck");
}

#[test]
fn any_bytes_name_a_queue() {
    let disk = SimDisk::new(1);
    let mut store = open(&disk);
    let names = [
        vec![],
        b"../..".to_vec(),
        b"a/b\0c".to_vec(),
        vec![0xFF; 4000],
    ];
    for name in &names {
        let mut batch = Batch::new();
        batch.create_queue(store.next_queue_id(), name.clone());
        store.commit(&batch).expect("any name will do");
    }
    store.sync().expect("synced");
    let store = open(&disk.restart());
    for name in &names {
        assert!(store.queue(name).is_some());
    }
}
