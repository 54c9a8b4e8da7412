//! Faults that users of such queues met: what a store makes of files that are lost, empty, older
//! than the rest or of another format, and of appends that fail.

use forebay_store::{
    Batch, CommitError, FileName, List, OpenError, Options, Outcome, Place, QueueId, SimDisk,
    Store, UserFlag,
};

const SEGMENT: u32 = 16 * 512;

fn options() -> Options {
    Options {
        segment_size: SEGMENT,
        transaction_max: 4096,
        frame_target: 1024,
        checkpoint_after: 1 << 30,
        recent_max: 0,
        low_water: 0,
        store_id: Some(*b"fault test store"),
        ..Options::default()
    }
}

fn open(disk: &SimDisk) -> Store<SimDisk> {
    let opened = Store::open(disk.clone(), options());
    opened.expect("the store opens").0
}

fn refused(disk: &SimDisk) -> OpenError {
    let before = disk.files();
    let error = Store::open(disk.clone(), options()).err();
    assert_eq!(disk.files(), before, "what is refused is left alone");
    error.expect("it does not open")
}

/// A store with one open queue, `q`.
fn new_store(seed: u64) -> (SimDisk, Store<SimDisk>, QueueId) {
    let disk = SimDisk::new(seed);
    let mut store = open(&disk);
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q");
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    store.open_queue(queue);
    (disk, store, queue)
}

fn message(queue: QueueId, content: &[u8]) -> Batch {
    let mut batch = Batch::new();
    batch.content(1, content.to_vec());
    batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
    batch
}

fn append(store: &mut Store<SimDisk>, queue: QueueId, content: &[u8]) -> u64 {
    let committed = store.commit(&message(queue, content)).expect("committed");
    store.sync().expect("synced");
    committed.rowids[0]
}

fn finish(store: &mut Store<SimDisk>, queue: QueueId, rowid: u64) {
    let mut batch = Batch::new();
    batch.finish(queue, rowid, Outcome::ACKED);
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
}

/// Messages 1 to `count`, each of a frame of its own.
fn filled(count: u64) -> SimDisk {
    let (disk, mut store, queue) = new_store(1);
    for n in 1..=count {
        append(&mut store, queue, format!("message {n}").as_bytes());
    }
    drop(store);
    disk
}

/// Opens what survived and reads every message.
fn contents(disk: &SimDisk) -> Vec<String> {
    let mut store = open(disk);
    let queue = store.queue(b"q").expect("the queue is there");
    store.load(queue, Place::ByRule).expect("all can be read");
    let rowids: Vec<u64> = store.list(queue, List::Inflight, ..).collect();
    let read = |rowid| store.content(queue, rowid).expect("readable").bytes;
    let bytes = rowids.into_iter().map(read);
    bytes
        .map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"))
        .collect()
}

fn messages(count: u64) -> Vec<String> {
    (1..=count).map(|n| format!("message {n}")).collect()
}

#[test]
fn no_message_is_empty_after_a_restart() {
    // queue claims 3, 11
    let disk = filled(40).restart();
    assert_eq!(contents(&disk), messages(40));
}

#[test]
fn an_append_that_finds_the_disk_full_leaves_nothing_and_a_full_queue_drains() {
    // queue claims 6, 24
    let low_water = 4 * u64::from(SEGMENT);
    let options = Options {
        low_water,
        checkpoint_after: 4 * 512,
        ..options()
    };
    let (disk, store, queue) = new_store(1);
    drop(store);
    let (mut store, _) = Store::open(disk.clone(), options).expect("the store opens");
    store.open_queue(queue);
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(used as u64 + 2 * u64::from(SEGMENT) + low_water);
    let mut taken = 0;
    let error = loop {
        match store.commit(&message(queue, &[7; 300])) {
            Ok(committed) => taken = committed.rowids[0],
            Err(error) => break error,
        }
        store.sync().expect("synced");
    };
    assert!(matches!(error, CommitError::Full), "{error}");
    let info = store.queue_info(queue).expect("it is there");
    assert_eq!((info.pending, info.next_rowid), (taken, taken + 1));
    assert_eq!(store.by_rowid(queue, taken + 1), None);
    for rowid in 1..=taken {
        finish(&mut store, queue, rowid);
    }
    let rowid = append(&mut store, queue, b"there is room again");
    assert_eq!(rowid, taken + 1, "no number was spent on what failed");
    drop(store);
    assert_eq!(contents(&disk.restart()), ["there is room again"]);
}

