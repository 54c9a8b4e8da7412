//! Proof from the system calls: no acknowledgement is written before its record is on disk.
//!
//! The broker runs under `strace` with a driver whose writes can be traced (io_uring's can't).
//! A record is on disk when the call that made it so has returned: `pwritev2` with `RWF_DSYNC`,
//! or an `fdatasync` or `fsync` of the same file that began after the write had returned.
//! `strace` stops a thread at the entry and at the exit of each call, so the order of its lines
//! is an order that happened.

mod trace;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use trace::{Judge, Trace};

use crate::harness::{
    Broker, Client, Lines, Version, end_by_term, peer_is_foreign, wait_until,
    wire::{PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, publish},
};

/// How many messages of each QoS.
const MESSAGES: u16 = 1000;
/// How many at once.
const WINDOW: u16 = 50;
/// From here on one at a time, so that only its own record can be between a PUBREL and PUBCOMP.
const ONE_BY_ONE: u16 = 501;

/// A broker under `strace`. Killed, by its own id, when dropped.
struct Traced {
    broker: Broker,
    id: u32,
    file: PathBuf,
}

impl Traced {
    fn start(driver: &str) -> Self {
        let mut broker = Broker::start();
        broker.kill();
        let file = broker.home().join("strace.out");
        let inner = Broker::command(&broker.data_dir());
        let mut command = Command::new("strace");
        command
            .args(["-f", "-yy", "-xx", "-s", "16777216", "-o"])
            .arg(&file);
        command
            .arg("-e")
            .arg(format!("trace={}", trace::CALLS))
            .arg("--");
        command
            .arg(inner.get_program())
            .args(inner.get_args())
            .args(["--disk-driver", driver]);
        let process = Lines::start(&mut command);
        let tracer = process.id();
        let id = wait_until("strace to start the broker", || child_of(tracer));
        broker.adopt(process);
        Self { broker, id, file }
    }

    fn stop(mut self) -> Vec<u8> {
        end_by_term(self.id);
        let status = self.broker.ended();
        assert!(status.success(), "{status}");
        self.id = 0;
        fs::read(&self.file).expect("the trace")
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if self.id != 0 {
            let kill = format!("kill -KILL {}", self.id);
            let _ = Command::new("sh").args(["-c", &kill]).status();
        }
    }
}

/// The first child of a process, once it runs our binary.
fn child_of(id: u32) -> Option<u32> {
    let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let child: u32 = list.split_whitespace().next()?.parse().ok()?;
    let program = fs::read_link(format!("/proc/{child}/exe")).ok()?;
    (program == Path::new(env!("CARGO_BIN_EXE_forebay"))).then_some(child)
}

fn marker(qos: u8, number: u16) -> String {
    format!("<marker-{qos}-{number:05}>")
}

// broker case 24
#[test]
fn no_acknowledgement_is_written_before_a_plain_write_and_its_fdatasync() {
    every_acknowledgement_comes_after_its_record("fdatasync");
}

// broker case 24
#[test]
fn no_acknowledgement_is_written_before_its_synchronous_write() {
    every_acknowledgement_comes_after_its_record("pwritev2");
}

fn every_acknowledgement_comes_after_its_record(driver: &str) {
    if peer_is_foreign() {
        return;
    }
    let traced = Traced::start(driver);
    let mut subscriber = traced.broker.connect(&durable(Version::V5, "s"));
    subscriber.subscribe("t", 2);
    subscriber.leave();
    let mut one = traced.broker.connect(&connect(Version::V5, "p1"));
    for first in (1..=MESSAGES).step_by(usize::from(WINDOW)) {
        publish_all(&mut one, 1, first, first + WINDOW - 1);
    }
    let mut two = traced.broker.connect(&connect(Version::V311, "p2"));
    for first in (1..ONE_BY_ONE).step_by(usize::from(WINDOW)) {
        publish_all(&mut two, 2, first, first + WINDOW - 1);
    }
    for number in ONE_BY_ONE..=MESSAGES {
        publish_all(&mut two, 2, number, number);
    }
    let (port_one, port_two) = (one.port(), two.port());
    let text = traced.stop();

    let trace = Trace::parse(&text);
    let judge = Judge::new(&trace);
    for number in 1..=MESSAGES {
        let record = marker(1, number);
        judge.require_written_after(port_one, PUBACK, number, record.as_bytes());
        let record = marker(2, number);
        judge.require_written_after(port_two, PUBREC, number, record.as_bytes());
        judge.require_record_between(port_two, PUBREL, PUBCOMP, number);
    }
    eprintln!(
        "{driver}: {} calls, {} durable writes, 3 × {MESSAGES} acknowledgements after theirs",
        trace.calls(),
        judge.durable_writes()
    );
}

/// Publishes the numbers `first..=last` at once and completes them.
fn publish_all(client: &mut Client, qos: u8, first: u16, last: u16) {
    let version = if qos == 1 { Version::V5 } else { Version::V311 };
    let mut bytes = Vec::new();
    for number in first..=last {
        bytes.extend(
            publish("t", marker(qos, number))
                .qos(qos, number)
                .bytes(version),
        );
    }
    client.send(bytes);
    for number in first..=last {
        client.expect(ack(if qos == 1 { PUBACK } else { PUBREC }, number));
    }
    if qos == 2 {
        client.send(
            (first..=last)
                .flat_map(|number| ack(PUBREL, number))
                .collect::<Vec<u8>>(),
        );
        for number in first..=last {
            client.expect(ack(PUBCOMP, number));
        }
    }
}
