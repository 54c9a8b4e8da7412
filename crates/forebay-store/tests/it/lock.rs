//! One writer to a store, on a real disk (queue claim 27).

use std::{
    io::{self, BufRead as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use forebay_store::{Access, Batch, OpenError, Options, OsDisk, OsOptions, Place, Store, UserFlag};

fn options() -> Options {
    Options {
        segment_size: 64 << 10,
        transaction_max: 16 << 10,
        low_water: 0,
        ..Options::default()
    }
}

fn open(dir: &Path) -> Result<Store<OsDisk>, OpenError> {
    let disk = OsDisk::open(dir, OsOptions::default()).expect("the directory opens");
    Store::open(disk, options()).map(|(store, _)| store)
}

fn reader(dir: &Path) -> Store<OsDisk> {
    let disk = OsDisk::open(dir, OsOptions::reader()).expect("the directory opens");
    let access = Access::Read;
    let (store, _) = Store::open(
        disk,
        Options {
            access,
            ..options()
        },
    )
    .expect("it needs no lock");
    store
}

fn refused_by(dir: &Path) -> u32 {
    let error = open(dir).err().expect("another writer has it");
    let OpenError::Locked { pid } = error else {
        panic!("{error}")
    };
    let text = format!("the store is in use by process {pid}");
    assert_eq!(error.to_string(), text);
    pid
}

fn first_message<D: forebay_store::Disk>(store: &mut Store<D>) -> Vec<u8> {
    let queue = store.queue(b"q").expect("the queue is there");
    store.content(queue, 1).expect("readable").bytes.to_vec()
}

/// Run as a process of its own by the test below: writes and holds the store until it is killed.
#[test]
#[ignore = "a part of the test that follows"]
fn holder_of_a_store() {
    let Ok(dir) = std::env::var("FOREBAY_STORE_DIR") else {
        return;
    };
    let mut store = open(Path::new(&dir)).expect("it opens");
    let queue = store.next_queue_id();
    let mut batch = Batch::new();
    batch.create_queue(queue, "q").content(1, "acknowledged");
    batch.append(queue, UserFlag::default(), 0, "", Place::ByRule);
    store.commit(&batch).expect("committed");
    store.sync().expect("synced");
    eprintln!("acknowledged");
    let _ = io::stdin().read_line(&mut String::new());
    drop(store);
}

fn spawn_holder(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
        .args([
            "--exact",
            "lock::holder_of_a_store",
            "--ignored",
            "--nocapture",
        ])
        .env("FOREBAY_STORE_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stderr = child.stderr.take().expect("a pipe");
    io::BufReader::new(stderr)
        .read_line(&mut line)
        .expect("it says something");
    assert_eq!(line.trim(), "acknowledged");
    child
}

#[test]
fn a_writer_in_another_process_is_named_and_once_it_is_killed_the_store_is_free() {
    // queue claims 19, 22, 27
    let dir = tempfile::tempdir().expect("a directory");
    let mut holder = spawn_holder(dir.path());
    let before: Vec<_> = files(dir.path());
    assert_eq!(refused_by(dir.path()), holder.id());
    assert_eq!(first_message(&mut reader(dir.path())), b"acknowledged");
    assert_eq!(files(dir.path()), before, "neither has changed anything");

    // SIGKILL: nothing of the holder's own runs.
    holder.kill().expect("it is killed");
    holder.wait().expect("it has ended");
    let mut store = open(dir.path()).expect("the store is free");
    assert_eq!(first_message(&mut store), b"acknowledged");
    assert_eq!(refused_by(dir.path()), std::process::id());
}

#[test]
fn a_second_writer_in_the_same_process_is_refused_until_the_first_is_dropped() {
    // queue claim 27
    let dir = tempfile::tempdir().expect("a directory");
    let first = open(dir.path()).expect("a new store");
    assert_eq!(refused_by(dir.path()), std::process::id());
    drop(first);
    drop(open(dir.path()).expect("the store is free"));
}

fn files(dir: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).expect("it can be listed");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("it can be listed"))
        .map(|entry| {
            (
                entry.file_name(),
                std::fs::read(entry.path()).expect("readable"),
            )
        })
        .collect();
    files.sort();
    files
}
