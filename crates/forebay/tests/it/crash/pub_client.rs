//! `mosquitto_pub`, judged by the acknowledgements that its debug output names.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{Moment, Published, await_moment};
use crate::harness::{Broker, Lines};

/// Publishes `count` messages of each QoS with `mosquitto_pub -l`, kills the broker after `moment`
/// acknowledgements, then the publishers, and starts the broker again.
pub(super) fn publish(broker: &mut Broker, count: u64, moment: u64) -> Vec<Published> {
    let (ticker, ticked) = Moment::new();
    let port = broker.port();
    let mut publishers = [1_u8, 2].map(|qos| {
        let mut command = Command::new("stdbuf");
        command.args([
            "-oL",
            "mosquitto_pub",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-d",
            "-l",
        ]);
        command.args(["-i", &format!("p{qos}"), "-q", &qos.to_string()]);
        command
            .args(["-t", &format!("load/{qos}")])
            .stdin(Stdio::piped());
        (qos, Lines::start(&mut command))
    });
    std::thread::scope(|scope| {
        let mut ids = Vec::new();
        let mut readers = Vec::new();
        for (qos, process) in &mut publishers {
            ids.push(process.id());
            let mut input = process.take_stdin();
            scope.spawn(move || {
                for number in 0..count {
                    // The publisher is killed before it has read everything.
                    if writeln!(input, "{number:06}{}", "x".repeat(94)).is_err() {
                        break;
                    }
                }
            });
            let ticker = ticker.clone();
            readers.push(scope.spawn(move || read(process, *qos, count as usize, &ticker)));
        }
        await_moment(&ticked, moment);
        broker.kill();
        for id in ids {
            crate::harness::end_by_term(id);
        }
        let published = readers
            .into_iter()
            .map(|reader| reader.join().expect("a reader"))
            .collect();
        broker.run();
        published
    })
}

/// Reads until the publisher ends. Its packet identifiers count its lines from 1.
fn read(process: &mut Lines, qos: u8, count: usize, ticker: &Moment) -> Published {
    let mut published = Published {
        topic: format!("load/{qos}"),
        qos,
        sent: 0,
        acked: vec![false; count],
    };
    let last = if qos == 1 {
        "received PUBACK"
    } else {
        "received PUBCOMP"
    };
    while let Some(line) = process.line() {
        let number = |before: &str| -> Option<usize> {
            let digits = line.split_once(before)?.1;
            digits
                .split(|letter: char| !letter.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        };
        if line.contains("sending PUBLISH (") {
            published.sent = published
                .sent
                .max(number(", m").expect("a packet identifier"));
        } else if line.contains(last) {
            let id = number("(Mid: ").expect("a packet identifier");
            published.acked[id - 1] = true;
            ticker.tick();
        }
    }
    published
}
