//! What is done with leaves the log for a backup, and can be had again. Queue claims 13 and 14.

use forebay_store::{
    BackupError, Batch, FileName, List, Options, Outcome, Place, QueueId, RotateError, Rowid,
    SimDisk, State, Store, UserFlag,
};

fn options() -> Options {
    Options {
        low_water: 0,
        segment_size: 32 * 512,
        transaction_max: 4 << 10,
        frame_target: 1 << 10,
        recent_max: 0,
        backups: 3,
        ..Options::default()
    }
}

fn open(disk: &SimDisk, options: Options) -> Store<SimDisk> {
    let opened = Store::open(disk.clone(), options);
    opened.expect("the store opens").0
}

/// A store with one open queue.
fn new_store(options: Options) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = SimDisk::new(1);
    let mut store = open(&disk, options);
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q");
    store.commit(&batch).expect("committed");
    store.open_queue(queue);
    (disk, store, queue)
}

fn append(store: &mut Store<SimDisk>, queue: QueueId) -> Rowid {
    let rowid = store.queue_info(queue).expect("there").next_rowid;
    let mut batch = Batch::new();
    let flag = UserFlag::default()
        .with_qos(1)
        .with_state(State::WaitForPuback);
    batch
        .content(rowid, format!("message {rowid}"))
        .append(queue, flag, 9, "note", Place::ByRule);
    store.commit(&batch).expect("committed");
    store.poll(true).expect("written");
    rowid
}

fn finish(store: &mut Store<SimDisk>, queue: QueueId, rowid: Rowid) {
    let mut batch = Batch::new();
    batch.finish(queue, rowid, Outcome::ACKED);
    store.commit(&batch).expect("committed");
    store.poll(true).expect("written");
}

fn rotate(store: &mut Store<SimDisk>) {
    store.rotate().expect("it begins");
    settle(store);
}

fn settle(store: &mut Store<SimDisk>) {
    for _ in 0..1000 {
        if !store.is_rotating() {
            return;
        }
        store.poll(true).expect("written");
    }
    panic!("a rotation ends");
}

fn pending(store: &mut Store<SimDisk>, queue: QueueId) -> Vec<(Rowid, String)> {
    let mut all: Vec<_> = store.list(queue, List::Inflight, ..).collect();
    all.extend(store.list(queue, List::Queued, ..));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    all.into_iter()
        .map(|rowid| {
            (
                rowid,
                text(&store.content(queue, rowid).expect("readable").bytes),
            )
        })
        .collect()
}

fn messages(rowids: impl IntoIterator<Item = Rowid>) -> Vec<(Rowid, String)> {
    rowids
        .into_iter()
        .map(|rowid| (rowid, format!("message {rowid}")))
        .collect()
}

fn names(store: &Store<SimDisk>) -> Vec<FileName> {
    store.backups().map(|backup| backup.name).collect()
}

#[test]
fn a_rotation_moves_what_is_done_to_a_backup_and_leaves_what_is_pending() {
    let (disk, mut store, queue) = new_store(options());
    for _ in 0..10 {
        append(&mut store, queue);
    }
    for rowid in [1, 2, 4, 5, 6, 8, 9, 10] {
        finish(&mut store, queue, rowid);
    }
    rotate(&mut store);
    assert_eq!(names(&store), [FileName::Backup(1)]);
    assert_eq!(pending(&mut store, queue), messages([3, 7]));
    let done = store
        .load_backup(FileName::Backup(1), queue)
        .expect("it can be read");
    let rowids: Vec<_> = done.iter().map(|message| message.rowid).collect();
    assert_eq!(rowids, [1, 2, 4, 5, 6, 8, 9, 10]);

    // The same after a restart, and the numbers go on.
    store.sync().expect("synced");
    let mut store = open(&disk.restart(), options());
    store.open_queue(queue);
    store.load(queue, Place::ByRule).expect("loaded");
    assert_eq!(names(&store), [FileName::Backup(1)]);
    assert_eq!(append(&mut store, queue), 11);
    assert_eq!(pending(&mut store, queue), messages([3, 7, 11]));
}

#[test]
fn a_message_of_a_backup_is_sent_again_under_a_new_number() {
    let (_, mut store, queue) = new_store(options());
    for _ in 0..4 {
        let rowid = append(&mut store, queue);
        finish(&mut store, queue, rowid);
    }
    rotate(&mut store);
    let restored = store
        .restore_backup(FileName::Backup(1), queue, |message| message.rowid % 2 == 0)
        .expect("restored");
    assert_eq!((restored.messages, restored.unreadable), (2, 0));
    let found = pending(&mut store, queue);
    assert_eq!(found, [(5, "message 2".into()), (6, "message 4".into())]);
    let message = store.message(queue, 5).expect("it is there");
    assert_eq!(
        (message.packet_id, message.flag.state()),
        (0, State::Queued)
    );
    assert_eq!((message.flag.qos(), &*message.note), (1, &b"note"[..]));
}

