//! Wills. Chapters 3.1.2.5, 3.1.3.2 and 3.14.

use std::time::{Duration, Instant};

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{
        Connect, DISCONNECT, PUBACK, ack, connect, disconnect_with, durable, hex, prop_pair,
        prop_text, prop4, publish,
    },
};

/// Someone who hears every will.
#[track_caller]
fn listener(broker: &Broker, version: Version) -> Client {
    let mut client = broker.connect(&connect(version, "listener"));
    client.subscribe("will/#", 2);
    client
}

/// A client with the will `gone` on `will/t`.
fn mortal(version: Version) -> Connect {
    connect(version, "mortal").will(publish("will/t", "gone"), &[])
}

/// [MQTT-3.1.2-8] [MQTT311-3.1.2-8]
#[test]
fn a_connection_that_breaks_publishes_its_will_once() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        broker.connect(&mortal(version)).vanish();
        listener.expect_publish(&publish("will/t", "gone"));
        listener.expect_nothing();
    }
}

/// [MQTT-3.1.2-10] [MQTT-3.14.4-3]
#[test]
fn a_normal_disconnect_drops_the_will() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        broker.connect(&mortal(version)).leave();
        listener.expect_nothing();
        if version == Version::V5 {
            for bytes in [hex("e0 01 00"), hex("e0 02 00 00")] {
                let mut client = broker.connect(&mortal(version));
                client.send(bytes);
                client.expect_closed();
                listener.expect_nothing();
            }
        }
        // The will belonged to that connection: the next one has none.
        broker.connect(&connect(version, "mortal")).vanish();
        listener.expect_nothing();
    }
}

/// Chapter 3.14.2.1: 0x04 asks for the will.
#[test]
fn a_disconnect_with_will_publishes_it() {
    let broker = Broker::start();
    let mut listener = listener(&broker, Version::V5);
    for bytes in [
        hex("e0 01 04"),
        hex("e0 02 04 00"),
        disconnect_with(0x80, &[]),
    ] {
        let mut client = broker.connect(&mortal(Version::V5));
        client.send(bytes);
        client.expect_closed();
        listener.expect_publish(&publish("will/t", "gone"));
        listener.expect_nothing();
    }
}

#[test]
fn a_protocol_error_publishes_the_will() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        let mut client = broker.connect(&mortal(version));
        client.send(mortal(version).bytes());
        client.expect_disconnect(&[0x82]);
        listener.expect_publish(&publish("will/t", "gone"));
        listener.expect_nothing();
    }
}

/// [MQTT-3.1.2-22]: silence is an end without a word.
#[test]
fn a_keep_alive_that_runs_out_publishes_the_will() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        let mut client = broker.connect(&mortal(version).keep_alive(1));
        listener.expect_publish(&publish("will/t", "gone"));
        client.expect_disconnect(&[0x8D]);
    }
}

/// [MQTT-3.1.3-9]; a take-over ends the old connection without a word of its client.
#[test]
fn a_take_over_of_a_session_that_ends_publishes_its_will() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        let mut old = broker.connect(&mortal(version));
        let mut new = broker.resume(&connect(version, "mortal"), false);
        old.expect_disconnect(&[0x8E]);
        listener.expect_publish(&publish("will/t", "gone"));
        listener.expect_nothing();
        new.expect_nothing();
    }
}

/// Table 3.1.2.5 and 3.1.3.2: QoS, RETAIN and properties of a will are those of its message.
#[test]
fn a_will_is_published_with_all_it_was_given() {
    let broker = Broker::start();
    for version in BOTH {
        for qos in 0..=2 {
            let mut listener = listener(&broker, version);
            let properties = [
                prop_text(0x03, "text/plain"),
                prop_pair("a", "1"),
                prop_pair("a", "2"),
            ]
            .concat();
            let will = publish("will/t", "gone").qos(qos, 0).retain(true);
            broker
                .connect(&connect(version, "m").will(will, &properties))
                .vanish();
            let got = listener.delivery();
            assert_eq!(
                (got.qos, got.retain, got.text().as_str()),
                (qos, false, "gone")
            );
            if version == Version::V5 {
                let mut list = got.properties;
                list.sort();
                let raw = |property: Vec<u8>| (property[0], property[1..].to_vec());
                assert_eq!(
                    list,
                    [
                        raw(prop_text(0x03, "text/plain")),
                        raw(prop_pair("a", "1")),
                        raw(prop_pair("a", "2")),
                    ]
                );
            }
            let mut late = broker.connect(&connect(version, "late"));
            late.subscribe("will/t", 0);
            let kept = late.delivery();
            assert_eq!((kept.retain, kept.text().as_str()), (true, "gone"));
            late.send(publish("will/t", "").retain(true).bytes(version));
            late.drain();
        }
    }
}

