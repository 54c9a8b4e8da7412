//! One wrong byte, anywhere (queue claims 4, 7, 22).

use std::collections::BTreeMap;

use forebay_store::{
    Access, Batch, ContentError, FileName, List, LoadError, OpenError, Options, Place,
    PromoteError, QueueId, SimDisk, Store, UserFlag,
};

const COUNT: u64 = 24;

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

fn open(disk: &SimDisk, access: Access) -> Result<Store<SimDisk>, OpenError> {
    let options = Options {
        access,
        ..options()
    };
    Store::open(disk.clone(), options).map(|(store, _)| store)
}

fn text(rowid: u64) -> String {
    format!("message {rowid} ").repeat(20)
}

/// A queue, `q`, of messages that have a frame each, with a checkpoint behind them or not.
fn filled(checkpoint: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    let mut store = open(&disk, Access::Write).expect("a new store");
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q");
    for rowid in 1..=COUNT {
        batch.content(1, text(rowid));
        batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
        store.commit(&batch).expect("committed");
        store.sync().expect("synced");
        batch.clear();
    }
    if checkpoint {
        store.checkpoint().expect("the disk is sound");
    }
    disk.restart()
}

/// What is inflight, each as it was written.
fn inflight(store: &mut Store<SimDisk>, queue: QueueId) -> Vec<u64> {
    let rowids: Vec<u64> = store.list(queue, List::Inflight, ..).collect();
    for &rowid in &rowids {
        let content = store.content(queue, rowid).expect("it is in memory");
        assert_eq!(content.bytes, text(rowid).as_bytes());
    }
    rowids
}

fn all() -> Vec<u64> {
    (1..=COUNT).collect()
}

#[test]
fn a_wrong_byte_anywhere_is_named_and_takes_nothing_but_what_it_hit() {
    // queue claims 4, 22
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for checkpoint in [false, true] {
        let disk = filled(checkpoint);
        let files = disk.files();
        for (&name, bytes) in &files {
            for at in (0..bytes.len() as u64).step_by(61) {
                let what = format!("byte {at} of {name}, with a checkpoint: {checkpoint}");
                let disk = disk.restart();
                for (&name, bytes) in &files {
                    disk.put_file(name, bytes.clone());
                }
                disk.damage(name, at, 1);
                let before = disk.files();
                let happened = match open(&disk, Access::Write) {
                    Ok(store) => loads(&disk, store, (name, at), &what),
                    Err(OpenError::Damaged(damage)) => {
                        assert_eq!(damage.file, name, "{what}");
                        assert_eq!(disk.files(), before, "{what}");
                        reads_the_rest(&disk, &what);
                        "the log is damaged"
                    }
                    Err(error) => panic!("{what}: {error}"),
                };
                *seen.entry(happened).or_default() += 1;
            }
        }
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Loads what is pending, then repairs the byte and loads again.
fn loads(
    disk: &SimDisk,
    mut store: Store<SimDisk>,
    (name, at): (FileName, u64),
    what: &str,
) -> &'static str {
    let queue = store.queue(b"q").expect("the queue is there");
    match store.load(queue, Place::Inflight) {
        Ok(_) => {
            let found = inflight(&mut store, queue);
            if found == all() {
                return "it does not matter";
            }
            // No later frame says that the last one was acknowledged.
            assert_eq!(found, all()[..COUNT as usize - 1], "{what}");
            "the tail is cut"
        }
        Err(LoadError::Incomplete { range, source, .. }) => {
            let ContentError::Damaged { file, offset } = source else {
                panic!("{what}: {source}")
            };
            assert_eq!(file, name, "{what}");
            assert!((offset..offset + 400).contains(&at), "{what}: {offset}");
            assert_eq!(range.end - range.start, 1, "{what}");
            let mut rest = all();
            rest.retain(|rowid| *rowid != range.start);
            assert_eq!(inflight(&mut store, queue), rest, "{what}");
            let info = store.queue_info(queue).expect("it is there");
            assert!(info.load_failed, "{what}");
            assert_eq!((info.first_pending, info.pending), (1, COUNT), "{what}");

            disk.damage(name, at, 1);
            store.load(queue, Place::Inflight).expect("it is repaired");
            assert_eq!(inflight(&mut store, queue), all(), "{what}");
            "a content is damaged"
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// A reader has all but what was hit, in order and once.
fn reads_the_rest(disk: &SimDisk, what: &str) {
    let mut store = match open(disk, Access::Read) {
        Ok(store) => store,
        // Where the begin of the log is gone there is nothing to begin at.
        Err(OpenError::Damaged(_)) => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let Some(queue) = store.queue(b"q") else {
        return;
    };
    let lost = match store.load(queue, Place::Inflight) {
        Ok(_) => None,
        Err(LoadError::Lost { range, .. } | LoadError::Incomplete { range, .. }) => Some(range),
        Err(error) => panic!("{what}: {error}"),
    };
    let found = inflight(&mut store, queue);
    assert!(
        found.is_sorted() && found.len() as u64 >= COUNT - 1,
        "{what}: {found:?}"
    );
    let missing = all().into_iter().find(|rowid| !found.contains(rowid));
    let named = missing.is_none_or(|missing| {
        missing == COUNT || lost.is_some_and(|range| range.contains(&missing))
    });
    assert!(named, "{what}: {missing:?} is missing");
}

#[test]
fn a_damaged_message_is_stepped_over_and_those_behind_it_go_on() {
    // queue claim 7
    let disk = filled(true);
    let bytes = &disk.files()[&FileName::Segment(1)];
    let find = |text: &str| {
        bytes
            .windows(text.len())
            .position(|it| it == text.as_bytes())
    };
    let at = find(&text(2)).expect("it is in the first segment") as u64;
    disk.damage(FileName::Segment(1), at, 1);
    let mut store = open(&disk, Access::Write).expect("it opens");
    let queue = store.queue(b"q").expect("the queue is there");
    store
        .load(queue, Place::Queued)
        .expect("no content is read");
    let mut delivered = Vec::new();
    while let Some(rowid) = store.next_queued(queue) {
        match store.promote(queue, rowid) {
            Ok(content) => delivered.push((rowid, content.bytes)),
            Err(PromoteError::Unreadable {
                rowid: named,
                source,
            }) => {
                assert_eq!((named, rowid), (2, 2));
                assert!(matches!(source, ContentError::Damaged { .. }));
                assert_eq!(
                    store.list_of(queue, 2),
                    Some(List::Queued),
                    "it stays queued"
                );
                assert!(store.quarantine(queue, 2));
            }
            Err(error) => panic!("{error}"),
        }
    }
    let expected = (1..=COUNT).filter(|&rowid| rowid != 2);
    assert!(
        delivered
            .into_iter()
            .eq(expected.map(|rowid| (rowid, text(rowid).into())))
    );
    assert_eq!(store.queue_info(queue).expect("it is there").pending, COUNT);
}
