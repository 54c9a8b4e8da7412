//! Messages and sessions that end with time. Chapters 3.1.2.11.2, 3.3.2.3.3, 3.14.2.2.2.

use std::time::{Duration, Instant};

use crate::harness::{
    Broker, Client, Delivery, Version, wait_until,
    wire::{
        PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, disconnect_with, durable, prop2, prop4,
        publish, suback, subscribe,
    },
};

/// The Message Expiry Interval of the PUBLISH that comes next.
#[track_caller]
fn expiry_of_next(client: &mut Client) -> Option<u32> {
    expiry_of(&client.delivery())
}

/// The Message Expiry Interval of a PUBLISH.
fn expiry_of(delivery: &Delivery) -> Option<u32> {
    let (_, raw) = delivery.properties.iter().find(|(id, _)| *id == 0x02)?;
    Some(u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]))
}

/// Returns when `span` is over since `began`; what is tested is that much time itself.
fn until(began: Instant, span: Duration) {
    wait_until("time to pass", || (began.elapsed() >= span).then_some(()));
}

/// [MQTT-3.3.2-6]: the interval is what was received less what was waited.
#[test]
fn the_expiry_of_a_message_is_counted_down_by_the_time_it_waited() {
    let mut broker = Broker::start();
    let name = durable(Version::V5, "c");
    let mut client = broker.connect(&name);
    client.subscribe("t", 1);
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let message = publish("t", "m").qos(1, 1).property(prop4(0x02, 100));
    publisher.send(message.bytes(Version::V5));
    publisher.expect(ack(PUBACK, 1));
    let got = client.delivery();
    let left = expiry_of(&got).expect("an expiry");
    assert!((99..=100).contains(&left), "{left}");
    client.send(ack(PUBACK, got.id));
    client.leave();
    let began = Instant::now();
    publisher.send(message.bytes(Version::V5));
    publisher.expect(ack(PUBACK, 1));
    until(began, Duration::from_millis(1500));
    broker.crash();
    let mut client = broker.resume(&name, true);
    let left = expiry_of_next(&mut client).expect("an expiry");
    let waited = began.elapsed().as_secs() as u32;
    assert!(
        left <= 99 && left + waited + 2 >= 100,
        "{left} left after {waited} s"
    );
}

/// [MQTT-3.3.2-5]
#[test]
fn a_message_whose_time_is_up_is_not_delivered_and_the_next_is() {
    let mut broker = Broker::start();
    for crash in [false, true] {
        let name = durable(Version::V5, "c");
        let mut client = broker.connect(&name);
        client.subscribe("t", 1);
        client.leave();
        let mut publisher = broker.connect(&connect(Version::V5, "p"));
        for (payload, expiry) in [("short", 1), ("long", 300), ("zero", 0)] {
            let message = publish("t", payload)
                .qos(1, 1)
                .property(prop4(0x02, expiry));
            publisher.send(message.bytes(Version::V5));
            publisher.expect(ack(PUBACK, 1));
        }
        publisher.publish1(1, "t", "ever");
        let began = Instant::now();
        until(began, Duration::from_millis(1100));
        if crash {
            broker.crash();
        }
        let mut client = broker.resume(&name, true);
        let long = client.delivery();
        assert_eq!(long.text(), "long");
        client.send(ack(PUBACK, long.id));
        let id = client.expect_publish(&publish("t", "ever").qos(1, 0));
        client.send(ack(PUBACK, id));
        client.expect_nothing();
        client.leave();
        broker.connect(&connect(Version::V5, "c")).leave();
    }
}

/// An expiry of 0 is valid: whoever is there at once may get it, nobody later.
#[test]
fn an_expiry_of_zero_is_no_error() {
    let broker = Broker::start();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let message = publish("t", "m").qos(1, 1).property(prop4(0x02, 0));
    publisher.send(message.bytes(Version::V5));
    publisher.expect_ack(PUBACK, 1);
    publisher.expect_nothing();
}

/// Claim 8: a slot that an expired message leaves is refilled; claim 9: it is freed by time, not
/// by an acknowledgement.
#[test]
fn expired_messages_behind_a_full_window_are_stepped_over() {
    let broker = Broker::start();
    let name = durable(Version::V5, "c").property(prop2(0x21, 1));
    let mut client = broker.connect(&name);
    client.subscribe("t", 1);
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    publisher.publish1(1, "t", "first");
    let first = client.expect_publish(&publish("t", "first").qos(1, 0));
    for number in 0..5 {
        let short = publish("t", number.to_string())
            .qos(1, 2)
            .property(prop4(0x02, 1));
        publisher.send(short.bytes(Version::V5));
        publisher.expect(ack(PUBACK, 2));
    }
    publisher.publish1(3, "t", "last");
    until(Instant::now(), Duration::from_millis(1100));
    client.send(ack(PUBACK, first));
    let last = client.expect_publish(&publish("t", "last").qos(1, 0));
    client.send(ack(PUBACK, last));
    client.expect_nothing();
}