/// In which order what a full store holds is done with.
#[derive(Clone, Copy, Debug)]
enum Order {
    Oldest,
    Newest,
    EveryThird,
}

/// Rowids from 1 to `last` in an order.
fn ordered(order: Order, last: u64) -> Vec<u64> {
    match order {
        Order::Oldest => (1..=last).collect(),
        Order::Newest => (1..=last).rev().collect(),
        Order::EveryThird => (0..3)
            .flat_map(|from| (1..=last).filter(move |rowid| rowid % 3 == from))
            .collect(),
    }
}

#[test]
fn a_full_store_drains_in_any_order_and_has_room_again_by_itself_whatever_its_thresholds() {
    // queue claim 24
    let segment = 256 * 512;
    let options = Options {
        segment_size: segment,
        transaction_max: 64 << 10,
        frame_target: 16 << 10,
        low_water: u64::from(segment),
        checkpoint_after: 1 << 30,
        compact_after: 1 << 30,
        ..options()
    };
    for (order, size, segments, reopens) in [
        (Order::Oldest, 40, 3, false),
        (Order::Oldest, 40, 8, true),
        (Order::Oldest, 3000, 3, true),
        (Order::Newest, 40, 3, false),
        (Order::Newest, 3000, 8, true),
        (Order::EveryThird, 40, 3, true),
        (Order::EveryThird, 400, 8, false),
        (Order::EveryThird, 3000, 3, false),
    ] {
        let context = format!("{order:?} of {size} bytes, {segments} segments, {reopens}");
        let disk = SimDisk::new(1);
        let open = || {
            let opened = Store::open(disk.clone(), options.clone());
            opened.expect("the store opens").0
        };
        let mut store = open();
        disk.set_capacity(u64::from(segment) * (segments + 2));
        let queue = store.next_queue_id();
        let mut batch = Batch::new();
        batch.create_queue(queue, "q");
        store.commit(&batch).expect("committed");
        store.open_queue(queue);
        let mut taken = 0;
        while let Ok(committed) = store.commit(&message(queue, &vec![7; size])) {
            taken = committed.rowids[0];
            if taken % 20 == 0 {
                store.sync().expect("synced");
            }
        }
        for (at, rowid) in ordered(order, taken).into_iter().enumerate() {
            if reopens && at as u64 == taken / 2 {
                drop(store);
                store = open();
                store.load(queue, Place::Queued).expect("it loads");
            }
            // As who serves others does, to tell them.
            store.has_room(10_000);
            let mut batch = Batch::new();
            batch.finish(queue, rowid, Outcome::ACKED);
            if let Err(error) = store.commit(&batch) {
                panic!("{context}: {error} at {at} of {taken}: {:?}", store.stats());
            }
            // Small ones together, for each write takes a block.
            if size > 512 || at % 16 == 0 {
                store.sync().expect("synced");
            }
        }
        let mut polls = 0;
        while !store.has_room(10_000) || store.commit(&message(queue, &[8; 300])).is_err() {
            store.submit().expect("submitted");
            store.poll(false).expect("polled");
            polls += 1;
            assert!(
                polls < 1000,
                "{context}: full for ever, {:?}",
                store.stats()
            );
        }
    }
}

#[test]
fn an_append_whose_write_fails_is_never_there_in_part() {
    // queue claims 6, 19, 20
    for seed in 0..40 {
        let (disk, mut store, queue) = new_store(seed);
        append(&mut store, queue, b"acknowledged");
        disk.fail_write(1);
        store
            .commit(&message(queue, &[b'x'; 1500]))
            .expect("staged");
        store.sync().expect_err("its write failed");
        let next = store.commit(&message(queue, b"after"));
        assert!(matches!(next, Err(CommitError::Poisoned(_))));
        drop(store);
        let found = contents(&disk.restart());
        let whole = ["acknowledged".to_owned(), "x".repeat(1500)];
        assert!(
            found == whole[..1] || found == whole,
            "seed {seed}: {found:?}"
        );
    }
}

