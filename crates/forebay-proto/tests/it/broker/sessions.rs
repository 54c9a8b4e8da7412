//! Sessions, wills, retained messages and time.

use forebay_proto::{
    Access, Anonymous, Config, Connect, Disconnect, Packet, Peer, PropertiesBuilder, Property, QoS,
    ReasonCode, Version, WillMessage,
};

use crate::bed::{Bed, durable, publish, shown, text};

fn with_will(client_id: &'static str, delay: u32, expiry: u32) -> Connect {
    let mut connect = durable(client_id);
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(expiry));
    connect.properties = properties.build();
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::WillDelayInterval(delay));
    connect.will = Some(WillMessage {
        qos: QoS::AtLeastOnce,
        retain: false,
        topic: text("will"),
        payload: b"gone".as_slice().into(),
        properties: properties.build(),
    });
    connect
}

fn watched() -> (Bed, forebay_proto::ConnectionId) {
    let mut bed = Bed::new();
    let (watcher, _) = bed.connect(durable("w"));
    bed.subscribe(watcher, "will", 0);
    bed.take(watcher);
    (bed, watcher)
}

const GONE: &str = "PUBLISH will gone q0";

#[test]
fn a_will_waits_for_its_delay_or_the_end_of_the_session() {
    for (delay, expiry, after_ms) in [(0, 100, 0), (5, 100, 5000), (50, 3, 3000), (5, 0, 0)] {
        let (mut bed, watcher) = watched();
        let (client, _) = bed.connect(with_will("c", delay, expiry));
        bed.cut(client);
        if after_ms > 0 {
            bed.advance(after_ms - 1);
            assert_eq!(shown(&bed.take(watcher)), Vec::<String>::new());
            bed.advance(1);
        }
        assert_eq!(
            shown(&bed.take(watcher)),
            [GONE],
            "delay {delay} expiry {expiry}"
        );
    }
}

#[test]
fn a_normal_disconnect_takes_the_will_away_and_0x04_keeps_it() {
    for (reason, expected) in [
        (ReasonCode::SUCCESS, vec![]),
        (ReasonCode::DISCONNECT_WITH_WILL, vec![GONE]),
    ] {
        let (mut bed, watcher) = watched();
        let (client, _) = bed.connect(with_will("c", 0, 100));
        bed.send(
            client,
            Packet::Disconnect(Disconnect {
                reason,
                ..Disconnect::default()
            }),
        );
        assert_eq!(shown(&bed.take(watcher)), expected);
        bed.crash();
        bed.advance(1000);
        let (watcher, _) = bed.connect(durable("w"));
        assert_eq!(shown(&bed.take(watcher)), Vec::<String>::new());
    }
}

#[test]
fn a_will_survives_a_crash_and_counts_its_delay_from_the_loss_of_the_connection() {
    let (mut bed, _) = watched();
    let (client, _) = bed.connect(with_will("c", 10, 100));
    bed.cut(client);
    bed.advance(4000);
    bed.crash();
    let (watcher, _) = bed.connect(durable("w"));
    bed.advance(5999);
    assert_eq!(shown(&bed.take(watcher)), Vec::<String>::new());
    bed.advance(1);
    assert_eq!(shown(&bed.take(watcher)), [GONE]);
}

#[test]
fn a_client_that_comes_back_in_time_takes_its_will_back() {
    let (mut bed, watcher) = watched();
    let (client, _) = bed.connect(with_will("c", 10, 100));
    bed.cut(client);
    bed.advance(9000);
    let mut again = with_will("c", 0, 100);
    again.will = None;
    bed.connect(again);
    bed.advance(100_000);
    assert_eq!(shown(&bed.take(watcher)), Vec::<String>::new());
}

