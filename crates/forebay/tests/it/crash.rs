//! `kill -9` in the middle of publishing: what was acknowledged arrives, in order, QoS 2 once.
//!
//! Each round: a durable session subscribes with QoS 2 and leaves; one publisher of QoS 1 and one
//! of QoS 2 run until a number of acknowledgements, drawn from the seed, has come; the broker is
//! killed and started again; in every other round the publishers then go on with their sessions;
//! the subscriber comes back. Publishers and judges are not the project's own code.
//!
//! `FOREBAY_SEED`, `FOREBAY_CRASH_ROUNDS` and `FOREBAY_CRASH_MESSAGES` (per QoS) change a run.

mod judge;
mod paho;
mod pub_client;
mod raw;

use std::sync::mpsc::{Receiver, Sender, channel};

use judge::{Judge, Subscriber};

use crate::harness::{Broker, PATIENCE, Random, Version, random_seed, wire::connect};

const ROUNDS: u64 = 20;
const MESSAGES: u64 = 10_000;

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a decimal number"))
}

/// What was published on one topic: which numbers were acknowledged, and how many were sent.
pub(crate) struct Published {
    pub(crate) topic: String,
    pub(crate) qos: u8,
    pub(crate) sent: usize,
    pub(crate) acked: Vec<bool>,
}

/// Counts acknowledgements of all publishers and says when the moment has come.
#[derive(Clone)]
pub(crate) struct Moment {
    ticks: Sender<()>,
}

impl Moment {
    fn new() -> (Self, Receiver<()>) {
        let (ticks, ticked) = channel();
        (Self { ticks }, ticked)
    }

    /// One more acknowledgement has come.
    pub(crate) fn tick(&self) {
        // After the moment nobody listens any more.
        let _ = self.ticks.send(());
    }
}

/// Returns when `count` acknowledgements have come.
fn await_moment(ticked: &Receiver<()>, count: u64) {
    for seen in 0..count {
        let tick = ticked.recv_timeout(PATIENCE);
        assert!(tick.is_ok(), "only {seen} of {count} acknowledgements came");
    }
}

/// Runs the rounds: `publish` publishes until its broker dies or all is acknowledged.
fn rounds(
    name: &str,
    subscriber: Subscriber,
    publish: impl Fn(u64, &mut Broker, u64, u64) -> Vec<Published>,
) {
    let seed = random_seed();
    let mut random = Random::new(seed);
    let count = setting("FOREBAY_CRASH_MESSAGES", MESSAGES);
    for round in 0..setting("FOREBAY_CRASH_ROUNDS", ROUNDS) {
        let moment = random.range(count / 20 + 1, count * 2);
        let began = std::time::Instant::now();
        let mut broker = Broker::start();
        subscriber.arrive(&broker);
        let published = publish(round, &mut broker, count, moment);
        let mut last = broker.connect(&connect(Version::V311, "last"));
        last.publish2(1, "load/end", "end");
        let judge = Judge::new(subscriber.drain(&broker));
        let context = format!("FOREBAY_SEED={seed} {name} round {round} killed at {moment}");
        for one in &published {
            judge.require(one, &context);
        }
        judge::require_nothing_left(&broker, subscriber, &context);
        let acked: usize = published
            .iter()
            .map(|one| one.acked.iter().filter(|&&yes| yes).count())
            .sum();
        eprintln!(
            "{context}: {acked} acknowledged, {} arrived, {:.1?}",
            judge.arrived(),
            began.elapsed()
        );
    }
}

#[test]
fn raw_publishers_and_mosquitto_sub_lose_nothing_acknowledged() {
    rounds(
        "raw",
        Subscriber::Mosquitto,
        |round, broker, count, moment| {
            let version = if round.is_multiple_of(2) {
                Version::V311
            } else {
                Version::V5
            };
            raw::publish(broker, version, count, moment, round % 4 < 2)
        },
    );
}

#[test]
fn mosquitto_pub_and_mosquitto_sub_lose_nothing_acknowledged() {
    rounds(
        "mosquitto_pub",
        Subscriber::Mosquitto,
        |_, broker, count, moment| pub_client::publish(broker, count, moment),
    );
}

#[test]
fn paho_publishers_and_a_paho_subscriber_lose_nothing_acknowledged() {
    rounds("paho", Subscriber::Paho, |round, broker, count, moment| {
        paho::publish(broker, count, moment, round.is_multiple_of(2))
    });
}