#[test]
fn a_will_with_an_empty_payload_is_a_message() {
    let broker = Broker::start();
    for version in BOTH {
        let mut listener = listener(&broker, version);
        broker
            .connect(&connect(version, "m").will(publish("will/t", ""), &[]))
            .vanish();
        listener.expect_publish(&publish("will/t", ""));
    }
}

/// [MQTT-3.1.3-9]: not before its delay is over.
#[test]
fn a_delayed_will_waits_for_its_delay() {
    let broker = Broker::start();
    let mut listener = listener(&broker, Version::V5);
    let will = publish("will/t", "gone");
    let began = Instant::now();
    broker
        .connect(
            &connect(Version::V5, "m")
                .expiry(60)
                .will(will, &prop4(0x18, 1)),
        )
        .vanish();
    listener.expect_nothing();
    listener.expect_publish(&publish("will/t", "gone"));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(950), "{waited:?}");
    assert!(waited <= Duration::from_secs(5), "{waited:?}");
}

/// [MQTT-3.1.3-9]: a connection in time, even one that goes on with the session, drops it.
#[test]
fn a_client_that_comes_back_in_time_drops_its_delayed_will() {
    let broker = Broker::start();
    let mut listener = listener(&broker, Version::V5);
    let name = connect(Version::V5, "m").clean(false).expiry(60);
    broker
        .connect(
            &name
                .clone()
                .will(publish("will/t", "gone"), &prop4(0x18, 1)),
        )
        .vanish();
    let back = broker.resume(&name, true);
    assert_eq!(listener.frame_within(Duration::from_millis(1800)), None);
    back.leave();
    listener.expect_nothing();
}

/// Chapter 3.1.3.2.2: the delay ends with the session if that ends first.
#[test]
fn a_session_that_ends_publishes_its_delayed_will() {
    let broker = Broker::start();
    let mut listener = listener(&broker, Version::V5);
    let will = |topic| connect(Version::V5, "m").will(publish(topic, "gone"), &prop4(0x18, 3600));
    broker.connect(&will("will/0")).vanish();
    listener.expect_publish(&publish("will/0", "gone"));
    broker.connect(&will("will/1").expiry(1)).vanish();
    listener.expect_publish(&publish("will/1", "gone"));
    broker.connect(&will("will/2").expiry(60)).vanish();
    listener.expect_nothing();
    broker.resume(&connect(Version::V5, "m"), false);
    listener.expect_publish(&publish("will/2", "gone"));
    listener.expect_nothing();
}

/// Claim 16: the delay goes on while the broker is down.
#[test]
fn a_delayed_will_survives_a_crash() {
    let mut broker = Broker::start();
    let audience = durable(Version::V5, "audience");
    let mut listener = broker.connect(&audience);
    listener.subscribe("will/#", 1);
    let will = publish("will/t", "gone").qos(1, 0);
    broker
        .connect(
            &connect(Version::V5, "m")
                .expiry(60)
                .will(will, &prop4(0x18, 1)),
        )
        .vanish();
    listener.expect_nothing();
    broker.crash();
    let mut listener = broker.resume(&audience, true);
    let id = listener.expect_publish(&publish("will/t", "gone").qos(1, 0));
    listener.send(ack(PUBACK, id));
    listener.leave();
    broker.settle();
    broker.crash();
    broker.resume(&audience, true).expect_nothing();
}

/// Claim 16: a crash of the broker ends every connection without a word.
#[test]
fn the_will_of_a_client_that_was_connected_at_a_crash_is_published_after_it() {
    let mut broker = Broker::start();
    for version in BOTH {
        let audience = durable(version, format!("audience {version:?}"));
        let mut listener = broker.connect(&audience);
        listener.subscribe("will/#", 1);
        listener.leave();
        let name = format!("mortal {version:?}");
        let will = publish("will/t", "gone").qos(1, 0);
        let _alive = broker.connect(&durable(version, &name).will(will, &[]));
        broker.crash();
        let mut listener = broker.resume(&audience, true);
        let id = listener.expect_publish(&publish("will/t", "gone").qos(1, 0));
        listener.send(ack(PUBACK, id));
        listener.expect_nothing();
        listener.leave();
        broker
            .connect(&connect(version, format!("audience {version:?}")))
            .leave();
    }
}

#[test]
fn a_dropped_will_stays_dropped_after_a_crash() {
    let mut broker = Broker::start();
    for version in BOTH {
        let audience = durable(version, format!("audience {version:?}"));
        let mut listener = broker.connect(&audience);
        listener.subscribe("will/#", 1);
        listener.leave();
        let mut client = broker.connect(&durable(version, "m").will(publish("will/t", "x"), &[]));
        client.send(DISCONNECT);
        client.expect_closed();
        broker.settle();
        broker.crash();
        broker.resume(&audience, true).expect_nothing();
    }
}
