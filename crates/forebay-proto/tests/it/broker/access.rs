//! Who may do what, at every door of the machine, and while clients are connected.

use std::sync::Arc;

use forebay_proto::{
    Access, Acl, Anonymous, Config, Connect, ConnectionId, Login, Packet, Peer, Properties,
    Publish, QoS, ReasonCode, RefusedPublish, SubAck, SubscriptionOptions, Version, WillMessage,
};

use crate::bed::{Bed, ack, durable, publish, shown, text};

fn rules(list: &str) -> Access {
    Access {
        anonymous: Anonymous::Loopback,
        acl: Some(Arc::new(Acl::parse(list.as_bytes()).unwrap())),
        ..Access::default()
    }
}

fn bed(access: Access) -> Bed {
    Bed::with(Config {
        access,
        ..Config::default()
    })
}

fn old(client_id: &'static str) -> Connect {
    Connect {
        version: Version::V3_1_1,
        properties: Properties::EMPTY,
        ..durable(client_id)
    }
}

fn retained(topic: &'static str, payload: &'static str) -> Packet {
    Packet::Publish(Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: true,
        topic: text(topic),
        packet_id: None,
        properties: Properties::EMPTY,
        payload: payload.as_bytes().into(),
    })
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_denied_publish_is_answered_by_its_qos_and_goes_nowhere() {
    let mut bed = bed(rules("topic read #\ntopic write ok\n"));
    let (reader, _) = bed.connect(durable("r"));
    bed.subscribe(reader, "#", 2);
    bed.take(reader);
    let (writer, _) = bed.connect(durable("w"));
    for qos in [0, 1, 2] {
        bed.send(writer, publish("no", "x", qos, u16::from(qos)));
    }
    assert_eq!(
        shown(&bed.take(writer)),
        ["PUBACK #1 0x87", "PUBREC #2 0x87"]
    );
    assert_eq!(shown(&bed.take(reader)), nothing());
    bed.send(writer, retained("no", "x"));
    assert_eq!(bed.broker.stats().retained, 0);
    assert_eq!(bed.broker.stats().denied.publish, 4);
    // The connection goes on, and so does what is allowed.
    bed.send(writer, publish("ok", "y", 1, 3));
    assert_eq!(shown(&bed.take(writer)), ["PUBACK #3 0x00"]);
    assert_eq!(shown(&bed.take(reader)), ["PUBLISH ok y q1 #1"]);
}

#[test]
fn denied_publishes_take_no_place_in_the_receive_maximum() {
    let mut bed = bed(rules("topic write ok\n"));
    bed.limits().receive_maximum = 2;
    bed.crash();
    let (writer, _) = bed.connect(durable("w"));
    for id in 1..=20 {
        bed.send(writer, publish("no", "x", 1 + id as u8 % 2, id));
        assert_eq!(bed.take(writer).len(), 1);
    }
    assert_eq!(bed.closed(writer), None);
}

#[test]
fn below_mqtt_5_a_denied_publish_ends_the_connection_or_is_acknowledged_as_configured() {
    for qos in [1, 2] {
        let mut bed = bed(rules("topic read #\n"));
        let (writer, _) = bed.connect(old("w"));
        bed.send(writer, publish("no", "x", 0, 0));
        assert_eq!(bed.closed(writer), None);
        bed.send(writer, publish("no", "x", qos, 1));
        assert_eq!(shown(&bed.take(writer)), nothing());
        assert_eq!(bed.closed(writer), Some(ReasonCode::NOT_AUTHORIZED));
    }
    let mut bed = bed(Access {
        refused_publish: RefusedPublish::Acknowledge,
        ..rules("topic read #\n")
    });
    let (writer, _) = bed.connect(old("w"));
    bed.send(writer, publish("no", "x", 1, 1));
    bed.send(writer, publish("no", "x", 2, 2));
    bed.send(writer, Packet::PubRel(ack(2)));
    let received = bed.take(writer);
    assert!(
        matches!(
            received[..],
            [Packet::PubAck(_), Packet::PubRec(_), Packet::PubComp(_)]
        ),
        "{received:?}"
    );
    assert_eq!(bed.broker.stats().denied.publish, 2);
}

