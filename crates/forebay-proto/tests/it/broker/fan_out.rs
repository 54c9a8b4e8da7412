//! A message that reaches so many that its commit would be larger than a store takes.

use forebay_proto::{
    Config, Connect, Limits, Packet, PropertiesBuilder, Property, QoS, WillMessage,
};

use crate::bed::{Bed, ack, durable, publish, shown, text};

/// Enough for a message to 25 sessions, not for one to 30.
fn bed() -> Bed {
    Bed::with(Config {
        limits: Limits {
            max_message_commit_bytes: 25 * 32 + 60,
            ..Limits::default()
        },
        ..Config::default()
    })
}

/// Sessions that are subscribed to `t` and away.
fn away(bed: &mut Bed, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let (client, _) = bed.connect(session(number));
        bed.subscribe(client, "t", 2);
        bed.cut(client);
    }
}

fn session(number: u32) -> Connect {
    let name: &'static str = format!("s{number}").leak();
    durable(name)
}

fn delivered(bed: &mut Bed, numbers: std::ops::Range<u32>) -> Vec<Vec<String>> {
    numbers
        .map(|number| {
            let (client, _) = bed.connect(session(number));
            shown(&bed.take(client))
        })
        .collect()
}

#[test]
fn a_publish_that_reaches_too_many_is_refused_by_itself() {
    let mut bed = bed();
    let (publisher, _) = bed.connect(durable("p"));
    away(&mut bed, 0..25);
    bed.send(publisher, publish("t", "1", 1, 1));
    bed.send(publisher, publish("t", "2", 2, 2));
    assert_eq!(
        shown(&bed.take(publisher)),
        ["PUBACK #1 0x00", "PUBREC #2 0x00"]
    );
    away(&mut bed, 25..30);
    bed.send(publisher, publish("t", "3", 1, 3));
    bed.send(publisher, publish("t", "4", 2, 4));
    bed.send(publisher, publish("other", "5", 1, 5));
    assert_eq!(
        shown(&bed.take(publisher)),
        ["PUBACK #3 0x97", "PUBREC #4 0x97", "PUBACK #5 0x10"]
    );
    assert_eq!(bed.broker.stats().refused, 2);
    assert_eq!(delivered(&mut bed, 25..30), vec![Vec::<String>::new(); 5]);
}

#[test]
fn a_message_that_was_taken_before_reaches_all_in_commits_that_a_store_takes() {
    let mut bed = bed();
    let (publisher, _) = bed.connect(durable("p"));
    away(&mut bed, 0..20);
    bed.send(publisher, publish("t", "1", 2, 1));
    assert_eq!(shown(&bed.take(publisher)), ["PUBREC #1 0x00"]);
    away(&mut bed, 20..80);
    bed.send(publisher, Packet::PubRel(ack(1)));
    assert_eq!(shown(&bed.take(publisher)), ["PUBCOMP #1 0x00"]);
    assert!((20..30).contains(&bed.most_entries), "{}", bed.most_entries);
    let once = vec!["PUBLISH t 1 q2 #1".to_owned()];
    assert_eq!(delivered(&mut bed, 0..80), vec![once; 80]);
}

#[test]
fn a_will_that_reaches_too_many_is_dropped_and_counted() {
    let mut bed = bed();
    away(&mut bed, 0..40);
    let mut connect = durable("p");
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(0));
    connect.properties = properties.build();
    connect.will = Some(WillMessage {
        qos: QoS::AtLeastOnce,
        retain: false,
        topic: text("t"),
        payload: b"gone".as_slice().into(),
        properties: PropertiesBuilder::new().build(),
    });
    let (publisher, _) = bed.connect(connect);
    bed.cut(publisher);
    assert_eq!(bed.broker.stats().dropped_full, 1);
    assert_eq!(bed.stored_out(), 0);
}