#[test]
fn as_many_backups_are_kept_as_asked_for_and_the_oldest_goes() {
    let (_, mut store, queue) = new_store(options());
    for _ in 0..8 {
        let rowid = append(&mut store, queue);
        finish(&mut store, queue, rowid);
        rotate(&mut store);
        // One more waits to be used again.
        assert!(names(&store).len() <= 4, "{:?}", names(&store));
    }
    let all = names(&store);
    assert!(all.len() >= 3, "{all:?}");
    assert!(all.is_sorted());
    let gone = all[0];
    store.delete_backup(gone).expect("it is deleted");
    assert_eq!(names(&store), all[1..]);
    let error = store.load_backup(gone, queue).expect_err("it is gone");
    assert!(matches!(error, BackupError::NoBackup { name } if name == gone));
}

#[test]
fn a_rotation_goes_on_beside_the_work_of_the_queue() {
    let (disk, mut store, queue) = new_store(Options {
        checkpoint_step: 200,
        ..options()
    });
    let mut expected = Vec::new();
    for round in 0..200 {
        let rowid = append(&mut store, queue);
        expected.push(rowid);
        if round % 4 != 0 {
            finish(&mut store, queue, expected.remove(expected.len() / 2));
        }
        if round % 50 == 10 {
            store.rotate().expect("it begins");
            assert!(store.is_rotating());
        }
    }
    settle(&mut store);
    assert_eq!(pending(&mut store, queue), messages(expected.clone()));
    store.sync().expect("synced");
    let mut store = open(&disk.restart(), options());
    store.open_queue(queue);
    store.load(queue, Place::ByRule).expect("loaded");
    assert_eq!(pending(&mut store, queue), messages(expected));
}

#[test]
fn a_queue_that_had_enough_messages_is_rotated_by_itself() {
    let (_, mut store, queue) = new_store(Options {
        rotate_after: 10,
        ..options()
    });
    for n in 1..=9 {
        append(&mut store, queue);
        finish(&mut store, queue, n);
    }
    assert!(names(&store).is_empty() && !store.is_rotating());
    append(&mut store, queue);
    finish(&mut store, queue, 10);
    settle(&mut store);
    assert_eq!(names(&store), [FileName::Backup(1)]);
}

#[test]
fn nothing_is_rotated_over_what_the_last_load_could_not_read() {
    let (disk, mut store, queue) = new_store(Options {
        rotate_after: 5,
        ..options()
    });
    for _ in 0..10 {
        append(&mut store, queue);
    }
    store.checkpoint().expect("written");
    drop(store);
    let disk = disk.restart();
    let whole = disk.files()[&FileName::Segment(1)].clone();
    // The content of message 2.
    let at = whole
        .windows(9)
        .position(|it| it == b"message 2")
        .expect("there");
    disk.damage(FileName::Segment(1), at as u64, 4);
    let mut store = open(
        &disk,
        Options {
            rotate_after: 5,
            ..options()
        },
    );
    store.open_queue(queue);
    store
        .load(queue, Place::ByRule)
        .expect_err("one can't be read");
    let error = store.rotate().expect_err("it is refused");
    assert!(
        matches!(error, RotateError::LoadFailed { queue: it, .. } if it == queue),
        "{error}"
    );
    for rowid in 3..=9 {
        finish(&mut store, queue, rowid);
    }
    assert!(names(&store).is_empty(), "not by itself either");
    assert!(
        store
            .refused()
            .is_some_and(|why| why.contains("can't be read"))
    );
    // The bytes are there again.
    disk.put_file(FileName::Segment(1), whole);
    store.load(queue, Place::ByRule).expect("loaded");
    rotate(&mut store);
    assert_eq!(pending(&mut store, queue), messages([1, 2, 10]));
    assert_eq!(names(&store), [FileName::Backup(1)]);
}

#[test]
fn a_rotation_that_the_directory_refuses_leaves_everything_and_is_tried_again() {
    let (disk, mut store, queue) = new_store(options());
    for _ in 0..2 {
        let rowid = append(&mut store, queue);
        finish(&mut store, queue, rowid);
        rotate(&mut store);
    }
    let before = names(&store);
    let stuck = append(&mut store, queue);
    disk.refuse_names(true);
    rotate(&mut store);
    assert!(
        store.refused().is_some_and(|why| why.contains("seg-")),
        "{:?}",
        store.refused()
    );
    assert_eq!(
        names(&store),
        before,
        "the previous backups are still there"
    );
    let more = append(&mut store, queue);
    assert_eq!(pending(&mut store, queue), messages([stuck, more]));
    disk.refuse_names(false);
    rotate(&mut store);
    assert_eq!(store.refused(), None);
    assert!(names(&store).len() > before.len());
    assert_eq!(pending(&mut store, queue), messages([stuck, more]));
}