// broker case 12
#[test]
fn a_retained_message_is_counted_down_and_ends() {
    let mut broker = Broker::start();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let began = Instant::now();
    for (id, topic, expiry) in [(1, "r/long", 120), (2, "r/short", 1)] {
        let message = publish(topic, "m")
            .retain(true)
            .qos(1, id)
            .property(prop4(0x02, expiry));
        publisher.send(message.bytes(Version::V5));
        publisher.expect_ack(PUBACK, id);
    }
    until(began, Duration::from_millis(3050));
    for crash in [false, true] {
        if crash {
            broker.crash();
        }
        let mut client = broker.connect(&connect(Version::V5, "c"));
        client.subscribe("r/#", 0);
        let left = expiry_of_next(&mut client).expect("an expiry");
        assert!((100..=117).contains(&left), "{left}");
        client.expect_nothing();
    }
}

// broker case 12
#[test]
fn a_message_past_pubrec_is_completed_even_if_its_time_is_up() {
    let mut broker = Broker::start();
    for crash in [false, true] {
        let name = durable(Version::V5, "c");
        let mut client = broker.connect(&name);
        client.subscribe("t", 2);
        let mut publisher = broker.connect(&connect(Version::V5, "p"));
        let message = publish("t", "m").qos(2, 1).property(prop4(0x02, 1));
        let began = Instant::now();
        publisher.send(message.bytes(Version::V5));
        publisher.expect(ack(PUBREC, 1));
        publisher.send(ack(PUBREL, 1));
        publisher.expect(ack(PUBCOMP, 1));
        let id = client.delivery().id;
        client.send(ack(PUBREC, id));
        client.expect(ack(PUBREL, id));
        client.vanish();
        until(began, Duration::from_millis(1500));
        if crash {
            broker.crash();
        }
        let mut client = broker.resume(&name, true);
        client.expect(ack(PUBREL, id));
        client.send(ack(PUBCOMP, id));
        client.expect_nothing();
        client.leave();
        broker.connect(&connect(Version::V5, "c")).leave();
    }
}

/// [MQTT-3.1.2-23]: a session ends when its interval is over, also if the broker was away.
#[test]
fn a_session_ends_when_its_expiry_is_over() {
    let mut broker = Broker::start();
    for crash in [false, true] {
        let name = connect(Version::V5, "c").clean(false).expiry(1);
        let mut client = broker.resume(&name, false);
        client.subscribe("t", 1);
        client.leave();
        if crash {
            broker.settle();
            broker.crash();
        } else {
            broker.resume(&name, true).leave();
        }
        until(Instant::now(), Duration::from_millis(2100));
        let mut client = broker.resume(&name, false);
        client.publish1(1, "t", "m");
        client.expect_nothing();
        client.leave();
        broker.connect(&connect(Version::V5, "c")).leave();
    }
}

/// 0xFFFFFFFF never ends; and 3.1.1 has no interval.
#[test]
fn sessions_without_an_end_outlive_others() {
    let broker = Broker::start();
    let ever = connect(Version::V5, "ever").clean(false).expiry(u32::MAX);
    let old = durable(Version::V311, "old");
    broker.resume(&ever, false).leave();
    broker.resume(&old, false).leave();
    until(Instant::now(), Duration::from_millis(1100));
    broker.resume(&ever, true).leave();
    broker.resume(&old, true).leave();
}

/// Chapter 3.14.2.2.2
#[test]
fn a_disconnect_may_change_the_expiry_of_its_session() {
    let broker = Broker::start();
    let hour = connect(Version::V5, "c").clean(false).expiry(3600);
    let mut client = broker.resume(&hour, false);
    client.send(disconnect_with(0, &prop4(0x11, 0)));
    client.expect_closed();
    broker.resume(&hour, false).leave();
    let second = connect(Version::V5, "d").clean(false).expiry(1);
    let mut client = broker.resume(&second, false);
    client.send(disconnect_with(0, &prop4(0x11, 3600)));
    client.expect_closed();
    until(Instant::now(), Duration::from_millis(2100));
    broker.resume(&second, true).leave();
}

/// Chapter 3.14.2.2.2: 0 → non-zero is a protocol error, and the session ends all the same.
#[test]
fn a_disconnect_can_not_give_an_expiry_to_a_session_that_had_none() {
    let broker = Broker::start();
    let plain = connect(Version::V5, "c").clean(false);
    let mut client = broker.resume(&plain, false);
    client.send(disconnect_with(0, &prop4(0x11, 3600)));
    client.expect_disconnect(&[0x82]);
    broker.resume(&plain, false).leave();
}

/// The expiry that counts is that of the newest connection.
#[test]
fn the_expiry_of_the_newest_connect_counts() {
    let broker = Broker::start();
    broker
        .resume(&connect(Version::V5, "c").clean(false).expiry(3600), false)
        .leave();
    broker
        .resume(&connect(Version::V5, "c").clean(false), true)
        .leave();
    broker
        .resume(&connect(Version::V5, "c").clean(false), false)
        .leave();
}

#[test]
fn a_message_without_expiry_gets_none() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c"));
    client.send(subscribe(Version::V5, 1, &[("t", 0)]));
    client.expect(suback(Version::V5, 1, &[0]));
    client.send(publish("t", "m").bytes(Version::V5));
    assert_eq!(expiry_of_next(&mut client), None);
}
