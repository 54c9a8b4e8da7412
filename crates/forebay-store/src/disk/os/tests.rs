use std::{
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
    sync::{Arc, mpsc},
    time::Duration,
};

use super::{ALIGNMENT, Driver, OsDisk, OsOptions};
use crate::disk::{AlignedBuf, Disk, Done, FileName, Write};

const SEGMENT: FileName = FileName::Segment(1);
const DRIVERS: [Driver; 3] = [Driver::IoUring, Driver::Pwritev2, Driver::Fdatasync];

fn open(path: &Path, driver: Driver) -> OsDisk {
    let disk = OsDisk::open(
        path,
        OsOptions {
            driver,
            ..OsOptions::default()
        },
    )
    .unwrap();
    // A machine without io_uring tests the next driver twice.
    assert!(
        disk.driver() == driver || disk.refused().iter().any(|(refused, _)| *refused == driver)
    );
    disk
}

fn write(offset: u64, byte: u8, blocks: usize, tag: u64) -> Write {
    let mut buf = AlignedBuf::zeroed(blocks * ALIGNMENT, ALIGNMENT);
    buf.fill(byte);
    Write {
        name: SEGMENT,
        offset,
        buf: Arc::new(buf),
        tag,
    }
}

/// Open descriptors of this process that lead into a directory.
fn descriptors(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    entries
        .flatten()
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to.starts_with(&path)))
        .count()
}

#[test]
fn the_directory_is_made_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b");
    let mut disk = open(&path, Driver::IoUring);
    disk.lock().unwrap();
    disk.create(SEGMENT, 4096).unwrap();
    let mode = |name: &str| {
        std::fs::metadata(path.join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("."), 0o700);
    assert_eq!(mode("LOCK"), 0o600);
    assert_eq!(mode(&SEGMENT.to_string()), 0o600);
}

#[test]
fn a_reader_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let error = OsDisk::open(&missing, OsOptions::reader()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(!missing.exists());

    let mut reader = OsDisk::open(dir.path(), OsOptions::reader()).unwrap();
    assert_eq!(reader.list().unwrap(), []);
    let mut buf = AlignedBuf::zeroed(ALIGNMENT, ALIGNMENT);
    assert_eq!(
        reader.read_at(SEGMENT, 0, &mut buf).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_created_file_has_its_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let mut disk = open(dir.path(), Driver::IoUring);
    disk.create(SEGMENT, 1 << 20).unwrap();
    let metadata = std::fs::metadata(dir.path().join(SEGMENT.to_string())).unwrap();
    assert_eq!(metadata.len(), 1 << 20);
    assert!(metadata.blocks() * 512 >= 1 << 20);
}

#[test]
fn a_file_system_without_direct_writes_is_written_through_its_cache() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut disk = open(dir.path(), driver);
        disk.create(SEGMENT, 64 * 1024).unwrap();
        disk.start_write(write(8192, 7, 2, 1));
        disk.next_done(true).unwrap().result.unwrap();
        let mut buf = AlignedBuf::zeroed(8192, ALIGNMENT);
        disk.read_at(SEGMENT, 8192, &mut buf).unwrap();
        assert!(buf.iter().all(|&byte| byte == 7));
    }
}

/// Whether a descriptor of this process for a path has all of these flags, and none of those.
fn opened_with(path: &Path, all: i32, none: i32) -> bool {
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .any(|entry| {
            let info = std::fs::read_to_string(format!(
                "/proc/self/fdinfo/{}",
                entry.file_name().display()
            ));
            let flags = info
                .unwrap_or_default()
                .lines()
                .find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
            std::fs::read_link(entry.path()).is_ok_and(|to| to == path)
                && flags.is_some_and(|flags| flags & all == all && flags & none == 0)
        })
}

#[test]
fn an_io_uring_writes_synchronously_and_past_the_cache_but_leaves_the_times_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut disk = open(dir.path(), Driver::IoUring);
    disk.create(SEGMENT, 64 * 1024).unwrap();
    disk.start_write(write(0, 7, 1, 1));
    disk.next_done(true).unwrap().result.unwrap();
    if disk.driver() == Driver::IoUring && disk.direct() {
        let path = dir.path().canonicalize().unwrap().join(SEGMENT.to_string());
        let only_o_sync = libc::O_SYNC & !libc::O_DSYNC;
        assert!(opened_with(
            &path,
            libc::O_DSYNC | libc::O_DIRECT,
            only_o_sync
        ));
    }
}

#[test]
fn many_files_share_a_few_descriptors() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.lock().unwrap();
        let mut buf = AlignedBuf::zeroed(ALIGNMENT, ALIGNMENT);
        for round in 0..2 {
            for number in 1..=100 {
                let name = FileName::Segment(number);
                if round == 0 {
                    disk.create(name, 4096).unwrap();
                }
                disk.start_write(Write {
                    name,
                    ..write(0, number as u8, 1, 0)
                });
                disk.next_done(true).unwrap().result.unwrap();
                disk.read_at(name, 0, &mut buf).unwrap();
                assert!(buf.iter().all(|&byte| byte == number as u8));
            }
        }
        assert!(descriptors(dir.path()) <= 2 * 16 + 2);
        drop(disk);
        assert_eq!(descriptors(dir.path()), 0);
    }
}

#[test]
fn a_removed_and_made_again_file_is_not_read_through_the_old_descriptor() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        let mut buf = AlignedBuf::zeroed(ALIGNMENT, ALIGNMENT);
        for byte in 1..4 {
            disk.create(SEGMENT, 8192).unwrap();
            disk.read_at(SEGMENT, 0, &mut buf).unwrap();
            assert!(buf.iter().all(|&byte| byte == 0));
            disk.start_write(write(0, byte, 1, 0));
            disk.next_done(true).unwrap().result.unwrap();
            disk.read_at(SEGMENT, 0, &mut buf).unwrap();
            assert!(buf.iter().all(|&read| read == byte));
            disk.remove(SEGMENT).unwrap();
        }
    }
}