#[test]
fn a_take_over_tells_the_old_connection_and_leaves_it_no_say() {
    let mut bed = Bed::new();
    let (old, _) = bed.connect(durable("c"));
    bed.subscribe(old, "a", 1);
    bed.take(old);
    let (new, present) = bed.connect(durable("c"));
    assert!(present);
    assert_eq!(shown(&bed.take(old)), ["DISCONNECT 0x8e"]);
    assert_eq!(bed.closed(old), Some(ReasonCode::SESSION_TAKEN_OVER));
    let (publisher, _) = bed.connect(durable("p"));
    bed.send(publisher, publish("a", "1", 1, 1));
    assert_eq!(shown(&bed.take(new)), ["PUBLISH a 1 q1 #1"]);
}

#[test]
fn a_session_without_expiry_leaves_nothing_to_the_next_one() {
    // broker case 17
    let (mut bed, watcher) = watched();
    let (old, _) = bed.connect(with_will("c", 0, 0));
    bed.subscribe(old, "a", 1);
    let (new, present) = bed.connect(durable("c"));
    assert!(!present);
    assert_eq!(shown(&bed.take(watcher)), [GONE]);
    let (publisher, _) = bed.connect(durable("p"));
    bed.send(publisher, publish("a", "1", 1, 1));
    assert_eq!(shown(&bed.take(new)), Vec::<String>::new());
    assert_eq!(shown(&bed.take(publisher)), ["PUBACK #1 0x10"]);
}

#[test]
fn a_session_ends_when_its_expiry_has_passed_also_across_a_crash() {
    for crash in [false, true] {
        let mut bed = Bed::new();
        let (client, _) = bed.connect(durable("c"));
        bed.subscribe(client, "a", 1);
        bed.cut(client);
        bed.advance(3_599_000);
        if crash {
            bed.crash();
        }
        assert_eq!(bed.broker.stats().sessions, 1);
        bed.advance(1000);
        assert_eq!(bed.broker.stats().sessions, 0, "crash: {crash}");
        assert_eq!(bed.broker.stats().subscriptions, 0);
        let (_, present) = bed.connect(durable("c"));
        assert!(!present);
    }
}

#[test]
fn retained_messages_survive_a_crash_and_an_empty_payload_clears_them() {
    let mut bed = Bed::new();
    let (publisher, _) = bed.connect(durable("p"));
    for (topic, payload) in [("r/1", "x"), ("r/2", "y"), ("r/2", "")] {
        let Packet::Publish(mut it) = publish(topic, payload, 1, 1) else {
            unreachable!()
        };
        it.retain = true;
        bed.send(publisher, Packet::Publish(it));
    }
    bed.crash();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "r/#", 1);
    let received = shown(&bed.take(subscriber));
    assert_eq!(received, ["SUBACK", "PUBLISH r/1 x q1 #1 retain"]);
}

#[test]
fn an_expired_message_is_never_sent_and_frees_its_turn() {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 1);
    bed.cut(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    for (id, expiry) in [(1, 2), (2, 60), (3, 0)] {
        let Packet::Publish(mut it) = publish("a", &id.to_string(), 1, id) else {
            unreachable!()
        };
        let mut properties = PropertiesBuilder::new();
        properties.push(Property::MessageExpiryInterval(expiry));
        it.properties = properties.build();
        bed.send(publisher, Packet::Publish(it));
    }
    bed.advance(3000);
    bed.crash();
    let (subscriber, _) = bed.connect(durable("s"));
    let received = bed.take(subscriber);
    assert_eq!(shown(&received), ["PUBLISH a 2 q1 #1"]);
    let Packet::Publish(publish) = &received[0] else {
        unreachable!()
    };
    assert_eq!(publish.properties.message_expiry_interval(), Some(57));
    bed.crash();
    let (subscriber, _) = bed.connect(durable("s"));
    assert_eq!(shown(&bed.take(subscriber)), ["PUBLISH a 2 q1 #1 dup"]);
}

