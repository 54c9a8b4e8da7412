//! What every `Disk` promises, asked of each driver of the real one and of the simulated one.
//!
//! A failing run prints its seed; `FOREBAY_SEED` replays it.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    process::{Command, Stdio},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use forebay_store::{
    AlignedBuf, Disk, Driver, FileName, LockError, OsDisk, OsOptions, SimDisk, Write,
};
use tempfile::TempDir;

const SEGMENT: FileName = FileName::Segment(1);

/// The length of the files in the randomised test, in units of the alignment.
const UNITS: u64 = 64;

/// A place that disks can be opened on, again and again.
enum Place {
    Os(TempDir, Driver),
    Sim(SimDisk),
}

impl Place {
    fn open(&self) -> Box<dyn Disk> {
        match self {
            Self::Os(dir, driver) => {
                let options = OsOptions {
                    driver: *driver,
                    ..OsOptions::default()
                };
                Box::new(OsDisk::open(dir.path(), options).unwrap())
            }
            Self::Sim(sim) => Box::new(sim.clone()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Os(_, driver) => driver.to_string(),
            Self::Sim(_) => "simulated".to_owned(),
        }
    }
}

/// Runs a clause of the contract on every kind of disk.
fn each(clause: impl Fn(&Place)) {
    for driver in [Driver::IoUring, Driver::Pwritev2, Driver::Fdatasync] {
        clause(&Place::Os(tempfile::tempdir().unwrap(), driver));
        clause(&Place::Os(
            tempfile::tempdir_in("/dev/shm").unwrap(),
            driver,
        ));
    }
    for alignment in [512, 4096] {
        clause(&Place::Sim(SimDisk::new(7).with_alignment(alignment)));
    }
}

fn buf(disk: &dyn Disk, units: usize, byte: u8) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(units * disk.alignment(), disk.alignment());
    buf.fill(byte);
    buf
}

fn write(disk: &dyn Disk, name: FileName, unit: u64, units: usize, byte: u8, tag: u64) -> Write {
    Write {
        name,
        offset: unit * disk.alignment() as u64,
        buf: Arc::new(buf(disk, units, byte)),
        tag,
    }
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let given = std::env::var("FOREBAY_SEED").ok();
    given.map_or(now.as_nanos() as u64, |seed| seed.parse().unwrap())
}

/// The next number of a sequence, below a bound.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn what_was_given_back_as_written_reads_back_from_this_disk_and_the_next() {
    let seed = seed();
    eprintln!("FOREBAY_SEED={seed}");
    each(|place| {
        let mut random = seed;
        let mut disk = place.open();
        let unit = disk.alignment() as u64;
        let names = [
            FileName::Root,
            FileName::Segment(1),
            FileName::Segment(u32::MAX),
        ];
        for name in names {
            disk.create(name, UNITS * unit).unwrap();
        }
        // What each unit holds, and those that a write is on its way to.
        let mut expected = BTreeMap::new();
        let mut busy: BTreeMap<u64, (FileName, u64, usize, u8)> = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for tag in 0..400 {
            let wait = busy.len() == disk.max_in_flight();
            while let Some(done) = disk.next_done(wait && busy.len() == disk.max_in_flight()) {
                let (name, at, units, byte) = busy.remove(&done.tag).unwrap();
                done.result.unwrap();
                assert_eq!(done.buf.len(), units * unit as usize);
                assert!(
                    done.buf.iter().all(|&b| b == byte),
                    "the buffer comes back as it went"
                );
                for at in at..at + units as u64 {
                    taken.remove(&(name, at));
                    expected.insert((name, at), byte);
                }
            }
            let name = names[draw(&mut random, 3) as usize];
            let (at, byte) = (draw(&mut random, UNITS), draw(&mut random, 255) as u8 + 1);
            let units = 1 + draw(&mut random, (UNITS - at).min(9)) as usize;
            let range = at..at + units as u64;
            if range.clone().any(|at| taken.contains(&(name, at))) {
                continue;
            }
            taken.extend(range.map(|at| (name, at)));
            busy.insert(tag, (name, at, units, byte));
            let write = write(&*disk, name, at, units, byte, tag);
            disk.start_write(write);

            // What is not being written can be read meanwhile.
            let at = draw(&mut random, UNITS);
            if !taken.contains(&(name, at)) {
                let mut read = buf(&*disk, 1, 255);
                disk.read_at(name, at * unit, &mut read).unwrap();
                let byte = expected.get(&(name, at)).copied().unwrap_or(0);
                assert!(read.iter().all(|&b| b == byte), "on {}", place.name());
            }
        }
        while let Some(done) = disk.next_done(true) {
            let (name, at, units, byte) = busy.remove(&done.tag).unwrap();
            done.result.unwrap();
            for at in at..at + units as u64 {
                expected.insert((name, at), byte);
            }
        }
        assert!(
            busy.is_empty(),
            "every write was given back, on {}",
            place.name()
        );
        for opened_again in [false, true] {
            if opened_again {
                drop(disk);
                disk = place.open();
            }
            for name in names {
                let mut read = buf(&*disk, UNITS as usize, 255);
                disk.read_at(name, 0, &mut read).unwrap();
                for (at, bytes) in read.chunks_exact(unit as usize).enumerate() {
                    let byte = expected.get(&(name, at as u64)).copied().unwrap_or(0);
                    assert!(
                        bytes.iter().all(|&b| b == byte),
                        "{name} {at} on {}",
                        place.name()
                    );
                }
            }
        }
    });
}