#[test]
fn a_write_that_the_system_refuses_is_told_once_and_its_buffer_comes_back() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.create(SEGMENT, 8192).unwrap();
        // Past the largest offset any file system has.
        let beyond = i64::MAX as u64 - 8191;
        disk.start_write(write(beyond, 3, 1, 11));
        let Done { tag, buf, result } = disk.next_done(true).unwrap();
        assert!(result.is_err(), "{driver}");
        assert_eq!((tag, buf.len()), (11, ALIGNMENT));
        assert!(buf.iter().all(|&byte| byte == 3));
        assert!(disk.next_done(true).is_none());

        disk.start_write(write(0, 4, 1, 12));
        disk.next_done(true).unwrap().result.unwrap();
    }
}

#[test]
fn a_write_to_a_missing_file_fails_by_its_completion() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.start_write(write(0, 3, 1, 5));
        disk.park(None);
        let done = disk.next_done(false).unwrap();
        assert_eq!((done.tag, done.buf.len()), (5, ALIGNMENT));
        assert_eq!(done.result.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn a_full_file_system_refuses_a_file_and_keeps_nothing_of_it() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        let more_than_all = disk.free_space().unwrap() + (1 << 40);
        let error = disk.create(SEGMENT, more_than_all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{driver}");
        assert_eq!(disk.list().unwrap(), []);
    }
}

/// A file system of its own, of 1 MiB.
struct Small(tempfile::TempDir);

impl Small {
    /// `None` where this user may not mount.
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
        let mounted = mount.arg(dir.path()).output().ok()?.status.success();
        mounted.then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_file_system_that_fills_up_fails_the_write_and_goes_on_once_there_is_room() {
    for driver in DRIVERS {
        let Some(small) = Small::mount() else { return };
        let mut disk = open(small.0.path(), driver);
        // Longer than the file system, with no blocks.
        let file = std::fs::File::create(small.0.path().join(SEGMENT.to_string())).unwrap();
        file.set_len(8 << 20).unwrap();
        disk.create(FileName::Segment(2), 512 << 10).unwrap();
        disk.start_write(write(0, 1, 256, 1));
        let done = disk.next_done(true).unwrap();
        assert_eq!(done.buf.len(), 256 * ALIGNMENT);
        let error = done.result.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
        assert!(disk.next_done(true).is_none());

        disk.remove(FileName::Segment(2)).unwrap();
        disk.start_write(write(0, 1, 16, 2));
        disk.next_done(true).unwrap().result.unwrap();
    }
}

#[test]
fn dropping_the_disk_waits_for_the_writes_in_flight() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.create(SEGMENT, 4 << 20).unwrap();
        for at in 0..4 {
            disk.start_write(write(at << 20, at as u8 + 1, 256, at));
        }
        drop(disk);
        let bytes = std::fs::read(dir.path().join(SEGMENT.to_string())).unwrap();
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(at, &byte)| byte == (at >> 20) as u8 + 1),
            "{driver}"
        );
    }
}

#[test]
fn a_call_from_another_thread_ends_the_sleep() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        let waker = disk.waker().unwrap();
        let (to_disk, calls) = mpsc::sync_channel(0);
        let caller = std::thread::spawn(move || {
            for call in 0..1000 {
                // The channel holds nothing, so each call is taken before the next is made.
                to_disk
                    .send(call)
                    .unwrap_or_else(|_| panic!("the disk is gone"));
                waker.wake_by_ref();
            }
        });
        let mut taken = 0;
        while taken < 1000 {
            if let Ok(call) = calls.try_recv() {
                assert_eq!(call, taken);
                taken += 1;
                disk.park(None);
            }
        }
        caller.join().unwrap();
    }
}

#[test]
fn a_call_before_the_sleep_is_not_lost() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.waker().unwrap().wake();
        disk.park(None);
    }
}

#[test]
fn a_completion_ends_the_sleep() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.create(SEGMENT, 1 << 20).unwrap();
        for tag in 0..200 {
            disk.start_write(write(0, 1, 1, tag));
            let done = loop {
                if let Some(done) = disk.next_done(false) {
                    break done;
                }
                disk.park(None);
            };
            assert_eq!(done.tag, tag);
        }
    }
}

#[test]
fn the_sleep_ends_in_time() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.park(Some(Duration::from_millis(1)));
        assert!(disk.next_done(false).is_none());
    }
}

#[test]
fn a_disk_can_be_handed_from_thread_to_thread() {
    for driver in DRIVERS {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = open(dir.path(), driver);
        disk.create(SEGMENT, 1 << 20).unwrap();
        let progress = Arc::new(std::sync::atomic::AtomicU64::new(0));
        for round in 0..20 {
            let progress = Arc::clone(&progress);
            disk = std::thread::spawn(move || {
                disk.waker().unwrap().wake();
                disk.park(None);
                disk.start_write(write(0, 1, 1, round));
                // Left in flight every second time, for the next thread to take.
                while let Some(done) = disk.next_done(round % 2 == 1) {
                    progress.fetch_max(done.tag, std::sync::atomic::Ordering::Relaxed);
                }
                disk.park(Some(Duration::from_micros(10)));
                disk
            })
            .join()
            .unwrap();
        }
        assert_eq!(progress.load(std::sync::atomic::Ordering::Relaxed), 19);
        assert!(disk.next_done(true).is_none());
    }
}
