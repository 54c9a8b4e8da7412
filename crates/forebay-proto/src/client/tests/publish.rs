//! Publishing: verdicts, order, quota.

use super::*;

fn verdicts(client: &mut Client) -> Vec<Verdict> {
    let verdict = |event| match event {
        ClientEvent::Published { verdict, .. } => Some(verdict),
        _ => None,
    };
    events(client).into_iter().filter_map(verdict).collect()
}

#[test]
fn qos_0_is_sent_and_over() {
    let mut client = connected(config(), &[]);
    client
        .publish(message(QoS::AtMostOnce, "m"), NOW)
        .expect("room");
    assert_eq!(verdicts(&mut client), [Verdict::Sent]);
}

#[test]
fn any_code_below_0x80_is_delivered_and_any_other_a_refusal_that_keeps_the_link() {
    for code in 0..=u8::MAX {
        let reason = ReasonCode(code);
        let mut client = connected(config(), &[]);
        client
            .publish(message(QoS::AtLeastOnce, "m"), NOW)
            .expect("room");
        client.handle_packet(Packet::PubAck(ack(1, reason)), NOW);
        let verdict = match code {
            0..=0x7F => Verdict::Delivered(reason),
            0x80.. => Verdict::Refused { reason, text: None },
        };
        assert_eq!(verdicts(&mut client), [verdict]);
        assert!(client.is_connected(), "{reason}");
    }
}

#[test]
fn qos_2_is_delivered_at_the_pubcomp() {
    let mut client = connected(config(), &[]);
    client
        .publish(message(QoS::ExactlyOnce, "m"), NOW)
        .expect("room");
    outputs(&mut client);
    // 0x10 is a success: the PUBREL follows.
    client.handle_packet(
        Packet::PubRec(ack(1, ReasonCode::NO_MATCHING_SUBSCRIBERS)),
        NOW,
    );
    let pubrel = ClientOutput::Transmit(Packet::PubRel(ack(1, ReasonCode::SUCCESS)));
    assert_eq!(outputs(&mut client), [pubrel]);
    client.handle_packet(Packet::PubComp(ack(1, ReasonCode::SUCCESS)), NOW);
    assert_eq!(
        verdicts(&mut client),
        [Verdict::Delivered(ReasonCode::SUCCESS)]
    );
}

#[test]
fn a_pubrec_that_refuses_ends_the_exchange_without_a_pubrel() {
    let mut client = connected(config(), &[]);
    client
        .publish(message(QoS::ExactlyOnce, "m"), NOW)
        .expect("room");
    outputs(&mut client);
    let reason = ReasonCode::QUOTA_EXCEEDED;
    client.handle_packet(Packet::PubRec(ack(1, reason)), NOW);
    let all = outputs(&mut client);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(client.unanswered(), 0);
}

#[test]
fn a_pubcomp_that_finds_nothing_is_a_delivery() {
    let mut client = connected(config(), &[]);
    client
        .publish(message(QoS::ExactlyOnce, "m"), NOW)
        .expect("room");
    client.handle_packet(Packet::PubRec(ack(1, ReasonCode::SUCCESS)), NOW);
    outputs(&mut client);
    let reason = ReasonCode::PACKET_IDENTIFIER_NOT_FOUND;
    client.handle_packet(Packet::PubComp(ack(1, reason)), NOW);
    assert_eq!(verdicts(&mut client), [Verdict::Delivered(reason)]);
}

#[test]
fn an_acknowledgement_of_the_wrong_kind_or_for_an_unknown_id_changes_nothing() {
    let wrong = |qos, packet: fn(Ack) -> Packet, id| {
        let mut client = connected(config(), &[]);
        client.publish(message(qos, "m"), NOW).expect("room");
        outputs(&mut client);
        client.handle_packet(packet(ack(id, ReasonCode::SUCCESS)), NOW);
        assert_eq!(outputs(&mut client), [], "{qos:?} {id}");
        assert_eq!(client.unanswered(), 1);
    };
    wrong(QoS::AtLeastOnce, Packet::PubRec, 1);
    wrong(QoS::AtLeastOnce, Packet::PubComp, 1);
    wrong(QoS::AtLeastOnce, Packet::PubAck, 2);
    wrong(QoS::ExactlyOnce, Packet::PubAck, 1);
    wrong(QoS::ExactlyOnce, Packet::PubComp, 1);
    wrong(QoS::ExactlyOnce, Packet::PubRec, 9);
}

