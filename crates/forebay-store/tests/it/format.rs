//! Stores written by every version so far are read, and those of later ones are left alone (queue
//! claim 28). Each released format has a store in `tests/fixtures`.
//!
//! `FOREBAY_WRITE_FIXTURE=DIR cargo test -p forebay-store --test it -- --ignored write_the_fixture`
//! writes one of the format of this code.

use std::{collections::BTreeMap, fs, path::Path};

use forebay_store::{
    Access, Batch, Disk, FileName, List, OpenError, Options, OsDisk, OsOptions, Outcome, Place,
    SimDisk, State, Store, TableId, UserFlag,
};

const STORE: &[u8; 16] = b"fixture format 1";
const TABLE: TableId = TableId(7);
const LONG: usize = 700;
/// The next rowid of `c-OUT` in the store in `fixtures/format-1`.
const NEXT: u64 = 24;
const NAME: &[u8] = b"\xff/../odd\0name";

fn options() -> Options {
    Options {
        segment_size: 4096,
        transaction_max: 2048,
        frame_target: 512,
        checkpoint_after: 1 << 30,
        checkpoint_step: 512,
        compact_after: 512,
        recent_max: 0,
        low_water: 0,
        store_id: Some(*STORE),
        ..Options::default()
    }
}

/// What a crash must not take: queue, rowid, flag, packet identifier, note, time, content.
type Row = (&'static [u8], u64, u16, u16, &'static str, u64, Vec<u8>);

/// The pending messages of the store in `fixtures/format-1`.
fn messages() -> Vec<Row> {
    vec![
        (b"c-IN", 1, 0x7521, 11, "", 1000, b"first".to_vec()),
        (b"c-OUT", 1, 0x3611, 12, "note", 1000, b"first".to_vec()),
        (b"c-OUT", 2, 0xB211, 0, "", 2000, vec![b'l'; LONG]),
        (b"c-OUT", 3, 0x0001, 65535, "last", 3000, Vec::new()),
        (NAME, 1, 0x0001, 0, "again", 2000, vec![b'l'; LONG]),
    ]
}

fn rows() -> Vec<(Vec<u8>, Vec<u8>)> {
    vec![
        (Vec::new(), b"no key".to_vec()),
        (b"big".to_vec(), vec![9; 300]),
        (b"new".to_vec(), b"second value".to_vec()),
    ]
}

/// Writes every kind of record, in several segments, with a checkpoint and contents moved. Gives
/// the next rowid of `c-OUT` too.
fn write_store() -> (SimDisk, u64) {
    let disk = SimDisk::new(1);
    let (mut store, _) = Store::open(disk.clone(), options()).expect("a new store");
    let ids: Vec<_> = (0..4).map(|_| store.next_queue_id()).collect();
    let [inward, outward, odd, dropped] = ids[..] else {
        panic!("{ids:?}")
    };
    let commit = |store: &mut Store<SimDisk>, batch: &mut Batch| {
        store.commit(batch).expect("committed");
        store.sync().expect("synced");
        batch.clear();
    };
    let (flag, mut batch) = (UserFlag::from_bits, Batch::new());
    batch
        .create_queue(inward, "c-IN")
        .create_queue(outward, "c-OUT");
    batch
        .create_queue(odd, NAME)
        .create_queue(dropped, "dropped");
    batch.content(1000, "first");
    batch.append(inward, flag(0), 0, "", Place::ByRule);
    batch.append(outward, flag(0x3611), 12, "note", Place::ByRule);
    batch.append(dropped, flag(0), 0, "", Place::ByRule);
    batch.put(TABLE, "", "no key").put(TABLE, "old", "row");
    batch.put(TABLE, "new", "first value");
    commit(&mut store, &mut batch);
    batch.content(2000, vec![b'l'; LONG]);
    batch.append(outward, flag(0xB211), 0, "", Place::Queued);
    commit(&mut store, &mut batch);
    batch.content_of(outward, 2);
    batch.append(odd, flag(0), 0, "again", Place::Queued);
    batch
        .set_flag(inward, 1, flag(0x7521), 11)
        .drop_queue(dropped);
    batch.put(TABLE, "new", "second value").delete(TABLE, "old");
    commit(&mut store, &mut batch);
    batch.content(3000, "");
    batch.append(outward, flag(0x0001), 65535, "last", Place::Queued);
    batch.put(TABLE, "big", vec![9; 300]);
    commit(&mut store, &mut batch);
    // It ends where contents were just moved and the checkpoint that follows is not there yet.
    let mut next = 4;
    while store.stats().compactions < 2 {
        batch.content(2500, vec![next as u8; 200]);
        batch.append(outward, flag(0), 0, "", Place::Queued);
        batch.finish(outward, next, Outcome::dropped(next as u8));
        commit(&mut store, &mut batch);
        next += 1;
    }
    assert!(store.stats().checkpoints > 0);
    (disk, next)
}