#[test]
fn a_lost_root_is_made_again_and_nothing_is_overwritten() {
    // queue claim 22
    for checkpoint in [false, true] {
        let disk = filled(40);
        if checkpoint {
            let mut store = open(&disk);
            store.checkpoint().expect("the disk is sound");
        }
        let disk = disk.restart();
        disk.delete_file(FileName::Root);
        assert_eq!(contents(&disk), messages(40));
        let mut store = open(&disk);
        let queue = store.queue(b"q").expect("the queue is there");
        assert_eq!(append(&mut store, queue, b"message 41"), 41);
        drop(store);
        assert_eq!(contents(&disk.restart()), messages(41));
    }
}

#[test]
fn an_empty_or_missing_oldest_segment_is_damage() {
    // queue claim 22
    let disk = filled(40);
    disk.put_file(FileName::Segment(1), Vec::new());
    assert!(matches!(refused(&disk), OpenError::Damaged(_)));
    disk.delete_file(FileName::Segment(1));
    assert!(matches!(refused(&disk), OpenError::Damaged(_)));
}

#[test]
fn an_empty_newest_segment_that_was_never_written_to_is_made_again() {
    // queue claim 22
    let disk = filled(40);
    let newest = *disk.files().keys().next_back().expect("there are files");
    let FileName::Segment(newest) = newest else {
        panic!("{newest}")
    };
    let unused = FileName::Segment(newest + 1);
    disk.put_file(unused, Vec::new());
    assert_eq!(contents(&disk), messages(40));
}

#[test]
fn an_empty_newest_segment_that_held_acknowledged_messages_is_damage_where_that_can_be_told() {
    // queue claim 22: the frames of the segment after it say what was acknowledged.
    let disk = filled(40);
    let written = |number: u32| {
        let files = disk.files();
        let bytes = files.get(&FileName::Segment(number));
        bytes.is_some_and(|bytes| bytes.get(512..516) == Some(b"FBfr"))
    };
    let last = (1..100).rfind(|&number| written(number));
    let last = last.filter(|&last| last > 2).expect("several segments");
    disk.put_file(FileName::Segment(last - 1), Vec::new());
    assert!(matches!(refused(&disk), OpenError::Damaged(_)));
}

#[test]
fn an_older_segment_beside_a_newer_rest_is_damage() {
    // queue claim 22
    let (disk, mut store, queue) = new_store(1);
    for n in 1..=4 {
        append(&mut store, queue, format!("message {n}").as_bytes());
    }
    let older = disk.files()[&FileName::Segment(1)].clone();
    for n in 5..=40 {
        append(&mut store, queue, format!("message {n}").as_bytes());
    }
    drop(store);
    disk.put_file(FileName::Segment(1), older);
    assert!(matches!(refused(&disk), OpenError::Damaged(_)));
}

#[test]
fn a_root_older_than_the_log_still_finds_everything_or_says_what_is_gone() {
    // queue claim 22
    let (disk, mut store, queue) = new_store(1);
    let older = disk.files()[&FileName::Root].clone();
    for n in 1..=40 {
        append(&mut store, queue, format!("message {n}").as_bytes());
    }
    store.checkpoint().expect("the disk is sound");
    drop(store);
    disk.put_file(FileName::Root, older.clone());
    assert_eq!(contents(&disk), messages(40));

    // Once the segment that the old root names has been used again, there is no way to tell.
    let mut store = open(&disk);
    for rowid in 1..=40 {
        finish(&mut store, queue, rowid);
    }
    for _ in 0..3 {
        store.checkpoint().expect("the disk is sound");
        for _ in 0..20 {
            let rowid = append(&mut store, queue, &[1; 300]);
            finish(&mut store, queue, rowid);
        }
    }
    drop(store);
    assert!(!disk.files().contains_key(&FileName::Segment(1)));
    disk.put_file(FileName::Root, older);
    assert!(matches!(refused(&disk), OpenError::Damaged(_)));
}