#[test]
fn each_filter_is_judged_by_itself_and_a_message_once_more_when_it_is_handed_on() {
    let mut bed = bed(rules(
        "topic write #\ntopic read a/+\ntopic deny a/secret\n",
    ));
    let (reader, _) = bed.connect(durable("r"));
    let filters =
        ["#", "a/secret", "b", "a/1"].map(|it| (text(it), SubscriptionOptions::default()));
    bed.send(
        reader,
        Packet::Subscribe(forebay_proto::Subscribe {
            packet_id: ack(9).packet_id,
            properties: Properties::EMPTY,
            filters: filters.into(),
        }),
    );
    let received = bed.take(reader);
    let [Packet::SubAck(SubAck { reasons, .. })] = &received[..] else {
        panic!("{received:?}")
    };
    assert_eq!(
        reasons.iter().map(|it| it.0).collect::<Vec<_>>(),
        [0, 0x87, 0x87, 0]
    );
    let (writer, _) = bed.connect(durable("w"));
    for topic in ["a/1", "a/secret", "b", "a/2"] {
        bed.send(writer, publish(topic, "x", 0, 0));
    }
    assert_eq!(
        shown(&bed.take(reader)),
        ["PUBLISH a/1 x q0", "PUBLISH a/2 x q0"]
    );
    let denied = bed.broker.stats().denied;
    assert_eq!(
        (denied.subscribe, denied.publish, denied.delivery),
        (2, 1, 1)
    );
}

#[test]
fn who_reads_nothing_of_a_topic_counts_as_nobody_there() {
    let mut bed = bed(rules("topic write #\ntopic read ok\n"));
    let (reader, _) = bed.connect(durable("r"));
    bed.subscribe(reader, "#", 1);
    let (writer, _) = bed.connect(durable("w"));
    bed.send(writer, publish("no", "x", 1, 1));
    assert_eq!(shown(&bed.take(writer)), ["PUBACK #1 0x10"]);
    assert_eq!(bed.stored_out(), 0);
}

#[test]
fn retained_messages_and_wills_are_judged_when_they_are_handed_on() {
    let mut bed = bed(rules("topic #\n"));
    let (writer, _) = bed.connect(durable("w"));
    bed.send(writer, retained("kept/a", "1"));
    bed.send(writer, retained("kept/b", "2"));
    let (client, _) = bed.connect(Connect {
        will: Some(WillMessage {
            qos: QoS::AtLeastOnce,
            retain: true,
            topic: text("will"),
            payload: b"gone".as_slice().into(),
            properties: Properties::EMPTY,
        }),
        ..durable("c")
    });
    bed.broker.handle_access(rules(
        "topic read #\ntopic deny kept/a\ntopic write other\n",
    ));
    let (reader, _) = bed.connect(durable("r"));
    bed.subscribe(reader, "#", 1);
    assert_eq!(
        shown(&bed.take(reader)),
        ["SUBACK", "PUBLISH kept/b 2 q0 retain"]
    );
    bed.cut(client);
    assert_eq!(shown(&bed.take(reader)), nothing());
    let stats = bed.broker.stats();
    assert_eq!((stats.denied.will, stats.wills, stats.retained), (1, 0, 2));
}

#[test]
fn new_rules_judge_the_next_publish_of_an_open_session_both_ways() {
    let (open, shut) = ("topic #\n", "topic read #\n");
    let mut bed = bed(rules(shut));
    let (writer, _) = bed.connect(durable("w"));
    for (id, (list, code)) in [(shut, 0x87), (open, 0x10), (shut, 0x87), (open, 0x10)]
        .into_iter()
        .enumerate()
    {
        bed.broker.handle_access(rules(list));
        let id = id as u16 + 1;
        bed.send(writer, publish("t", "x", 1, id));
        assert_eq!(
            shown(&bed.take(writer)),
            [format!("PUBACK #{id} {code:#04x}")]
        );
        bed.send(writer, publish("t", "x", 2, 100 + id));
        let id = 100 + id;
        assert_eq!(
            shown(&bed.take(writer)),
            [format!("PUBREC #{id} {code:#04x}")]
        );
    }
}

