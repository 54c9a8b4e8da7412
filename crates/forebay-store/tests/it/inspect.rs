//! Looking at what a queue holds and held, and at a load as it goes (queue claims 5, 17).

use std::ops::RangeBounds;

use forebay_store::{
    Access, Batch, FileName, List, LoadAllError, Options, Outcome, Place, QueueId, SimDisk, State,
    Store, UserFlag,
};

fn options() -> Options {
    Options {
        segment_size: 16 * 512,
        transaction_max: 4096,
        frame_target: 1024,
        checkpoint_after: 1 << 30,
        recent_max: 0,
        low_water: 0,
        ..Options::default()
    }
}

fn open(disk: &SimDisk, access: Access) -> Store<SimDisk> {
    let options = Options {
        access,
        ..options()
    };
    let opened = Store::open(disk.clone(), options);
    opened.expect("the store opens").0
}

/// Messages 1 to `count` at times 10, 20, and so on; each message's packet identifier is its
/// rowid, and its note and content name it.
fn filled(count: u64) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = SimDisk::new(1);
    let mut store = open(&disk, Access::Write);
    let (queue, other) = (store.next_queue_id(), store.next_queue_id());
    let mut batch = Batch::new();
    batch.create_queue(queue, "q").create_queue(other, "other");
    store.commit(&batch).expect("committed");
    for n in 1..=count {
        let mut batch = Batch::new();
        batch.content(n * 10, format!("message {n}"));
        let flag = UserFlag::default().with_qos(1).with_state(State::Queued);
        batch.append(other, flag, 0, "not mine", Place::Queued);
        batch.append(queue, flag, n as u16, format!("note {n}"), Place::ByRule);
        store.commit(&batch).expect("committed");
    }
    (disk, store, queue)
}

fn finish(store: &mut Store<SimDisk>, queue: QueueId, rowid: u64, outcome: Outcome) {
    let mut batch = Batch::new();
    batch.finish(queue, rowid, outcome);
    store.commit(&batch).expect("committed");
}

fn rowids(store: &mut Store<SimDisk>, queue: QueueId, range: impl RangeBounds<u64>) -> Vec<u64> {
    let found = store.load_all(queue, range).expect("the queue is there");
    assert_eq!(found.unread, []);
    found.messages.iter().map(|it| it.rowid).collect()
}

fn by_time(store: &mut Store<SimDisk>, queue: QueueId, range: impl RangeBounds<u64>) -> Vec<u64> {
    let found = store.load_all_by_time(queue, range);
    let found = found.expect("the queue is there").messages;
    found.iter().map(|it| it.rowid).collect()
}

#[test]
fn messages_pending_or_not_are_found_by_rowid_and_by_time() {
    // queue claim 5
    let (_, mut store, queue) = filled(30);
    finish(&mut store, queue, 2, Outcome::ACKED);
    finish(&mut store, queue, 4, Outcome::dropped(7));
    assert_eq!(rowids(&mut store, queue, ..), (1..=30).collect::<Vec<_>>());
    assert_eq!(rowids(&mut store, queue, 2..5), [2, 3, 4]);
    assert_eq!(rowids(&mut store, queue, ..=2), [1, 2]);
    assert_eq!(rowids(&mut store, queue, 29..), [29, 30]);
    assert_eq!(rowids(&mut store, queue, 31..), []);
    assert_eq!(by_time(&mut store, queue, 20..50), [2, 3, 4]);
    assert_eq!(by_time(&mut store, queue, ..=10), [1]);
    assert_eq!(by_time(&mut store, queue, 295..), [30]);

    let missing = store.next_queue_id();
    let error = store.load_all(missing, ..).expect_err("there is none");
    assert!(matches!(error, LoadAllError::NoQueue { queue } if queue == missing));
}

#[test]
fn what_is_found_has_its_last_flag_its_end_and_its_content_after_a_restart_too() {
    // queue claims 5, 9
    let (disk, mut store, queue) = filled(3);
    let flag = UserFlag::default()
        .with_qos(2)
        .with_state(State::WaitForPubcomp);
    store.save_flag(queue, 1, flag, 77).expect("committed");
    finish(&mut store, queue, 1, Outcome::dropped(7));
    store.save_flag(queue, 2, flag, 78).expect("committed");
    for round in 0..3 {
        if round == 1 {
            // Telling everything again changes nothing of what is seen.
            store.checkpoint().expect("the disk is sound");
        } else if round == 2 {
            drop(store);
            store = open(&disk.restart(), Access::Write);
        }
        let found = store.load_all(queue, ..).expect("the queue is there");
        let [first, second, third] = &*found.messages else {
            panic!("{found:?}")
        };
        assert_eq!(
            (first.flag, first.packet_id),
            (flag.with_pending(false), 77)
        );
        assert_eq!(first.outcome, Some(Outcome::dropped(7)));
        assert_eq!(
            (second.flag, second.packet_id),
            (flag.with_pending(true), 78)
        );
        assert_eq!((second.outcome, second.list), (None, None));
        assert_eq!(
            (third.time, &*third.note, third.len),
            (Some(30), &b"note 3"[..], 9)
        );
        for (message, n) in [(first, 1), (second, 2), (third, 3)] {
            let content = store.inspected_content(message).expect("readable");
            assert_eq!(
                (content.time, &*content.bytes),
                (n * 10, format!("message {n}").as_bytes())
            );
        }
    }
}

