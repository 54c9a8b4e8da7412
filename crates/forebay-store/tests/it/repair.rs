//! A damaged store is made anew from what can be read of it. Queue claims 22 and 29.

use forebay_store::{
    Access, Batch, CommitError, CopyError, FileName, Options, Outcome, Place, QueueId, Rowid,
    SimDisk, Store, TableId, UserFlag,
};

const ROWS: TableId = TableId(7);

fn options() -> Options {
    Options {
        low_water: 0,
        segment_size: 64 * 512,
        transaction_max: 8 << 10,
        ..Options::default()
    }
}

fn open(disk: &SimDisk) -> Store<SimDisk> {
    let opened = Store::open(disk.clone(), options());
    opened.expect("the store opens").0
}

fn reader(disk: &SimDisk) -> Store<SimDisk> {
    let options = Options {
        access: Access::Read,
        ..options()
    };
    let opened = Store::open(disk.clone(), options);
    opened.expect("the rest can be read").0
}

/// Two queues that share 30 contents, each message in a frame of its own; the first 10 of the
/// first queue are done with.
fn filled() -> SimDisk {
    let disk = SimDisk::new(3);
    let mut store = open(&disk);
    let mut batch = Batch::new();
    let queues = ["a", "b"].map(|name| {
        let queue = store.next_queue_id();
        batch.create_queue(queue, name);
        queue
    });
    batch.put(ROWS, "key", "value");
    store.commit(&batch).expect("committed");
    for n in 0..30_u16 {
        let mut batch = Batch::new();
        batch.content(u64::from(n), format!("message {n}"));
        for queue in queues {
            let flag = UserFlag::default().with_qos(1);
            batch.append(queue, flag, n, format!("note {n}"), Place::ByRule);
        }
        store.commit(&batch).expect("committed");
        store.sync().expect("synced");
    }
    for rowid in 1..=10 {
        let mut batch = Batch::new();
        batch.finish(queues[0], rowid, Outcome::ACKED);
        store.commit(&batch).expect("committed");
    }
    store.sync().expect("synced");
    disk.restart()
}

/// Rowid, content, note and packet identifier of every pending message.
fn messages(store: &mut Store<SimDisk>, name: &str) -> Vec<(Rowid, String, String, u16)> {
    let queue = store.queue(name.as_bytes()).expect("the queue is there");
    store.load(queue, Place::Queued).expect("all can be read");
    let rowids: Vec<_> = store.list(queue, forebay_store::List::Queued, ..).collect();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let one = |rowid| {
        let content = store.content(queue, rowid).expect("readable");
        let info = store.message(queue, rowid).expect("it is there");
        assert_eq!(content.time, u64::from(info.packet_id));
        (
            rowid,
            text(&content.bytes),
            text(&info.note),
            info.packet_id,
        )
    };
    rowids.into_iter().map(one).collect()
}

fn expected(rowids: impl Iterator<Item = Rowid>) -> Vec<(Rowid, String, String, u16)> {
    rowids
        .map(|rowid| {
            let n = rowid - 1;
            (rowid, format!("message {n}"), format!("note {n}"), n as u16)
        })
        .collect()
}

#[test]
fn a_copy_has_everything_under_the_same_numbers() {
    let disk = filled();
    let before = disk.files();
    let fresh = SimDisk::new(4);
    let mut told = 0;
    let copied = reader(&disk)
        .copy_to(fresh.clone(), &options(), |count| told = count)
        .expect("it is copied");
    assert_eq!((copied.queues, copied.messages, copied.rows), (2, 50, 1));
    assert_eq!((copied.unreadable, told), (vec![], 50));
    assert_eq!(disk.files(), before, "the old one is as it was");

    let mut store = open(&fresh.restart());
    assert_eq!(messages(&mut store, "a"), expected(11..=30));
    assert_eq!(messages(&mut store, "b"), expected(1..=30));
    assert_eq!(store.get(ROWS, b"key").map(|it| &**it), Some(&b"value"[..]));
    let queue = store.queue(b"a").expect("it is there");
    assert_eq!(store.queue_info(queue).expect("there").next_rowid, 31);
    let new = store.next_queue_id();
    assert!(store.queues().all(|(id, _)| id != new), "numbers go on");
}

#[test]
fn what_is_damaged_is_left_behind_and_named_and_the_rest_goes_on() {
    let disk = filled();
    // Frame 7 holds message 7 of both queues.
    disk.damage(FileName::Segment(1), 512 * 7 + 60, 4);
    let error = Store::open(disk.clone(), options()).err();
    error.expect("a damaged store is not written to");
    let (_, recovery) = Store::open(
        disk.clone(),
        Options {
            access: Access::Read,
            ..options()
        },
    )
    .expect("the rest can be read");
    let lost: Vec<_> = recovery
        .lost
        .iter()
        .map(|(_, rowids)| rowids.clone())
        .collect();
    assert_eq!(lost, [7..8, 7..8]);

    let fresh = SimDisk::new(4);
    let mut damaged = reader(&disk);
    damaged
        .copy_to(fresh.clone(), &options(), |_| ())
        .expect("it is copied");
    let mut store = open(&fresh.restart());
    assert_eq!(messages(&mut store, "a"), expected(11..=30));
    let rest = (1..=30).filter(|rowid| *rowid != 7);
    assert_eq!(messages(&mut store, "b"), expected(rest));
}

#[test]
fn a_content_that_cannot_be_read_is_named() {
    let disk = filled();
    let mut store = open(&disk);
    store.checkpoint().expect("written");
    drop(store);
    let disk = disk.restart();
    // Behind the checkpoint nobody looks at it until it is wanted.
    disk.damage(FileName::Segment(1), 512 * 7 + 60, 60);
    let mut store = open(&disk);
    let b = store.queue(b"b").expect("it is there");
    let copied = store
        .copy_to(SimDisk::new(4), &options(), |_| ())
        .expect("it is copied");
    assert_eq!(copied.unreadable, [(b, 7)] as [(QueueId, Rowid); 1]);
    assert_eq!(copied.messages, 49);
}

#[test]
fn a_copy_is_only_made_where_nothing_is() {
    let disk = filled();
    let taken = filled();
    let before = taken.files();
    let error = open(&disk)
        .copy_to(taken.clone(), &options(), |_| ())
        .expect_err("there is a store");
    assert!(matches!(error, CopyError::NotEmpty), "{error}");
    assert_eq!(taken.files(), before);
}

#[test]
fn a_disk_that_is_too_small_for_the_copy_is_an_error() {
    let disk = filled();
    let mut store = open(&disk);
    let queue = store.queue(b"a").expect("it is there");
    for _ in 0..30 {
        let mut batch = Batch::new();
        batch.content(0, vec![1; 1500]);
        batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
        store.commit(&batch).expect("committed");
    }
    let small = SimDisk::new(5);
    small.set_capacity(100 * 512);
    let error = store
        .copy_to(small, &options(), |_| ())
        .expect_err("it does not fit");
    assert!(
        matches!(error, CopyError::Commit(CommitError::Full)),
        "{error}"
    );
}