/// Checks that every message, flag and row is there, and no more.
fn check<D: Disk>(store: &mut Store<D>, next: u64) {
    let mut found = Vec::new();
    let names = [&b"c-IN"[..], b"c-OUT", NAME];
    assert_eq!(store.queues().count(), names.len());
    for name in names {
        let queue = store.queue(name).expect("the queue is there");
        store.load(queue, Place::ByRule).expect("all can be read");
        let rowids: Vec<u64> = store.list(queue, List::Inflight, ..).collect();
        for rowid in rowids {
            let content = store.content(queue, rowid).expect("readable");
            let it = store.by_rowid(queue, rowid).expect("it is there");
            let (flag, note) = (
                it.flag.bits(),
                String::from_utf8_lossy(&it.note).to_string(),
            );
            let (time, bytes) = (content.time, content.bytes.to_vec());
            found.push((name, rowid, flag, it.packet_id, note, time, bytes));
        }
    }
    let expected = messages().into_iter();
    let expected: Vec<_> = expected
        .map(|(n, r, f, p, note, t, c)| (n, r, f, p, note.to_owned(), t, c))
        .collect();
    assert_eq!(found, expected);
    let found = store.scan(TABLE).map(|(k, v)| (k.to_vec(), v.to_vec()));
    assert_eq!(found.collect::<Vec<_>>(), rows());
    let queue = store.queue(b"c-OUT").expect("the queue is there");
    let info = store.queue_info(queue).expect("the queue is there");
    assert_eq!((info.first_pending, info.next_rowid), (1, next));
    let handshake = store.by_packet_id(queue, 12).expect("it is there").flag;
    assert_eq!(handshake.state(), State::WaitForPuback);
    // What is done with is there as far as its segment is.
    let all = store
        .load_all(queue, next - 1..)
        .expect("the queue is there");
    assert_eq!(
        all.messages[0].outcome,
        Some(Outcome::dropped(next as u8 - 1))
    );
}

fn fixture() -> BTreeMap<FileName, Vec<u8>> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1");
    let entries = fs::read_dir(dir).expect("the fixture is there");
    entries
        .map(|entry| entry.expect("it can be listed"))
        .filter_map(|entry| {
            let name = FileName::parse(entry.file_name().to_str()?)?;
            Some((name, fs::read(entry.path()).expect("readable")))
        })
        .collect()
}

fn put(files: &BTreeMap<FileName, Vec<u8>>) -> SimDisk {
    let disk = SimDisk::new(1);
    for (name, bytes) in files {
        disk.put_file(*name, bytes.clone());
    }
    disk
}

fn copy(files: &BTreeMap<FileName, Vec<u8>>, dir: &Path) {
    for (name, bytes) in files {
        fs::write(dir.join(name.to_string()), bytes).expect("written");
    }
}

#[test]
#[ignore = "writes a fixture where FOREBAY_WRITE_FIXTURE says"]
fn write_the_fixture() {
    if let Ok(dir) = std::env::var("FOREBAY_WRITE_FIXTURE") {
        fs::create_dir_all(&dir).expect("made");
        let (disk, next) = write_store();
        copy(&disk.files(), Path::new(&dir));
        println!("the next rowid is {next}");
    }
}

#[test]
fn a_store_of_this_format_has_what_the_fixtures_have() {
    let (disk, next) = write_store();
    let (mut store, _) = Store::open(disk.restart(), options()).expect("it opens");
    check(&mut store, next);
}