#[test]
fn a_silent_client_is_closed_after_one_and_a_half_keep_alives() {
    let mut bed = Bed::new();
    let (client, _) = bed.connect(Connect {
        keep_alive_secs: 10,
        ..durable("c")
    });
    bed.advance(14_000);
    bed.send(client, Packet::PingReq);
    bed.advance(14_999);
    assert_eq!(bed.closed(client), None);
    bed.advance(1);
    assert_eq!(bed.closed(client), Some(ReasonCode::KEEP_ALIVE_TIMEOUT));
}

#[test]
fn a_connection_without_connect_is_closed_in_time() {
    let mut bed = Bed::new();
    let connection = bed.open();
    bed.advance(9_999);
    assert_eq!(bed.closed(connection), None);
    bed.advance(1);
    assert!(bed.closed(connection).is_some());
}

#[test]
fn what_follows_a_connect_before_its_connack_is_handled_after_it() {
    let mut bed = Bed::new();
    bed.auto_sync = false;
    let connection = bed.open();
    bed.send(connection, Packet::Connect(Box::new(durable("c"))));
    bed.send(connection, publish("a", "1", 1, 1));
    bed.send(connection, Packet::PingReq);
    assert_eq!(bed.take(connection), []);
    bed.sync();
    let received = shown(&bed.take(connection));
    assert_eq!(received, ["CONNACK 0x00", "PUBACK #1 0x10", "PingResp"]);
}

#[test]
fn what_follows_a_connect_is_taken_up_to_a_bound_and_the_rest_after_the_connack() {
    let mut bed = Bed::new();
    bed.limits().max_early_bytes = 1000;
    bed.crash();
    bed.auto_sync = false;
    let connection = bed.open();
    assert!(bed.broker.takes_more(connection));
    bed.send(connection, Packet::Connect(Box::new(durable("c"))));
    let mut sent = 0;
    while bed.broker.takes_more(connection) {
        sent += 1;
        bed.send(connection, publish("a", &"x".repeat(300), 1, sent));
    }
    assert_eq!(sent, 3);
    assert_eq!(bed.closed(connection), None);
    bed.sync();
    assert!(bed.broker.takes_more(connection));
    let received = shown(&bed.take(connection));
    let answers = ["PUBACK #1 0x10", "PUBACK #2 0x10", "PUBACK #3 0x10"];
    assert_eq!(received[0], "CONNACK 0x00");
    assert_eq!(received[1..], answers);

    // A driver that hands in more all the same has the connection closed.
    let connection = bed.open();
    bed.send(connection, Packet::Connect(Box::new(durable("d"))));
    for id in 1..=4 {
        bed.send(connection, publish("a", &"x".repeat(300), 1, id));
    }
    assert_eq!(bed.closed(connection), Some(ReasonCode::QUOTA_EXCEEDED));
}

#[test]
fn a_graceful_stop_tells_every_client_and_keeps_every_session() {
    let mut bed = Bed::new();
    let (client, _) = bed.connect(Connect {
        version: Version::V5,
        ..durable("c")
    });
    bed.subscribe(client, "a", 1);
    bed.take(client);
    bed.broker.handle_stop(bed.now);
    bed.sync();
    assert_eq!(shown(&bed.take(client)), ["DISCONNECT 0x8b"]);
    bed.crash();
    let (_, present) = bed.connect(durable("c"));
    assert!(present);
}

#[test]
fn an_anonymous_client_from_elsewhere_is_refused_unless_all_are_allowed() {
    for version in [Version::V3_1_1, Version::V5] {
        let connect = || Connect {
            version,
            ..durable("c")
        };
        for (anonymous, code) in [(Anonymous::Loopback, 0x87), (Anonymous::Anywhere, 0)] {
            let mut bed = Bed::with(Config {
                access: Access {
                    anonymous,
                    ..Access::default()
                },
                ..Config::default()
            });
            let connection = bed.open_from(Peer::default());
            bed.send(connection, Packet::Connect(Box::new(connect())));
            let answer = bed.take(connection);
            let [Packet::ConnAck(answer)] = answer.as_slice() else {
                panic!("{answer:?}");
            };
            assert_eq!(answer.reason.0, code);
        }
    }
}