/// Whatever is missing of one file, a store that opens has everything.
#[test]
fn a_file_that_is_gone_empty_cut_or_without_a_header_is_told_or_does_not_matter() {
    // queue claims 4, 22
    for (count, checkpoint) in [(4, None), (100, None), (100, Some(50)), (100, Some(100))] {
        let (disk, mut store, queue) = new_store(1);
        for n in 1..=count {
            append(&mut store, queue, format!("message {n}").as_bytes());
            if checkpoint == Some(n) {
                store.checkpoint().expect("the disk is sound");
            }
        }
        drop(store);
        let files = disk.files();
        let newest = files.keys().max().copied();
        for (&name, whole) in &files {
            let mut wounds = vec![None];
            let step = if count < 10 { 512 } else { 1536 };
            for len in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
                wounds.push(whole.get(..len).map(<[u8]>::to_vec));
            }
            let mut headless = whole.clone();
            headless[..512].fill(0);
            wounds.push(Some(headless));
            for wound in wounds {
                let len = wound.as_ref().map(Vec::len);
                match wound {
                    Some(bytes) => disk.put_file(name, bytes),
                    None => disk.delete_file(name),
                }
                let before = disk.files();
                let told = match Store::open(disk.clone(), options()) {
                    Err(OpenError::Damaged(_)) => {
                        assert_eq!(disk.files(), before, "what is refused is left alone");
                        true
                    }
                    Err(error) => panic!("{name}, {len:?}: {error}"),
                    Ok(_) => false,
                };
                // The newest segment may be one that nothing was written to yet.
                let all = told || contents(&disk) == messages(count);
                assert!(all || Some(name) == newest, "{name}, {len:?} of {count}");
                for name in disk.files().into_keys() {
                    disk.delete_file(name);
                }
                for (&name, bytes) in &files {
                    disk.put_file(name, bytes.clone());
                }
            }
        }
    }
}

#[test]
fn a_directory_that_fails_while_a_segment_is_made_or_used_again_loses_nothing() {
    // queue claims 6, 19: creation fails cleanly; a rename or sync that fails ends the process.
    for recycles in [false, true] {
        let (disk, mut store, queue) = new_store(3);
        for _ in 0..if recycles { 60 } else { 0 } {
            let rowid = append(&mut store, queue, &[1; 300]);
            finish(&mut store, queue, rowid);
        }
        store.checkpoint().expect("the disk is sound");
        append(&mut store, queue, b"acknowledged");
        disk.fail_directory(true);
        let mut failed = false;
        for _ in 0..100 {
            let committed = store.commit(&message(queue, &[b'x'; 300]));
            let done = committed.is_ok() && store.sync().is_ok();
            failed |= !done;
        }
        assert!(failed, "the log can't grow");
        drop(store);
        let found = contents(&disk.restart());
        assert_eq!(found.first().map(String::as_str), Some("acknowledged"));
        assert!(found.iter().skip(1).all(|it| *it == "x".repeat(300)));
    }
}

#[test]
fn a_packet_identifier_is_not_a_rowid() {
    // queue claim 10
    let (_, mut store, queue) = new_store(1);
    let mut batch = Batch::new();
    batch.content(1, "x");
    for id in [3, 1, 2] {
        batch.append(queue, UserFlag::default(), id, "", Place::ByRule);
    }
    store.commit(&batch).expect("committed");
    for (rowid, id) in [(1, 3), (2, 1), (3, 2)] {
        let found = store.by_packet_id(queue, id).expect("it is there");
        assert_eq!((found.rowid, found.packet_id), (rowid, id));
        let found = store.by_rowid(queue, rowid).expect("it is there");
        assert_eq!((found.rowid, found.packet_id), (rowid, id));
    }
    assert_eq!(store.by_packet_id(queue, 0), None);
    assert_eq!(store.by_rowid(queue, 0), None);
}

#[test]
fn the_largest_transaction_fits_wherever_it_comes() {
    // queue claims 6, 20: first of a writer, behind others, and in a segment of its own
    let options = Options {
        transaction_max: u32::MAX,
        ..options()
    };
    let largest = |store: &mut Store<SimDisk>, queue| {
        let error = store.commit(&message(queue, &vec![1; SEGMENT as usize]));
        let Err(CommitError::TooLarge { len, max }) = error else {
            panic!("{error:?}")
        };
        vec![b'x'; SEGMENT as usize - (len - max)]
    };
    for before in 0..20 {
        let (disk, store, queue) = new_store(1);
        drop(store);
        let opened = Store::open(disk.restart(), options.clone());
        let (mut store, _) = opened.expect("the store opens");
        for _ in 0..before {
            append(&mut store, queue, b"x");
        }
        let content = largest(&mut store, queue);
        for _ in 0..2 {
            append(&mut store, queue, &content);
        }
        drop(store);
        let found = contents(&disk.restart());
        assert_eq!(found.len(), before + 2);
        assert!(found[before..].iter().all(|it| it.as_bytes() == content));
    }
}