#[test]
fn never_more_in_flight_than_the_server_receives() {
    let mut client = connected(config(), &[Property::ReceiveMaximum(3)]);
    for _ in 0..10 {
        client
            .publish(message(QoS::AtLeastOnce, "m"), NOW)
            .expect("room");
    }
    assert_eq!(published(&packets(&mut client)), [1, 2, 3]);
    client.handle_packet(Packet::PubAck(ack(2, ReasonCode::SUCCESS)), NOW);
    assert_eq!(published(&packets(&mut client)), [4]);
    // A second acknowledgement of the same message frees nothing.
    client.handle_packet(Packet::PubAck(ack(2, ReasonCode::SUCCESS)), NOW);
    assert_eq!(published(&packets(&mut client)), []);
}

#[test]
fn a_qos_2_exchange_holds_its_place_until_the_pubcomp() {
    let mut client = connected(config(), &[Property::ReceiveMaximum(1)]);
    for _ in 0..2 {
        client
            .publish(message(QoS::ExactlyOnce, "m"), NOW)
            .expect("room");
    }
    client.handle_packet(Packet::PubRec(ack(1, ReasonCode::SUCCESS)), NOW);
    assert_eq!(published(&packets(&mut client)), [1]);
    client.handle_packet(Packet::PubComp(ack(1, ReasonCode::SUCCESS)), NOW);
    assert_eq!(published(&packets(&mut client)), [2]);
}

#[test]
fn past_the_bound_of_waiting_messages_a_publish_is_not_taken() {
    let mut client = Client::new(ClientConfig {
        max_waiting: 2,
        ..config()
    });
    for _ in 0..2 {
        client
            .publish(message(QoS::AtMostOnce, "m"), NOW)
            .expect("room");
    }
    let third = client.publish(message(QoS::AtMostOnce, "m"), NOW);
    assert_eq!(third, Err(PublishError::Full));
}

#[test]
fn what_the_server_does_not_take_is_not_sent() {
    let limits = [
        Property::MaximumQoS(QoS::AtLeastOnce),
        Property::RetainAvailable(false),
        Property::MaximumPacketSize(12),
    ];
    let mut client = connected(config(), &limits);
    client
        .publish(message(QoS::ExactlyOnce, "m"), NOW)
        .expect("room");
    let retained = Publish {
        retain: true,
        ..message(QoS::AtMostOnce, "m")
    };
    client.publish(retained, NOW).expect("room");
    // 2 + 3 (topic) + 2 (identifier) + 1 (no properties) + 4 = 12, and one more.
    client
        .publish(message(QoS::AtLeastOnce, "1234"), NOW)
        .expect("room");
    client
        .publish(message(QoS::AtLeastOnce, "12345"), NOW)
        .expect("room");
    let all = outputs(&mut client);
    let sent = all
        .iter()
        .filter(|output| matches!(output, ClientOutput::Transmit(_)));
    assert_eq!(sent.count(), 1);
    let told: Vec<_> = all
        .iter()
        .filter_map(|output| match output {
            ClientOutput::Event(ClientEvent::Published { verdict, .. }) => Some(verdict.clone()),
            _ => None,
        })
        .collect();
    let (qos, limit) = (QoS::ExactlyOnce, QoS::AtLeastOnce);
    assert_eq!(
        told,
        [
            Verdict::NotSent(Unsendable::QoS { qos, limit }),
            Verdict::NotSent(Unsendable::Retain),
            Verdict::NotSent(Unsendable::TooLarge {
                size: 13,
                limit: 12
            }),
        ]
    );
}

