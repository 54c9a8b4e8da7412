//! The subscriber's side, and the verdict.

use std::{collections::HashMap, process::Command, time::Duration};

use super::Published;
use crate::harness::{
    Broker, Delivery, Lines, Version, end_by_term, venv_python,
    wire::{PUBREL, durable},
};

/// Which program receives.
#[derive(Clone, Copy)]
pub(super) enum Subscriber {
    /// `mosquitto_sub`, MQTT 3.1.1.
    Mosquitto,
    /// paho-python, MQTT 5.
    Paho,
}

impl Subscriber {
    fn command(self, broker: &Broker, what: &str) -> Command {
        let port = broker.port();
        match self {
            Self::Mosquitto => {
                let mut command = Command::new("mosquitto_sub");
                command.args(["-h", "127.0.0.1", "-p", &port, "-V", "mqttv311"]);
                command.args(["-c", "-q", "2", "-i", "s1", "-t", "load/#"]);
                command.args(if what == "arrive" {
                    &["-E"][..]
                } else {
                    &["-F", "%t %p"]
                });
                command
            }
            Self::Paho => {
                let mut command = venv_python("subscriber.py");
                command.args([&port, "s1", "load/#", what]);
                command
            }
        }
    }

    /// Makes the session, with its subscription, and leaves.
    #[track_caller]
    pub(super) fn arrive(self, broker: &Broker) {
        let (status, stderr) = Lines::start(&mut self.command(broker, "arrive")).outcome();
        assert!(status.success(), "{status}: {stderr}");
    }

    /// Comes back and returns topic and number of all that waited, as it came.
    #[track_caller]
    pub(super) fn drain(self, broker: &Broker) -> Vec<(String, usize)> {
        let mut process = Lines::start(&mut self.command(broker, "drain"));
        let mut came = Vec::new();
        loop {
            let Some(line) = process.line() else {
                let (status, stderr) = process.outcome();
                panic!(
                    "the subscriber ended after {} messages, {status}: {stderr}",
                    came.len()
                );
            };
            let (topic, payload) = line.split_once(' ').expect("topic and payload");
            if topic == "load/end" {
                break;
            }
            let digits: String = payload.chars().take_while(char::is_ascii_digit).collect();
            came.push((topic.to_owned(), digits.parse().expect("a number")));
        }
        if matches!(self, Self::Mosquitto) {
            end_by_term(process.id());
        }
        process.wait();
        came
    }
}

/// What arrived, by topic.
pub(super) struct Judge {
    came: HashMap<String, Vec<usize>>,
}

impl Judge {
    pub(super) fn new(list: Vec<(String, usize)>) -> Self {
        let mut came: HashMap<String, Vec<usize>> = HashMap::new();
        for (topic, number) in list {
            came.entry(topic).or_default().push(number);
        }
        Self { came }
    }

    /// How many messages arrived.
    pub(super) fn arrived(&self) -> usize {
        self.came.values().map(Vec::len).sum()
    }

    /// Requires that everything acknowledged arrived, in the order of its first coming, QoS 2
    /// once, and nothing that was never sent.
    #[track_caller]
    pub(super) fn require(&self, published: &Published, context: &str) {
        let topic = &published.topic;
        let nothing = Vec::new();
        let came = self.came.get(topic).unwrap_or(&nothing);
        let mut seen = vec![0_u32; published.acked.len()];
        let mut newest = None;
        for &number in came {
            assert!(
                number < published.sent,
                "{context}: {topic} {number} was never sent"
            );
            seen[number] += 1;
            if seen[number] == 1 {
                let in_order = newest.is_none_or(|before| before < number);
                assert!(
                    in_order,
                    "{context}: {topic} {number} came after {newest:?}"
                );
                newest = Some(number);
            }
        }
        let lost: Vec<usize> = published
            .acked
            .iter()
            .zip(&seen)
            .enumerate()
            .filter(|(_, (acked, seen))| **acked && **seen == 0)
            .map(|(number, _)| number)
            .collect();
        let first = lost.iter().take(10).collect::<Vec<_>>();
        assert!(
            lost.is_empty(),
            "{context}: {topic} lost {}: {first:?}…",
            lost.len()
        );
        if published.qos == 2 {
            let doubled: Vec<usize> = (0..seen.len()).filter(|&number| seen[number] > 1).collect();
            assert!(doubled.is_empty(), "{context}: {topic} doubled {doubled:?}");
        }
    }
}

/// Requires that the session of the subscriber has no message left. A PUBREL may be: a program
/// that ends on the last message may have kept its PUBCOMP.
#[track_caller]
pub(super) fn require_nothing_left(broker: &Broker, subscriber: Subscriber, context: &str) {
    let version = match subscriber {
        Subscriber::Mosquitto => Version::V311,
        Subscriber::Paho => Version::V5,
    };
    let mut client = broker.resume(&durable(version, "s1"), true);
    while let Some(frame) = client.frame_within(Duration::from_millis(200)) {
        let left = Delivery::read(&frame, version);
        assert!(frame[0] == PUBREL, "{context}: left behind: {left:?}");
    }
}
