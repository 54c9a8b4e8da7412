//! Topic aliases, both ways.

use forebay_proto::{
    Config, Connect, Limits, Packet, PropertiesBuilder, Property, Publish, ReasonCode,
};

use crate::bed::{Bed, ack, durable, publish, show, shown, text};

fn bed(topic_alias_maximum: u16) -> Bed {
    let limits = Limits {
        topic_alias_maximum,
        ..Limits::default()
    };
    Bed::with(Config {
        limits,
        ..Config::default()
    })
}

/// A CONNECT of a client that takes `aliases` topic aliases and packets of `size` bytes.
fn takes(client_id: &'static str, aliases: u16, size: u32) -> Connect {
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(3600));
    properties.push(Property::TopicAliasMaximum(aliases));
    properties.push(Property::MaximumPacketSize(size));
    let properties = properties.build();
    Connect {
        properties,
        ..durable(client_id)
    }
}

/// A PUBLISH with an alias, and by its name unless that is empty.
fn aliased(topic: &'static str, alias: u16, payload: &str) -> Packet {
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::TopicAlias(alias));
    let Packet::Publish(it) = publish("x", payload, 0, 1) else {
        panic!("a PUBLISH")
    };
    Packet::Publish(Publish {
        topic: text(topic),
        packet_id: None,
        properties: properties.build(),
        ..it
    })
}

/// Topic name, alias and payload of each PUBLISH.
fn names(packets: &[Packet]) -> Vec<(String, Option<u16>, String)> {
    let publish = |it: &Packet| match it {
        Packet::Publish(it) => (
            it.topic.as_str().to_owned(),
            it.properties.topic_alias(),
            String::from_utf8(it.payload.to_vec()).unwrap(),
        ),
        other => panic!("{}", show(other)),
    };
    packets.iter().map(publish).collect()
}

#[test]
fn an_alias_stands_for_the_last_topic_name_that_came_with_it() {
    let mut bed = bed(2);
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "#", 0);
    bed.take(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    for (topic, alias, payload) in [
        ("first", 2, "1"),
        ("", 2, "2"),
        ("second", 1, "3"),
        ("", 2, "4"),
        ("third", 2, "5"),
        ("", 2, "6"),
        ("", 1, "7"),
    ] {
        bed.send(publisher, aliased(topic, alias, payload));
    }
    let got = shown(&bed.take(subscriber));
    let wanted = [
        "PUBLISH first 1 q0",
        "PUBLISH first 2 q0",
        "PUBLISH second 3 q0",
        "PUBLISH first 4 q0",
        "PUBLISH third 5 q0",
        "PUBLISH third 6 q0",
        "PUBLISH second 7 q0",
    ];
    assert_eq!(got, wanted);
}

#[test]
fn an_alias_that_stands_for_nothing_or_is_too_high_ends_the_connection() {
    for (maximum, alias, reason) in [
        (2, 1, ReasonCode::PROTOCOL_ERROR),
        (2, 2, ReasonCode::PROTOCOL_ERROR),
        (2, 3, ReasonCode::TOPIC_ALIAS_INVALID),
        (0, 1, ReasonCode::TOPIC_ALIAS_INVALID),
        (u16::MAX, u16::MAX, ReasonCode::PROTOCOL_ERROR),
    ] {
        let mut bed = bed(maximum);
        let (first, _) = bed.connect(durable("p"));
        if maximum > 0 {
            bed.send(first, aliased("known", maximum, ""));
            bed.send(first, aliased("", maximum, ""));
        }
        assert_eq!(bed.closed(first), None);
        bed.cut(first);
        // No alias outlives its connection.
        let (publisher, _) = bed.connect(durable("p"));
        bed.send(publisher, aliased("", alias, ""));
        assert_eq!(bed.closed(publisher), Some(reason), "{alias} of {maximum}");
    }
}

#[test]
fn a_publish_that_is_refused_has_named_its_alias_all_the_same() {
    let limits = Limits {
        max_topic_levels: 2,
        ..Limits::default()
    };
    let mut bed = Bed::with(Config {
        limits,
        ..Config::default()
    });
    let (publisher, _) = bed.connect(durable("p"));
    let Packet::Publish(it) = aliased("a/b/c", 1, "") else {
        panic!("a PUBLISH")
    };
    let Packet::Publish(q1) = publish("x", "", 1, 7) else {
        panic!("a PUBLISH")
    };
    bed.send(
        publisher,
        Packet::Publish(Publish {
            qos: q1.qos,
            packet_id: q1.packet_id,
            ..it
        }),
    );
    bed.send(publisher, aliased("", 1, ""));
    assert_eq!(shown(&bed.take(publisher)), ["PUBACK #7 0x90"]);
    assert_eq!(bed.closed(publisher), None);
}

