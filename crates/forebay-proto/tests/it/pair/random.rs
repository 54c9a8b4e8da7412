//! Several clients, many faults, any order of events. `FOREBAY_SEED` replays one run.

use forebay_proto::{Config, Limits, QoS, Version};

use super::{End, Pair, Step};
use crate::random::{Random, seeds};

const MESSAGES: usize = 30;
const NAMES: [&str; 4] = ["p", "q", "s", "t"];
const TOPICS: [&str; 4] = ["t/p", "t/q", "t/s", "t/t"];

/// Two that publish, one that subscribes, one that does both.
fn begin(random: &mut Random) -> Pair {
    let mut windows = || random.below(5) as u16 + 1;
    let limits = Limits {
        max_inflight: windows(),
        receive_maximum: windows(),
        ..Limits::default()
    };
    let config = Config {
        limits,
        ..Config::default()
    };
    let mut ends = Vec::new();
    for (at, name) in NAMES.into_iter().enumerate() {
        let version = random.one_of(&[Version::V5, Version::V5, Version::V3_1_1]);
        let keep_alive_secs = random.one_of(&[0, 0, 2]);
        let window = random.below(5) as u16 + 1;
        let mut end = End::new(version, name, window).with_keep_alive(keep_alive_secs);
        if at >= 2 {
            let qos = random.one_of(&[QoS::AtLeastOnce, QoS::ExactlyOnce]);
            end = end.subscribing("t/+", qos);
        }
        if at != 2 {
            for number in 0..MESSAGES {
                let qos = random.one_of(&[QoS::AtLeastOnce, QoS::ExactlyOnce]);
                let expiry = random.once_in(5).then(|| random.below(4) as u32);
                end.will_publish(TOPICS[at], format!("{name} {number:02}"), qos, expiry);
            }
        }
        ends.push(end);
    }
    let piece = random.one_of(&[1, 5, 20, 1000]);
    Pair::new(config, ends, piece)
}

fn play(pair: &mut Pair, random: &mut Random) {
    // How unlikely each kind of fault is in this run.
    let (cut, crash) = (random.one_of(&[30, 100, 400]), random.one_of(&[200, 1000]));
    let lazy_disk = random.one_of(&[1, 3, 20]);
    for _ in 0..3000 {
        let end = random.below(NAMES.len());
        if random.once_in(cut) {
            match random.below(3) {
                0 => pair.cut(end),
                1 => pair.leave(end),
                _ => pair.disconnect(end),
            }
        } else if random.once_in(crash) {
            let limits = pair.bed.limits();
            limits.max_inflight = random.below(5) as u16 + 1;
            limits.receive_maximum = random.below(5) as u16 + 1;
            if random.once_in(3) {
                pair.restart();
            } else {
                pair.crash();
            }
        } else if random.once_in(40) {
            pair.pass(random.below(1500) as u64);
        } else {
            let mut steps = pair.possible();
            if !random.once_in(lazy_disk) {
                steps.retain(|it| *it != Step::Disk);
            }
            if !steps.is_empty() {
                pair.take(random.one_of(&steps));
            }
        }
    }
}

fn check(pair: &Pair) {
    for end in &pair.ends {
        assert!(end.is_idle(), "stuck");
        assert_eq!(end.acknowledged.len(), end.published.len());
    }
    assert_eq!(pair.bed.stored_messages(), 0, "left on disk");
    assert_eq!(pair.bed.broker.stats().queued, 0, "left in the machine");
    for subscriber in &pair.ends {
        let Some(granted) = subscriber.subscribed_qos() else {
            continue;
        };
        for publisher in &pair.ends {
            for wanted in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
                let mut seen = Vec::new();
                // A QoS 1 message that is sent again lives anew, and its first copy may have
                // expired while the next message went on.
                let mut order = Vec::new();
                for message in &subscriber.received {
                    let Some((qos, expires)) = publisher.published.get(&message.payload) else {
                        continue;
                    };
                    if *qos != wanted {
                        continue;
                    }
                    assert_eq!(message.qos, wanted.min(granted));
                    if !seen.contains(&&message.payload) {
                        seen.push(&message.payload);
                        if !expires || wanted == QoS::ExactlyOnce {
                            order.push(&message.payload);
                        }
                    } else if message.qos == QoS::ExactlyOnce {
                        panic!("{} came twice", message.payload);
                    }
                }
                assert!(order.is_sorted(), "out of order: {order:?}");
                for (payload, (qos, expires)) in &publisher.published {
                    let lost = *qos == wanted && !expires && !seen.contains(&payload);
                    assert!(!lost, "{payload} was acknowledged and is lost");
                }
            }
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut pair = begin(&mut random);
    play(&mut pair, &mut random);
    pair.run_to_quiet();
    check(&pair);
}

#[test]
fn many_faults_in_any_order_lose_reorder_and_double_nothing() {
    seeds(60, run);
}
