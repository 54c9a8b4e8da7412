//! The store beside a bare loop that makes the same durable writes, on a real disk, in one run.
//!
//! `cargo bench -p forebay-store --bench store -- [--quick] [--part cycle]`
//!
//! Rates of a disk change by the minute, so what counts are ratios: each round runs the loop and
//! the store one after the other, and the medians over the rounds are told. A target that is
//! missed is marked, and ends the run with 1 when `--gate` is given. Spec: queue chapter 4.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench prints and may stop"
)]

use std::{
    alloc::System,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use self::{
    cycle::Cycle,
    raw::{Bare, Plain},
    report::Report,
};

#[path = "store/cycle.rs"]
mod cycle;
#[path = "store/raw.rs"]
mod raw;
#[path = "store/report.rs"]
mod report;
#[path = "store/restart.rs"]
mod restart;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes of a message.
const PAYLOAD: usize = 256;
const QUEUES: usize = 1000;
/// Messages of a commit.
const BATCHES: [usize; 4] = [1, 16, 256, 4096];
/// Durable writes in flight: one, and what the store has by itself.
const IN_FLIGHT: [usize; 2] = [1, 4];

struct Args {
    json: Option<PathBuf>,
    quick: bool,
    gate: bool,
    part: Option<String>,
    /// The one batch size to measure.
    batch: Option<usize>,
    dir: PathBuf,
}

/// What one stretch of durable writes took.
#[derive(Clone, Copy, Default)]
struct Run {
    writes: u64,
    secs: f64,
    /// Of the whole process, kernel included.
    cpu_secs: f64,
    /// In which the thread could have run and had no core.
    waited_secs: f64,
    /// Bytes of frames, padding included.
    bytes: u64,
    allocations: u64,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, dir] = args.as_slice()
        && flag == "--measure-memory-of"
    {
        restart::print_memory(Path::new(dir));
        return ExitCode::SUCCESS;
    }
    let Some(args) = parse(args) else {
        eprintln!(
            "usage: [--quick] [--gate] [--part cycle|restart] [--batch N] [--json FILE] [--dir DIR]"
        );
        return ExitCode::from(2);
    };
    std::fs::create_dir_all(&args.dir).unwrap();
    let dir = tempfile::tempdir_in(&args.dir).unwrap();
    let mut report = Report::default();
    let wanted = |part| args.part.as_deref().is_none_or(|only| only == part);
    if wanted("cycle") {
        cycles(&args, dir.path(), &mut report);
    }
    if wanted("restart") {
        restart::measure(dir.path(), args.quick, &mut report);
    }
    report.print();
    if let Some(file) = &args.json {
        std::fs::write(file, report.json()).unwrap();
    }
    if args.gate && report.misses() > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn parse(args: Vec<String>) -> Option<Args> {
    let mut parsed = Args {
        json: None,
        quick: false,
        gate: false,
        part: None,
        batch: None,
        dir: Path::new(env!("CARGO_TARGET_TMPDIR")).join("store-bench"),
    };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => parsed.quick = true,
            "--gate" => parsed.gate = true,
            "--part" => parsed.part = Some(args.next()?),
            "--batch" => parsed.batch = Some(args.next()?.parse().ok()?),
            "--json" => parsed.json = Some(args.next()?.into()),
            "--dir" => parsed.dir = args.next()?.into(),
            // What cargo adds.
            "--bench" => {}
            _ => return None,
        }
    }
    Some(parsed)
}

/// Everything with one number in flight.
struct Side {
    bare: Bare,
    store: Cycle,
}

fn cycles(args: &Args, dir: &Path, report: &mut Report) {
    let (rounds, stretch) = if args.quick {
        (3, Duration::from_millis(60))
    } else {
        (7, Duration::from_millis(250))
    };
    eprintln!("making files, and the store's segments go round …");
    let mut plain = Plain::new(&dir.join("plain"));
    let mut sides = IN_FLIGHT.map(|in_flight| Side {
        bare: Bare::new(&dir.join(format!("bare-{in_flight}")), in_flight),
        store: Cycle::new(&dir.join(format!("store-{in_flight}")), in_flight),
    });
    report.note(&format!("driver {}", sides[0].bare.driver()));
    let wanted = |batch: &usize| args.batch.is_none_or(|only| only == *batch);
    let batches = BATCHES.into_iter().filter(wanted);
    let mut rows: Vec<_> = batches
        .map(|batch| (batch, report::Row::default()))
        .collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for (batch, row) in &mut rows {
            let batch = *batch;
            for (side, figures) in sides.iter_mut().zip(&mut row.sides) {
                // The bare loop writes what the store's frames come to.
                let frame = side.store.frame_len(batch);
                let bare = side.bare.run(frame, stretch);
                let store = side.store.run(batch, 1, bare.writes);
                figures.push((bare, store));
            }
            let frame = sides[0].store.frame_len(batch);
            row.plain.push(plain.run(frame, stretch));
        }
    }
    for (batch, row) in &rows {
        report.cycle(*batch, row);
    }
    if args.batch.is_some() {
        return;
    }
    let [_, side] = &mut sides;
    let fan_out: Vec<_> = (0..rounds)
        .map(|_| {
            let bare = side.bare.run(side.store.frame_len(256), stretch);
            let narrow = side.store.run(256, 1, bare.writes.min(400));
            let wide = side.store.run(16, 100, bare.writes.min(400));
            (narrow, wide)
        })
        .collect();
    report.fan_out(16, 100, &fan_out);
}