#[test]
fn the_first_topics_sent_have_aliases_up_to_what_both_ends_take() {
    for (theirs, ours) in [(2, 9), (9, 2), (0, 9), (9, 0)] {
        let most = u16::min(theirs, ours);
        let mut bed = bed(ours);
        let (subscriber, _) = bed.connect(takes("s", theirs, 1000));
        bed.subscribe(subscriber, "#", 0);
        bed.take(subscriber);
        let (publisher, _) = bed.connect(durable("p"));
        let topics = ["long/one", "long/two", "abc", "long/three"];
        for round in ["1", "2"] {
            for topic in topics {
                bed.send(publisher, publish(topic, round, 0, 1));
            }
        }
        let got = names(&bed.take(subscriber));
        let alias = |topic: &str| match topic {
            "long/one" if most > 0 => Some(1),
            "long/two" if most > 0 => Some(2),
            // A name that is no longer than the alias is sent as it is.
            _ => None,
        };
        let wanted: Vec<_> = ["1", "2"]
            .into_iter()
            .flat_map(|round| topics.map(|topic| (topic, round)))
            .map(|(topic, round)| {
                let alias = alias(topic);
                let short = alias.is_some() && round == "2";
                let name = if short { "" } else { topic };
                (name.to_owned(), alias, round.to_owned())
            })
            .collect();
        assert_eq!(got, wanted, "{theirs} and {ours}");
    }
}

#[test]
fn what_is_sent_again_on_another_connection_has_its_name_again() {
    let mut bed = bed(9);
    let (subscriber, _) = bed.connect(takes("s", 9, 1000));
    bed.subscribe(subscriber, "#", 2);
    let (publisher, _) = bed.connect(durable("p"));
    for (id, qos) in [(1, 1), (2, 2), (3, 1)] {
        bed.send(publisher, publish("topic", &id.to_string(), qos, id));
        bed.send(publisher, Packet::PubRel(ack(id)));
    }
    let name = |it: &(String, Option<u16>, String)| (it.0.clone(), it.1);
    let wanted = [
        (String::from("topic"), Some(1)),
        (String::new(), Some(1)),
        (String::new(), Some(1)),
    ];
    let take = |bed: &mut Bed, at| {
        let packets = bed.take(at);
        let publishes = packets
            .into_iter()
            .filter(|it| matches!(it, Packet::Publish(_)));
        let publishes: Vec<_> = publishes.collect();
        names(&publishes).iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(take(&mut bed, subscriber), wanted);
    for crash in [false, true] {
        if crash {
            bed.crash();
        } else {
            bed.cut(subscriber);
        }
        let (subscriber, _) = bed.connect(takes("s", 9, 1000));
        assert_eq!(take(&mut bed, subscriber), wanted, "crash: {crash}");
        bed.cut(subscriber);
    }
}

#[test]
fn an_alias_never_makes_a_packet_larger_than_its_client_takes() {
    // The PUBLISH has 2 bytes of header, 2 and 5 of topic, 1 of property length.
    for (payload, alias) in [("1234567", Some(1)), ("12345678", None)] {
        let mut bed = bed(9);
        let (subscriber, _) = bed.connect(takes("s", 9, 20));
        bed.subscribe(subscriber, "#", 0);
        bed.take(subscriber);
        let (publisher, _) = bed.connect(durable("p"));
        bed.send(publisher, publish("topic", payload, 0, 1));
        let got = names(&bed.take(subscriber));
        assert_eq!(got, [("topic".to_owned(), alias, payload.to_owned())]);
        // Its next message, in room for it, names the alias.
        bed.send(publisher, publish("topic", "1", 0, 1));
        let next = names(&bed.take(subscriber));
        let name = if alias.is_some() { "" } else { "topic" };
        assert_eq!(next, [(name.to_owned(), Some(1), "1".to_owned())]);
    }
}

#[test]
fn the_other_properties_stay_as_they_were_beside_an_alias() {
    let mut bed = bed(9);
    let (subscriber, _) = bed.connect(takes("s", 9, 1000));
    bed.subscribe(subscriber, "#", 0);
    bed.take(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::ContentType("text"));
    properties.push(Property::UserProperty("k", "v"));
    properties.push(Property::UserProperty("k", "w"));
    let properties = properties.build();
    for _ in 0..2 {
        let Packet::Publish(it) = publish("topic", "m", 0, 1) else {
            panic!("a PUBLISH")
        };
        bed.send(
            publisher,
            Packet::Publish(Publish {
                properties: properties.clone(),
                ..it
            }),
        );
    }
    for packet in bed.take(subscriber) {
        let Packet::Publish(it) = packet else {
            panic!("a PUBLISH")
        };
        let pairs: Vec<_> = it.properties.user_properties().collect();
        assert_eq!(pairs, [("k", "v"), ("k", "w")]);
        assert_eq!(it.properties.content_type(), Some("text"));
        assert_eq!(it.properties.topic_alias(), Some(1));
    }
}