#[test]
fn identifiers_in_use_are_not_handed_out_again_after_a_wrap() {
    let mut client = connected(
        ClientConfig {
            max_inflight: 2,
            ..config()
        },
        &[],
    );
    client
        .publish(message(QoS::AtLeastOnce, "stays"), NOW)
        .expect("room");
    outputs(&mut client);
    for round in 0..70_000_u32 {
        client
            .publish(message(QoS::AtLeastOnce, "m"), NOW)
            .expect("room");
        let ids = published(&packets(&mut client));
        assert_eq!(ids.len(), 1, "round {round}");
        assert_ne!(ids, [1], "round {round}");
        client.handle_packet(Packet::PubAck(ack(ids[0], ReasonCode::SUCCESS)), NOW);
    }
}

#[test]
fn a_cut_ends_what_was_in_flight_where_the_session_ends_too() {
    let mut client = connected(
        ClientConfig {
            max_inflight: 1,
            ..config()
        },
        &[],
    );
    for _ in 0..2 {
        client
            .publish(message(QoS::AtLeastOnce, "m"), NOW)
            .expect("room");
    }
    outputs(&mut client);
    client.handle_closed(NOW);
    assert_eq!(verdicts(&mut client), [Verdict::LinkLost]);
    // What was not sent yet waits for the next connection.
    client.handle_connected(NOW);
    client.handle_packet(connack(false, &[]), NOW);
    let sent = packets(&mut client);
    assert_eq!(published(&sent).len(), 1);
    assert!(
        sent.iter()
            .all(|packet| !matches!(packet, Packet::Publish(Publish { dup: true, .. })))
    );
}

#[test]
fn a_session_that_goes_on_sends_again_in_order_with_dup_and_the_same_ids() {
    let mut client = connected(
        ClientConfig {
            session_expiry_secs: 9,
            ..config()
        },
        &[],
    );
    for qos in [QoS::ExactlyOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
        client.publish(message(qos, "m"), NOW).expect("room");
    }
    client.handle_packet(Packet::PubRec(ack(1, ReasonCode::SUCCESS)), NOW);
    outputs(&mut client);
    client.handle_closed(NOW);
    client.handle_connected(NOW);
    client
        .publish(message(QoS::AtLeastOnce, "new"), NOW)
        .expect("room");
    outputs(&mut client);
    client.handle_packet(connack(true, &[Property::ReceiveMaximum(2)]), NOW);
    let sent = packets(&mut client);
    assert_eq!(
        sent.len(),
        2,
        "the quota holds for what is sent again: {sent:?}"
    );
    assert_eq!(sent[0], Packet::PubRel(ack(1, ReasonCode::SUCCESS)));
    assert!(matches!(&sent[1], Packet::Publish(publish) if publish.dup));
    assert_eq!(published(&sent), [2]);
    client.handle_packet(Packet::PubAck(ack(2, ReasonCode::SUCCESS)), NOW);
    client.handle_packet(Packet::PubComp(ack(1, ReasonCode::SUCCESS)), NOW);
    let sent = packets(&mut client);
    assert_eq!(published(&sent), [3, 4]);
    let dups: Vec<_> = sent
        .iter()
        .filter_map(|packet| match packet {
            Packet::Publish(publish) => Some(publish.dup),
            _ => None,
        })
        .collect();
    assert_eq!(dups, [true, false]);
}

#[test]
fn a_session_that_is_gone_ends_what_was_in_flight() {
    let mut client = connected(
        ClientConfig {
            session_expiry_secs: 9,
            ..config()
        },
        &[],
    );
    client
        .publish(message(QoS::AtLeastOnce, "m"), NOW)
        .expect("room");
    outputs(&mut client);
    client.handle_closed(NOW);
    assert_eq!(verdicts(&mut client), [], "it may still be answered");
    client.handle_connected(NOW);
    client.handle_packet(connack(false, &[]), NOW);
    assert_eq!(verdicts(&mut client), [Verdict::LinkLost]);
}
