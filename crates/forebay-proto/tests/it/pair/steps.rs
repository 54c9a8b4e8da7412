//! One fault at every step of a script, for every version and QoS.

use forebay_proto::{Config, Limits, QoS, Version};

use super::{End, Pair};

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    CutPublisher,
    CutSubscriber,
    /// Only the client learns that the connection is gone.
    LeavePublisher,
    LeaveSubscriber,
    Crash,
    Restart,
}

const FAULTS: [Fault; 6] = [
    Fault::CutPublisher,
    Fault::CutSubscriber,
    Fault::LeavePublisher,
    Fault::LeaveSubscriber,
    Fault::Crash,
    Fault::Restart,
];
const PUBLISHER: usize = 0;
const SUBSCRIBER: usize = 1;

/// A script: who speaks what, how many messages, how wide the windows are.
#[derive(Clone, Copy, Debug)]
struct Script {
    publisher: Version,
    subscriber: Version,
    qos: QoS,
    messages: u32,
    window: u16,
    piece: usize,
    publisher_has_session: bool,
}

impl Script {
    fn begin(&self) -> Pair {
        let limits = Limits {
            max_inflight: self.window,
            receive_maximum: self.window,
            ..Limits::default()
        };
        let config = Config {
            limits,
            ..Config::default()
        };
        let mut publisher = End::new(self.publisher, "p", self.window);
        if !self.publisher_has_session {
            publisher = publisher.without_session();
        }
        let subscriber =
            End::new(self.subscriber, "s", self.window).subscribing("a", QoS::ExactlyOnce);
        let mut pair = Pair::new(config, vec![publisher, subscriber], self.piece);
        self.fill(&mut pair, 0);
        pair
    }

    fn fill(&self, pair: &mut Pair, from: u32) {
        for number in from..from + self.messages {
            pair.ends[PUBLISHER].will_publish("a", format!("{number:03}"), self.qos, None);
        }
    }

    /// Runs the script with `fault` at step `at`, then once more without, and checks it all.
    fn run(&self, fault: Option<(u64, Fault)>) -> u64 {
        let mut pair = self.begin();
        if let Some((at, fault)) = fault {
            while pair.steps < at && pair.step() {}
            match fault {
                Fault::CutPublisher => pair.cut(PUBLISHER),
                Fault::CutSubscriber => pair.cut(SUBSCRIBER),
                Fault::LeavePublisher => pair.leave(PUBLISHER),
                Fault::LeaveSubscriber => pair.leave(SUBSCRIBER),
                Fault::Crash => pair.crash(),
                Fault::Restart => pair.restart(),
            }
        }
        pair.run_to_quiet();
        self.check(&pair, self.messages, fault.is_some());
        let steps = pair.steps;
        // A place in a window or an identifier that leaked would show in the next round.
        self.fill(&mut pair, self.messages);
        pair.pass(1);
        pair.run_to_quiet();
        self.check(&pair, 2 * self.messages, fault.is_some());
        steps
    }

    fn check(&self, pair: &Pair, messages: u32, had_fault: bool) {
        let all: Vec<String> = (0..messages).map(|it| format!("{it:03}")).collect();
        for end in &pair.ends {
            assert!(end.is_idle(), "stuck");
        }
        let (acknowledged, lost) = {
            let publisher = &pair.ends[PUBLISHER];
            (&publisher.acknowledged, &publisher.lost)
        };
        assert_eq!(
            acknowledged.len() + lost.len(),
            all.len(),
            "one verdict each"
        );
        let may_be_lost = had_fault && !self.publisher_has_session;
        assert!(lost.is_empty() || may_be_lost);
        let mut seen = Vec::new();
        for message in &pair.ends[SUBSCRIBER].received {
            assert_eq!(message.qos, self.qos);
            if !seen.contains(&message.payload) {
                seen.push(message.payload.clone());
            } else if self.qos == QoS::ExactlyOnce || !had_fault {
                panic!("{} came twice", message.payload);
            }
        }
        assert!(seen.is_sorted(), "out of order: {seen:?}");
        for message in &all {
            let missing = !seen.contains(message) && !lost.contains(message);
            assert!(!missing, "{message} was acknowledged and is lost");
        }
        assert_eq!(pair.bed.stored_messages(), 0, "left on disk");
        assert_eq!(pair.bed.broker.stats().queued, 0, "left in the machine");
    }
}

/// Every fault at every step.
fn at_every_step(script: Script) {
    let steps = script.run(None);
    assert!(steps > 20, "a script worth cutting");
    for at in 0..steps {
        for fault in FAULTS {
            let run = || script.run(Some((at, fault)));
            let end = std::panic::catch_unwind(run);
            if let Err(panic) = end {
                println!("{script:?} with {fault:?} at step {at} of {steps}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

fn all_versions(qos: QoS, messages: u32, window: u16, piece: usize) {
    for (publisher, subscriber) in [
        (Version::V5, Version::V5),
        (Version::V3_1_1, Version::V3_1_1),
        (Version::V5, Version::V3_1_1),
    ] {
        at_every_step(Script {
            publisher,
            subscriber,
            qos,
            messages,
            window,
            piece,
            publisher_has_session: true,
        });
    }
}

#[test]
fn a_fault_at_any_step_loses_and_reorders_nothing_of_qos_1() {
    all_versions(QoS::AtLeastOnce, 5, 2, 8);
    all_versions(QoS::AtLeastOnce, 6, 100, 1000);
}

#[test]
fn a_fault_at_any_step_loses_reorders_and_doubles_nothing_of_qos_2() {
    all_versions(QoS::ExactlyOnce, 5, 2, 8);
    all_versions(QoS::ExactlyOnce, 6, 100, 1000);
}

#[test]
fn a_fault_between_any_two_bytes_is_survived() {
    for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
        at_every_step(Script {
            publisher: Version::V5,
            subscriber: Version::V5,
            qos,
            messages: 2,
            window: 1,
            piece: 1,
            publisher_has_session: true,
        });
    }
}

#[test]
fn a_publisher_without_a_session_hears_of_each_message_what_became_of_it() {
    for publisher in [Version::V5, Version::V3_1_1] {
        for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
            at_every_step(Script {
                publisher,
                subscriber: Version::V5,
                qos,
                messages: 5,
                window: 2,
                piece: 4,
                publisher_has_session: false,
            });
        }
    }
}
