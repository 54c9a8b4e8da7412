//! Who goes on with a session: take-over, clean start, another version, a stop. Chapter 3.1.4.

use super::{away, drain1, fill, forget};
use crate::harness::{
    BOTH, Broker, Version,
    wire::{PUBACK, ack, connect, durable, publish},
};

// broker case 14
#[test]
fn a_clean_start_with_expiry_makes_a_session_that_is_resumed() {
    let mut broker = Broker::start();
    for crash in [false, true] {
        let first = connect(Version::V5, "c").expiry(300);
        let again = first.clone().clean(false);
        let mut client = broker.resume(&first, false);
        client.subscribe("t", 1);
        client.leave();
        fill(&broker, Version::V5, 1, 1, 5);
        if crash {
            broker.crash();
        }
        let mut client = broker.resume(&again, true);
        drain1(&mut client, 1, 5);
        fill(&broker, Version::V5, 1, 6, 6);
        drain1(&mut client, 6, 6);
        client.leave();
        forget(&broker, Version::V5, "c");
    }
}

// broker case 17
#[test]
fn a_take_over_of_a_session_without_expiry_inherits_nothing() {
    let broker = Broker::start();
    for version in BOTH {
        let mut audience = broker.connect(&connect(version, "audience"));
        audience.subscribe("will", 0);
        let name = connect(version, "c");
        let mut old = broker.connect(&name.clone().will(publish("will", "gone"), &[]));
        old.subscribe("t", 1);
        let next = if version == Version::V5 {
            name.clean(false)
        } else {
            name
        };
        let mut new = broker.resume(&next, false);
        old.expect_disconnect(&[0x8E]);
        audience.expect_publish(&publish("will", "gone"));
        new.publish1(1, "t", "m");
        new.expect_nothing();
    }
}

/// [MQTT-3.1.4-3] [MQTT311-3.1.4-2]; and claim 3: the old connection can touch nothing any more.
#[test]
fn a_take_over_ends_the_old_connection_and_goes_on_with_the_session() {
    let broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        let mut old = broker.resume(&name, false);
        old.subscribe("t", 1);
        fill(&broker, version, 1, 1, 2);
        let one = old.expect_publish(&publish("t", "1").qos(1, 0));
        let two = old.expect_publish(&publish("t", "2").qos(1, 0));
        let mut new = broker.resume(&name, true);
        old.send_anyway(ack(PUBACK, one));
        old.expect_disconnect(&[0x8E]);
        assert_eq!(
            new.expect_publish(&publish("t", "1").qos(1, 0).dup(true)),
            one
        );
        assert_eq!(
            new.expect_publish(&publish("t", "2").qos(1, 0).dup(true)),
            two
        );
        fill(&broker, version, 1, 3, 3);
        let three = new.expect_publish(&publish("t", "3").qos(1, 0));
        for id in [one, two, three] {
            new.send(ack(PUBACK, id));
        }
        new.expect_nothing();
        new.leave();
        broker.resume(&name, true).leave();
        forget(&broker, version, "c");
    }
}

/// [MQTT-3.1.2-4] [MQTT311-3.1.2-6]
#[test]
fn a_clean_start_forgets_the_session_also_across_a_crash() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 1);
        fill(&broker, version, 1, 1, 3);
        broker.resume(&name.clone().clean(true), false).leave();
        broker.settle();
        broker.crash();
        let present = version == Version::V5;
        let mut client = broker.resume(&name, present);
        client.publish1(1, "t", "m");
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "c");
    }
}

/// The versions share their sessions: what one made the other resumes.
#[test]
fn a_session_of_one_version_is_resumed_by_the_other() {
    let mut broker = Broker::start();
    for (first, second) in [(Version::V311, Version::V5), (Version::V5, Version::V311)] {
        away(&broker, &durable(first, "c"), 1);
        fill(&broker, first, 1, 1, 2);
        broker.crash();
        let mut client = broker.resume(&durable(second, "c"), true);
        drain1(&mut client, 1, 2);
        client.expect_nothing();
        client.leave();
        forget(&broker, second, "c");
    }
}

/// Claim 29: nothing acknowledged is lost, and MQTT 5 clients hear why.
#[test]
fn a_graceful_stop_says_so_to_every_client() {
    let mut broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    let status = broker.stop();
    assert!(status.success(), "{status}");
    old.expect_disconnect(&[0x8B]);
    new.expect_disconnect(&[0x8B]);
}
