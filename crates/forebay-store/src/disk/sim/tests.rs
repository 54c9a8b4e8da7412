use std::sync::Arc;

use super::SimDisk;
use crate::disk::{AlignedBuf, Disk, FileName, LockError, Write};

const NAME: FileName = FileName::Segment(1);

fn write(disk: &mut SimDisk, offset: u64, len: usize, fill: u8, tag: u64) {
    let mut buf = AlignedBuf::zeroed(len, 512);
    buf.fill(fill);
    disk.start_write(Write {
        name: NAME,
        offset,
        buf: Arc::new(buf),
        tag,
    });
}

#[test]
fn a_finished_write_survives_a_crash_and_one_in_flight_lands_in_any_part() {
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..256 {
        let mut disk = SimDisk::new(seed);
        disk.create(NAME, 4096).unwrap();
        write(&mut disk, 0, 1024, 1, 1);
        assert!(disk.next_done(true).unwrap().result.is_ok());
        write(&mut disk, 1024, 1536, 2, 2);
        disk.crash();
        let files = disk.restart().files();
        let bytes = &files[&NAME];
        assert!(bytes[..1024].iter().all(|&b| b == 1));
        outcomes.insert([bytes[1024], bytes[1536], bytes[2048]]);
    }
    assert_eq!(
        outcomes.len(),
        8,
        "every subset of three sectors was seen: {outcomes:?}"
    );
}

#[test]
fn writes_complete_in_any_order() {
    let mut first = std::collections::BTreeSet::new();
    for seed in 0..32 {
        let mut disk = SimDisk::new(seed);
        disk.create(NAME, 4096).unwrap();
        for tag in 0..3 {
            write(&mut disk, tag * 512, 512, 1, tag);
        }
        first.insert(disk.next_done(true).unwrap().tag);
    }
    assert_eq!(first.len(), 3);
}

#[test]
fn a_rename_that_was_not_synced_may_be_lost() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..32 {
        let mut disk = SimDisk::new(seed);
        disk.create(NAME, 512).unwrap();
        disk.rename(NAME, FileName::Segment(2)).unwrap();
        let mut disk = disk.restart();
        match disk.list().unwrap().as_slice() {
            [(NAME, 512)] => lost += 1,
            [(FileName::Segment(2), 512)] => kept += 1,
            other => panic!("{other:?}"),
        }
        let mut disk = disk.restart();
        let from = disk.list().unwrap()[0].0;
        disk.rename(from, FileName::Segment(3)).unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(
            disk.restart().list().unwrap(),
            [(FileName::Segment(3), 512)]
        );
    }
    assert!(kept > 0 && lost > 0);
}

#[test]
fn everything_fails_from_the_step_of_the_crash_on() {
    let mut disk = SimDisk::new(1);
    disk.crash_at(2);
    disk.create(NAME, 1024).unwrap();
    write(&mut disk, 0, 512, 1, 9);
    assert!(disk.is_crashed());
    assert!(disk.next_done(true).unwrap().result.is_err());
    assert!(disk.sync_dir().is_err());
    let mut after = disk.restart();
    assert!(
        disk.list().is_err(),
        "a handle from before the restart is dead"
    );
    assert_eq!(after.list().unwrap(), [(NAME, 1024)]);
}

#[test]
fn the_lock_is_held_once_and_freed_by_a_drop() {
    let mut one = SimDisk::new(1);
    let mut two = one.clone();
    one.lock().unwrap();
    assert!(matches!(two.lock(), Err(LockError::Held { pid }) if pid == std::process::id()));
    drop(one);
    two.lock().unwrap();
}

#[test]
fn a_full_disk_refuses_to_create() {
    let mut disk = SimDisk::new(1);
    disk.set_capacity(1000);
    assert_eq!(
        disk.create(NAME, 1024).unwrap_err().kind(),
        std::io::ErrorKind::StorageFull
    );
    disk.create(NAME, 512).unwrap();
    assert_eq!(disk.free_space().unwrap(), 488);
}