#[test]
fn looking_changes_neither_the_lists_nor_the_first_pending_rowid() {
    // queue claim 5
    let (disk, mut store, queue) = filled(6);
    finish(&mut store, queue, 1, Outcome::ACKED);
    finish(&mut store, queue, 3, Outcome::ACKED);
    store.open_queue(queue);
    store.set_max_inflight(queue, 2);
    store.sync().expect("synced");
    for loaded in [false, true] {
        if loaded {
            store.load(queue, Place::ByRule).expect("readable");
        }
        let (before, files) = (store.queue_info(queue), disk.files());
        let found = store.load_all(queue, ..).expect("the queue is there");
        store
            .load_all_by_time(queue, ..)
            .expect("the queue is there");
        assert_eq!(store.queue_info(queue), before);
        assert_eq!(before.expect("it is there").first_pending, 2);
        assert_eq!(disk.files(), files);
        let lists: Vec<_> = found.messages.iter().map(|it| it.list).collect();
        let (inflight, queued) = if loaded {
            (Some(List::Inflight), Some(List::Queued))
        } else {
            (None, None)
        };
        assert_eq!(lists, [None, inflight, None, inflight, queued, queued]);
    }
}

#[test]
fn a_reader_sees_what_is_done_with_too() {
    // queue claim 5
    let (disk, mut store, queue) = filled(20);
    finish(&mut store, queue, 5, Outcome::EXPIRED);
    store.sync().expect("synced");
    let mut reader = open(&disk, Access::Read);
    assert_eq!(rowids(&mut reader, queue, ..), (1..=20).collect::<Vec<_>>());
    let found = reader.load_all(queue, 5..=5).expect("the queue is there");
    assert_eq!(found.messages[0].outcome, Some(Outcome::EXPIRED));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_pending_messages_are_there_all_the_same() {
    // queue claim 5
    let (disk, mut store, queue) = filled(60);
    for n in (1..=60).filter(|n| n % 2 == 0) {
        finish(&mut store, queue, n, Outcome::ACKED);
    }
    store.sync().expect("synced");
    disk.fail_reads(FileName::Segment(1), true);
    let found = store.load_all(queue, ..).expect("the queue is there");
    assert_eq!(found.unread, [FileName::Segment(1)]);
    let pending = found.messages.iter().filter(|it| it.flag.pending());
    assert!(pending.map(|it| it.rowid).eq((1..=60).step_by(2)));
    assert!(
        found.messages.len() < 60,
        "what is done with is not all there"
    );
}

#[test]
fn messages_in_segments_that_are_gone_are_not_found_and_pending_ones_always_are() {
    // queue claim 5
    let (disk, mut store, queue) = filled(1);
    let other = store.queue(b"other").expect("it is there");
    let mut batch = Batch::new();
    batch.drop_queue(other);
    store.commit(&batch).expect("committed");
    finish(&mut store, queue, 1, Outcome::ACKED);
    for n in 2..200 {
        let mut batch = Batch::new();
        batch.content(n, vec![1; 200]);
        batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
        store.commit(&batch).expect("committed");
        if n < 190 {
            finish(&mut store, queue, n, Outcome::ACKED);
        }
        if n % 40 == 0 {
            store.checkpoint().expect("the disk is sound");
        }
    }
    store.checkpoint().expect("the disk is sound");
    assert!(!disk.files().contains_key(&FileName::Segment(1)));
    let found = rowids(&mut store, queue, ..);
    assert!(!found.contains(&1));
    assert!(found.ends_with(&(189..200).collect::<Vec<_>>()));
}

#[test]
fn a_load_shows_every_message_it_brings_in_and_where_to() {
    // queue claim 17
    let (disk, mut store, queue) = filled(4);
    finish(&mut store, queue, 2, Outcome::ACKED);
    store.sync().expect("synced");
    drop(store);
    let mut store = open(&disk.restart(), Access::Write);
    store.set_max_inflight(queue, 1);
    let mut seen = Vec::new();
    let traced = store.load_traced(queue, Place::ByRule, |it| seen.push(it.clone()));
    let loaded = traced.expect("readable");
    let lists: Vec<_> = seen.iter().map(|it| (it.rowid, it.list)).collect();
    let (inflight, queued) = (Some(List::Inflight), Some(List::Queued));
    assert_eq!(lists, [(1, inflight), (3, queued), (4, queued)]);
    assert_eq!((loaded.inflight, loaded.queued), (1, 2));
    for it in seen {
        assert_eq!(store.by_rowid(queue, it.rowid), Some(it));
    }
    let again = store.load_traced(queue, Place::ByRule, |it| panic!("{it:?} comes twice"));
    again.expect("readable");
}