#[test]
fn a_qos_2_message_that_had_its_pubrec_goes_out_and_is_answered_under_any_rules() {
    let mut bed = bed(rules("topic #\n"));
    let (reader, _) = bed.connect(durable("r"));
    bed.subscribe(reader, "t", 0);
    bed.take(reader);
    let (writer, _) = bed.connect(durable("w"));
    bed.send(writer, publish("t", "x", 2, 1));
    bed.broker.handle_access(rules("topic read #\n"));
    bed.send(writer, publish("t", "x", 2, 1));
    bed.send(writer, Packet::PubRel(ack(1)));
    assert_eq!(
        shown(&bed.take(writer)),
        ["PUBREC #1 0x00", "PUBREC #1 0x00", "PUBCOMP #1 0x00"]
    );
    assert_eq!(shown(&bed.take(reader)), ["PUBLISH t x q0"]);
}

#[test]
fn queued_messages_and_those_in_flight_are_judged_by_the_rules_of_their_delivery() {
    let mut bed = bed(rules("topic #\n"));
    let (reader, _) = bed.connect(durable("r"));
    bed.subscribe(reader, "#", 2);
    let (writer, _) = bed.connect(durable("w"));
    for (id, topic) in [(1, "a"), (2, "b")] {
        bed.send(writer, publish(topic, "sent", 1, id));
    }
    bed.cut(reader);
    for (id, topic) in [(3, "a"), (4, "b"), (5, "a")] {
        bed.send(writer, publish(topic, "queued", 1, id));
    }
    bed.broker.handle_access(rules("topic #\ntopic deny a\n"));
    let (reader, present) = bed.connect(durable("r"));
    assert!(present);
    assert_eq!(
        shown(&bed.take(reader)),
        ["PUBLISH b sent q1 #2 dup", "PUBLISH b queued q1 #3"]
    );
    bed.send(reader, Packet::PubAck(ack(2)));
    bed.send(reader, Packet::PubAck(ack(3)));
    bed.sync();
    assert_eq!(bed.stored_out(), 0, "what may not be read is done with");
    assert_eq!(bed.broker.stats().denied.delivery, 3);
}

fn named(client_id: &'static str, user: &'static str, password: &'static str) -> Connect {
    Connect {
        username: Some(text(user)),
        password: Some(password.as_bytes().into()),
        ..durable(client_id)
    }
}

fn users(list: &str) -> Access {
    Access {
        users: true,
        anonymous: Anonymous::Nobody,
        ..rules(list)
    }
}

/// Sends a CONNECT and gives the answer to its question.
fn login(bed: &mut Bed, connect: Connect, login: Login) -> (ConnectionId, Vec<String>) {
    let connection = bed.open();
    bed.send(connection, Packet::Connect(Box::new(connect)));
    assert_eq!(bed.take(connection), [], "the answer waits for the verdict");
    let asked = bed.asked.pop().expect("a question");
    assert_eq!(asked.0, connection);
    bed.login(connection, login);
    bed.sync();
    (connection, shown(&bed.take(connection)))
}

#[test]
fn a_connect_waits_for_its_verdict_and_what_follows_it_waits_behind() {
    let mut bed = bed(users("user ann\ntopic #\n"));
    let connection = bed.open();
    let connect = named("c", "ann", "secret");
    bed.send(connection, Packet::Connect(Box::new(connect)));
    bed.send(connection, publish("t", "early", 1, 1));
    assert_eq!(bed.take(connection), []);
    let (_, user, password) = bed.asked.pop().unwrap();
    assert_eq!(user.as_deref(), Some("ann"));
    assert_eq!(password.as_deref(), Some(&b"secret"[..]));
    bed.login(connection, Login::Granted);
    bed.sync();
    assert_eq!(
        shown(&bed.take(connection)),
        ["CONNACK 0x00", "PUBACK #1 0x10"]
    );
}

#[test]
fn a_wrong_password_is_0x86_no_name_0x87_and_a_crowd_0x89() {
    let mut bed = bed(users("user ann\ntopic #\n"));
    for (verdict, code) in [
        (Login::Denied, "CONNACK 0x86"),
        (Login::Busy, "CONNACK 0x89"),
    ] {
        let (connection, received) = login(&mut bed, named("c", "ann", "x"), verdict);
        assert_eq!(received, [code]);
        assert!(bed.closed(connection).is_some());
    }
    let connection = bed.open();
    bed.send(connection, Packet::Connect(Box::new(durable("c"))));
    assert_eq!(shown(&bed.take(connection)), ["CONNACK 0x87"]);
    assert_eq!(bed.broker.stats().denied.connect, 2);
    assert_eq!(bed.broker.stats().sessions, 0);
}

