//! Opening a store again, and what its queued messages cost in memory.

use std::{fs, path::Path, process::Command, time::Instant};

use forebay_store::{Batch, Outcome, Place, State, Store};

use super::{
    PAYLOAD, QUEUES,
    cycle::{flag, make_queues, open},
    raw::noise,
    report::{Report, median},
};

const MESSAGES: usize = 1_000_000;
const BATCH: usize = 4000;
const LEFT: usize = 10;
/// Messages that a session takes at once.
const WINDOW: u32 = 16;

pub(crate) fn measure(dir: &Path, quick: bool, report: &mut Report) {
    let (pending, done) = (dir.join("pending"), dir.join("done"));
    eprintln!("a store of {MESSAGES} pending messages …");
    let live = fill(&pending, MESSAGES);
    eprintln!("a store of {MESSAGES} done messages …");
    fill(&done, LEFT);
    let rounds = if quick { 3 } else { 7 };
    let time = |dir: &Path, cold| {
        let runs: Vec<_> = (0..rounds).map(|_| reopen(dir, cold)).collect();
        let opens = median(runs.iter().map(|run| run.0));
        (opens, median(runs.iter().map(|run| run.1)))
    };
    for (dir, name, target) in [(&pending, "pending", 0.5), (&done, "done", 0.2)] {
        let (open_cold, cold) = time(dir, true);
        let (_, warm) = time(dir, false);
        report.restart(name, [open_cold, cold, warm], target);
    }
    let windows: Vec<_> = (0..rounds).map(|_| reopen_inflight(&pending)).collect();
    report.windows(WINDOW, median(windows.iter().copied()));
    let (base, full) = (child(&done), child(&pending));
    report.memory(MESSAGES, base, full, live);
}

/// Fills a store with [`MESSAGES`], finishes all but `left`, and gives the heap that each of the
/// later ones took, bytes.
fn fill(dir: &Path, left: usize) -> f64 {
    let mut store = open(dir, 4);
    let queues = make_queues(&mut store, QUEUES);
    let payload = bytes::Bytes::from(noise(PAYLOAD));
    let mut batch = Batch::new();
    let mut heaps = Vec::new();
    for begin in (0..MESSAGES).step_by(BATCH) {
        batch.clear();
        for i in begin..begin + BATCH {
            batch.content(1, payload.clone());
            let (queue, flag) = (queues[i % QUEUES], flag(State::Queued));
            batch.append(queue, flag, 0, bytes::Bytes::new(), Place::Queued);
        }
        store.commit(&batch).unwrap();
        store.submit().unwrap();
        while store.staged_bytes() > 0 {
            store.poll(true).unwrap();
        }
        heaps.push(heap());
    }
    for begin in (0..MESSAGES - left).step_by(BATCH) {
        batch.clear();
        for i in begin..(begin + BATCH).min(MESSAGES - left) {
            let rowid = (i / QUEUES) as u64 + 1;
            batch.finish(queues[i % QUEUES], rowid, Outcome::ACKED);
        }
        store.commit(&batch).unwrap();
        store.poll(false).unwrap();
    }
    store.sync().unwrap();
    // What the store keeps beside its queues is there after the first tenth.
    let early = heaps.len() / 10;
    let grown = heaps[heaps.len() - 1] - heaps[early];
    grown as f64 / ((heaps.len() - 1 - early) * BATCH) as f64
}

/// Takes the files out of the system's memory.
fn evict(dir: &Path) {
    for file in fs::read_dir(dir).unwrap() {
        let file = fs::File::open(file.unwrap().path()).unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// Seconds until the store is open, and until every queue is loaded too.
fn reopen(dir: &Path, cold: bool) -> (f64, f64) {
    if cold {
        evict(dir);
    }
    let begun = Instant::now();
    let mut store = open(dir, 4);
    let opened = begun.elapsed().as_secs_f64();
    load(&mut store);
    (opened, begun.elapsed().as_secs_f64())
}

/// Seconds until the store is open and every queue has its first messages inflight, cold.
fn reopen_inflight(dir: &Path) -> f64 {
    evict(dir);
    let begun = Instant::now();
    let mut store = open(dir, 4);
    let queues: Vec<_> = store.queues().map(|(queue, _)| queue).collect();
    for queue in queues {
        store.set_max_inflight(queue, WINDOW);
        assert_eq!(
            store.load(queue, Place::ByRule).unwrap().inflight,
            u64::from(WINDOW)
        );
    }
    begun.elapsed().as_secs_f64()
}

fn load<D: forebay_store::Disk>(store: &mut Store<D>) -> u64 {
    let queues: Vec<_> = store.queues().map(|(queue, _)| queue).collect();
    let loads = queues
        .into_iter()
        .map(|queue| store.load(queue, Place::Queued));
    loads.map(|loaded| loaded.unwrap().queued).sum()
}

/// Heap and resident bytes that a store takes.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) heap: i64,
    pub(crate) resident: i64,
}

/// Measured in a process of its own, whose memory nothing else has used.
fn child(dir: &Path) -> Memory {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .arg("--measure-memory-of")
        .arg(dir)
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text.split_whitespace().map(|text| text.parse().unwrap());
    Memory {
        heap: numbers.next().unwrap(),
        resident: numbers.next().unwrap(),
    }
}

pub(crate) fn print_memory(dir: &Path) {
    let (heap_before, resident_before) = (heap(), resident());
    let mut store = open(dir, 4);
    load(&mut store);
    println!("{} {}", heap() - heap_before, resident() - resident_before);
}

fn heap() -> i64 {
    let stats = super::ALLOCATOR.stats();
    (stats.bytes_allocated - stats.bytes_deallocated).cast_signed() as i64
}

fn resident() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<i64>().unwrap() * 1024
}