#[test]
fn a_store_of_format_1_is_read_and_written_on_any_disk() {
    // queue claim 28
    let files = fixture();
    for alignment in [512, 4096] {
        let disk = put(&files).with_alignment(alignment);
        let segment_size = 8 * alignment as u32;
        let options = Options {
            segment_size,
            ..options()
        };
        for _ in 0..2 {
            let opened = Store::open(disk.restart().with_alignment(alignment), options.clone());
            let (mut store, recovery) = opened.expect("it opens");
            assert!(!recovery.created && recovery.damage.is_empty());
            check(&mut store, NEXT);
            store.checkpoint().expect("the disk is sound");
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    copy(&files, dir.path());
    for access in [Access::Read, Access::Write, Access::Write] {
        let os = OsDisk::open(dir.path(), OsOptions::default()).expect("it opens");
        let options = Options {
            access,
            segment_size: 32 << 10,
            ..options()
        };
        let (mut store, _) = Store::open(os, options).expect("it opens");
        check(&mut store, NEXT);
        store.checkpoint().expect("the disk is sound");
    }
}

#[test]
fn a_file_of_a_newer_format_is_refused_by_writers_and_readers_and_nothing_is_changed() {
    // queue claim 28
    let files = fixture();
    for name in files.keys().copied() {
        let mut newer = files.clone();
        let bytes = newer.get_mut(&name).expect("it is there");
        let slots = if name == FileName::Root { 2 } else { 1 };
        for at in (0..slots).map(|slot| slot * 4096) {
            bytes[at + 8] = 2;
            let checksum = crc32c::crc32c(&bytes[at..at + 92]);
            bytes[at + 92..at + 96].copy_from_slice(&checksum.to_le_bytes());
        }
        for access in [Access::Write, Access::Read] {
            let disk = put(&newer);
            let options = Options {
                access,
                ..options()
            };
            let error = Store::open(disk.clone(), options).err();
            let error = error.expect("it is refused");
            let named = matches!(error, OpenError::Newer { file, version: 2 } if file == name);
            assert!(named, "{name}: {error}");
            let text = format!("{name} has format 2, and the newest known here is 1");
            assert_eq!(error.to_string(), text);
            assert_eq!(disk.files(), newer);
        }
    }
}

/// A store of one frame, with a record of a later version behind those that are in it.
fn with_record(record: &[u8]) -> SimDisk {
    let disk = SimDisk::new(1);
    let (mut store, _) = Store::open(disk.clone(), options()).expect("a new store");
    let mut batch = Batch::new();
    batch.put(TABLE, "key", "value");
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    drop(store);
    let name = FileName::Segment(1);
    let mut bytes = disk.files()[&name].clone();
    let frame = &mut bytes[512..1024];
    let len = u32::from_le_bytes(frame[40..44].try_into().expect("four bytes")) as usize;
    frame[48 + len..48 + len + record.len()].copy_from_slice(record);
    let len = len + record.len();
    frame[40..44].copy_from_slice(&(len as u32).to_le_bytes());
    let checksum = crc32c::crc32c(&frame[48..48 + len]);
    frame[44..48].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(STORE), &frame[8..48]);
    frame[4..8].copy_from_slice(&checksum.to_le_bytes());
    disk.put_file(name, bytes);
    disk
}

#[test]
fn a_record_of_a_later_version_is_skipped_where_that_is_allowed_and_else_refused() {
    // queue claim 28
    let disk = with_record(&[128, 3, 1, 2, 3]);
    let (store, _) = Store::open(disk, options()).expect("it opens");
    assert_eq!(
        store.get(TABLE, b"key").map(|value| &**value),
        Some(&b"value"[..])
    );

    let disk = with_record(&[64, 3, 1, 2, 3]);
    let before = disk.files();
    let error = Store::open(disk.clone(), options()).err();
    let error = error.expect("it is refused");
    assert!(
        matches!(
            error,
            OpenError::UnknownRecord {
                kind: 64,
                offset: 512,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(disk.files(), before);
}