#[test]
fn as_many_writes_as_the_disk_says_may_be_in_flight() {
    each(|place| {
        let mut disk = place.open();
        let count = disk.max_in_flight() as u64;
        disk.create(SEGMENT, count * disk.alignment() as u64)
            .unwrap();
        for tag in 0..count {
            let write = write(&*disk, SEGMENT, tag, 1, 1, tag);
            disk.start_write(write);
        }
        let tags: BTreeSet<_> = std::iter::from_fn(|| disk.next_done(true))
            .map(|done| done.tag)
            .collect();
        assert_eq!(tags, (0..count).collect(), "on {}", place.name());
    });
}

#[test]
fn a_disk_with_nothing_in_flight_never_waits() {
    each(|place| {
        let mut disk = place.open();
        assert!(disk.next_done(false).is_none());
        assert!(disk.next_done(true).is_none());
    });
}

#[test]
fn files_are_listed_renamed_and_removed() {
    each(|place| {
        let mut disk = place.open();
        let unit = disk.alignment() as u64;
        assert_eq!(disk.list().unwrap(), []);
        disk.create(FileName::Root, unit).unwrap();
        disk.create(FileName::Segment(1), 3 * unit).unwrap();
        let again = disk.create(FileName::Root, unit).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);

        let write = write(&*disk, FileName::Segment(1), 0, 3, 9, 0);
        disk.start_write(write);
        disk.next_done(true).unwrap().result.unwrap();
        disk.rename(FileName::Segment(1), FileName::Segment(2))
            .unwrap();
        disk.sync_dir().unwrap();

        let mut files = disk.list().unwrap();
        files.sort();
        assert_eq!(
            files,
            [(FileName::Root, unit), (FileName::Segment(2), 3 * unit)]
        );
        let mut read = buf(&*disk, 3, 0);
        disk.read_at(FileName::Segment(2), 0, &mut read).unwrap();
        assert!(read.iter().all(|&byte| byte == 9), "on {}", place.name());
        let gone = disk
            .read_at(FileName::Segment(1), 0, &mut read)
            .unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);

        disk.remove(FileName::Segment(2)).unwrap();
        disk.remove(FileName::Root).unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(
            disk.remove(FileName::Root).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(disk.list().unwrap(), []);
    });
}

#[test]
fn a_read_past_the_end_says_so() {
    each(|place| {
        let mut disk = place.open();
        disk.create(SEGMENT, 2 * disk.alignment() as u64).unwrap();
        let mut read = buf(&*disk, 2, 0);
        let error = disk
            .read_at(SEGMENT, disk.alignment() as u64, &mut read)
            .unwrap_err();
        assert_eq!(
            error.kind(),
            io::ErrorKind::UnexpectedEof,
            "on {}",
            place.name()
        );
    });
}

#[test]
fn files_of_others_are_left_out_of_the_list_and_left_alone() {
    for driver in [Driver::IoUring, Driver::Pwritev2, Driver::Fdatasync] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        let place = Place::Os(dir, driver);
        let mut disk = place.open();
        disk.lock().unwrap();
        assert_eq!(disk.list().unwrap(), []);
        let Place::Os(dir, _) = place else {
            unreachable!()
        };
        assert_eq!(
            std::fs::read(dir.path().join("notes.txt")).unwrap(),
            b"mine"
        );
    }
}

#[test]
fn a_second_writer_is_refused_with_the_pid_of_the_first_until_that_is_gone() {
    each(|place| {
        let mut first = place.open();
        first.lock().unwrap();
        let mut second = place.open();
        match second.lock() {
            Err(LockError::Held { pid }) if matches!(place, Place::Os(..)) => {
                assert_eq!(pid, std::process::id());
            }
            Err(LockError::Held { .. }) => {}
            other => panic!("{other:?} on {}", place.name()),
        }
        // A reader needs no lock.
        assert_eq!(second.list().unwrap(), []);
        drop(first);
        second.lock().unwrap();
    });
}

/// Run as a process of its own by the test below: holds a lock until its standard input ends.
#[test]
#[ignore = "a part of the test that follows"]
fn holder_of_a_lock() {
    let Ok(dir) = std::env::var("FOREBAY_LOCK_DIR") else {
        return;
    };
    let mut disk = OsDisk::open(dir, OsOptions::default()).unwrap();
    disk.lock().unwrap();
    eprintln!("locked");
    let _ = io::stdin().read_line(&mut String::new());
    drop(disk);
}

#[test]
fn another_process_is_refused_and_a_killed_one_leaves_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "disk::holder_of_a_lock",
            "--ignored",
            "--nocapture",
        ])
        .env("FOREBAY_LOCK_DIR", dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert_eq!(line.trim(), "locked");

    let mut disk = OsDisk::open(dir.path(), OsOptions::default()).unwrap();
    match disk.lock() {
        Err(error @ LockError::Held { pid }) => {
            assert_eq!(pid, child.id());
            assert_eq!(
                error.to_string(),
                format!("the store is in use by process {pid}")
            );
        }
        other => panic!("{other:?}"),
    }
    // SIGKILL: nothing of the holder's own runs.
    child.kill().unwrap();
    child.wait().unwrap();
    disk.lock().unwrap();
    let pid = std::fs::read_to_string(dir.path().join("LOCK")).unwrap();
    assert_eq!(pid.trim(), std::process::id().to_string());
}

#[test]
fn a_lock_file_without_a_pid_in_it_is_still_a_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = OsDisk::open(dir.path(), OsOptions::default()).unwrap();
    first.lock().unwrap();
    let mut file = std::fs::File::create(dir.path().join("LOCK")).unwrap();
    file.write_all(b"\xff\xfenot a number").unwrap();
    let mut second = OsDisk::open(dir.path(), OsOptions::default()).unwrap();
    assert!(matches!(second.lock(), Err(LockError::Held { pid: 0 })));
}