#[test]
fn a_verdict_for_a_connection_that_went_or_came_too_late_changes_nothing() {
    let mut bed = bed(users("user ann\ntopic #\n"));
    let connection = bed.open();
    let connect = || Packet::Connect(Box::new(named("c", "ann", "x")));
    bed.send(connection, connect());
    bed.cut(connection);
    bed.login(connection, Login::Granted);
    assert_eq!(bed.broker.stats().sessions, 0);

    let connection = bed.open();
    bed.send(connection, connect());
    bed.advance(11_000);
    assert!(
        bed.closed(connection).is_some(),
        "the connect timeout goes on"
    );
    bed.login(connection, Login::Granted);
    assert_eq!(bed.broker.stats().sessions, 0);
}

#[test]
fn a_certificate_and_a_listener_speak_louder_than_the_connect() {
    let mut bed = bed(users("user ann\ntopic #\n"));
    let connection = bed.open_from(Peer {
        user: Some(text("ann")),
        ..Peer::default()
    });
    bed.send(
        connection,
        Packet::Connect(Box::new(named("c", "eve", "x"))),
    );
    assert_eq!(bed.asked.len(), 0);
    bed.send(connection, publish("t", "x", 1, 1));
    bed.sync();
    assert_eq!(
        shown(&bed.take(connection)),
        ["CONNACK 0x00", "PUBACK #1 0x10"]
    );

    for (rule, code) in [
        (Some(Anonymous::Anywhere), "CONNACK 0x00"),
        (Some(Anonymous::Nobody), "CONNACK 0x87"),
        (None, "CONNACK 0x87"),
    ] {
        let connection = bed.open_from(Peer {
            anonymous: rule,
            ..Peer::default()
        });
        bed.send(connection, Packet::Connect(Box::new(durable("d"))));
        bed.sync();
        assert_eq!(shown(&bed.take(connection)), [code]);
    }
}

#[test]
fn whose_a_session_is_survives_a_crash_and_ends_with_it() {
    let list = "user ann\ntopic #\nuser bob\ntopic write #\n";
    let mut bed = bed(users(list));
    let (ann, _) = login(&mut bed, named("c", "ann", "x"), Login::Granted);
    bed.subscribe(ann, "t", 1);
    bed.crash();
    let (bob, _) = login(&mut bed, named("b", "bob", "x"), Login::Granted);
    bed.send(bob, publish("t", "x", 1, 1));
    assert_eq!(shown(&bed.take(bob)), ["PUBACK #1 0x00"], "ann may read");

    // The session is bob's from here on, who may not read what waits in it.
    let (bob, received) = login(&mut bed, named("c", "bob", "x"), Login::Granted);
    assert_eq!(received, ["CONNACK 0x00"]);
    assert_eq!(bed.stored_out(), 0);
    bed.cut(bob);
    bed.crash();
    let (other, _) = login(&mut bed, named("b", "bob", "x"), Login::Granted);
    bed.send(other, publish("t", "x", 1, 1));
    assert_eq!(shown(&bed.take(other)), ["PUBACK #1 0x10"]);
}

#[test]
fn a_name_that_nobody_checks_stands_for_nobody() {
    let mut bed = bed(rules("topic write any\nuser ann\ntopic #\n"));
    let (client, _) = bed.connect(named("c", "ann", "x"));
    bed.send(client, publish("t", "x", 1, 1));
    bed.send(client, publish("any", "x", 1, 2));
    assert_eq!(
        shown(&bed.take(client)),
        ["PUBACK #1 0x87", "PUBACK #2 0x10"]
    );
}

#[test]
fn no_password_is_shown_by_a_packet_or_an_output() {
    let connect = named("c", "ann", "geheim");
    let shown = format!("{connect:?}");
    assert!(
        shown.contains("ann") && !shown.contains("geheim"),
        "{shown}"
    );
    assert!(!shown.contains("103, 101"), "{shown}");
    let mut broker = forebay_proto::Broker::new(Config {
        access: users(""),
        ..Config::default()
    });
    let now = forebay_proto::Instant::from_millis(1);
    broker.handle_open(ConnectionId(1), Peer::default(), now);
    broker.handle_packet(ConnectionId(1), Packet::Connect(Box::new(connect)), now);
    let output = format!("{:?} {broker:?}", broker.poll_output());
    assert!(output.contains("Authenticate"), "{output}");
    assert!(!output.contains("geheim"), "{output}");
}
