//! Receiving: acknowledgements in order, once each.

use super::*;

fn by_hand() -> ClientConfig {
    ClientConfig {
        acknowledge_at_once: false,
        ..config()
    }
}

fn receipts(client: &mut Client) -> Vec<Receipt> {
    let receipt = |event| match event {
        ClientEvent::Message { receipt, .. } => receipt,
        _ => None,
    };
    events(client).into_iter().filter_map(receipt).collect()
}

#[test]
fn a_message_is_handed_out_before_it_is_acknowledged() {
    let mut client = connected(config(), &[]);
    client.handle_packet(incoming(QoS::AtLeastOnce, 5), NOW);
    let outputs = outputs(&mut client);
    assert!(matches!(
        outputs[0],
        ClientOutput::Event(ClientEvent::Message { .. })
    ));
    let puback = Packet::PubAck(ack(5, ReasonCode::SUCCESS));
    assert_eq!(outputs[1], ClientOutput::Transmit(puback));
}

#[test]
fn a_qos_2_message_that_comes_again_is_handed_out_once() {
    let mut client = connected(config(), &[]);
    for round in 0..3 {
        client.handle_packet(incoming(QoS::ExactlyOnce, 5), NOW);
        let all = outputs(&mut client);
        let pubrec = ClientOutput::Transmit(Packet::PubRec(ack(5, ReasonCode::SUCCESS)));
        assert_eq!(all.last(), Some(&pubrec));
        assert_eq!(all.len(), if round == 0 { 2 } else { 1 }, "{all:?}");
    }
    for reason in [ReasonCode::SUCCESS, ReasonCode::PACKET_IDENTIFIER_NOT_FOUND] {
        client.handle_packet(Packet::PubRel(ack(5, ReasonCode::SUCCESS)), NOW);
        assert_eq!(packets(&mut client), [Packet::PubComp(ack(5, reason))]);
    }
    // The identifier now stands for another message.
    client.handle_packet(incoming(QoS::ExactlyOnce, 5), NOW);
    assert_eq!(events(&mut client).len(), 1);
}

#[test]
fn late_decisions_leave_in_the_order_of_the_messages() {
    let mut client = connected(by_hand(), &[]);
    for id in [7, 8, 9] {
        client.handle_packet(incoming(QoS::AtLeastOnce, id), NOW);
    }
    let receipts = receipts(&mut client);
    client.acknowledge(receipts[2], ReasonCode::SUCCESS, NOW);
    client.acknowledge(receipts[1], ReasonCode::NOT_AUTHORIZED, NOW);
    assert_eq!(packets(&mut client), []);
    client.acknowledge(receipts[0], ReasonCode::SUCCESS, NOW);
    assert_eq!(
        packets(&mut client),
        [
            Packet::PubAck(ack(7, ReasonCode::SUCCESS)),
            Packet::PubAck(ack(8, ReasonCode::NOT_AUTHORIZED)),
            Packet::PubAck(ack(9, ReasonCode::SUCCESS)),
        ]
    );
    client.acknowledge(receipts[0], ReasonCode::SUCCESS, NOW);
    assert_eq!(packets(&mut client), [], "a receipt counts once");
}

#[test]
fn a_receipt_of_an_earlier_connection_is_void() {
    let mut client = connected(
        ClientConfig {
            session_expiry_secs: 9,
            ..by_hand()
        },
        &[],
    );
    client.handle_packet(incoming(QoS::AtLeastOnce, 1), NOW);
    let old = receipts(&mut client);
    client.handle_closed(NOW);
    client.handle_connected(NOW);
    client.handle_packet(connack(true, &[]), NOW);
    client.handle_packet(incoming(QoS::AtLeastOnce, 1), NOW);
    let new = receipts(&mut client);
    client.acknowledge(old[0], ReasonCode::SUCCESS, NOW);
    assert_eq!(packets(&mut client), []);
    client.acknowledge(new[0], ReasonCode::SUCCESS, NOW);
    assert_eq!(
        packets(&mut client),
        [Packet::PubAck(ack(1, ReasonCode::SUCCESS))]
    );
}

#[test]
fn a_server_that_sends_more_than_was_granted_is_told_so_once() {
    let mut client = connected(
        ClientConfig {
            receive_maximum: 2,
            ..by_hand()
        },
        &[],
    );
    for id in 1..=4 {
        client.handle_packet(incoming(QoS::AtLeastOnce, id), NOW);
    }
    let all = outputs(&mut client);
    let told = disconnect(ReasonCode::RECEIVE_MAXIMUM_EXCEEDED);
    assert_eq!(
        all.iter().filter(|output| **output == told).count(),
        1,
        "{all:?}"
    );
}

#[test]
fn a_client_that_forgives_takes_more_than_was_granted() {
    let forgiving = ClientConfig {
        receive_maximum: 2,
        forgives_excess: true,
        ..by_hand()
    };
    let mut client = connected(forgiving, &[]);
    for id in 1..=u16::MAX {
        client.handle_packet(incoming(QoS::ExactlyOnce, id), NOW);
    }
    assert_eq!(receipts(&mut client).len(), usize::from(u16::MAX));
}

#[test]
fn below_mqtt_5_the_server_knows_no_bound_and_is_held_to_none() {
    let version = Version::V3_1_1;
    let mut client = connected(
        ClientConfig {
            receive_maximum: 2,
            version,
            ..by_hand()
        },
        &[],
    );
    for id in 1..=100 {
        client.handle_packet(incoming(QoS::AtLeastOnce, id), NOW);
    }
    assert_eq!(receipts(&mut client).len(), 100);
}

#[test]
fn a_refused_qos_2_message_is_not_remembered() {
    let mut client = connected(by_hand(), &[]);
    client.handle_packet(incoming(QoS::ExactlyOnce, 1), NOW);
    let receipt = receipts(&mut client)[0];
    client.acknowledge(receipt, ReasonCode::QUOTA_EXCEEDED, NOW);
    let pubrec = Packet::PubRec(ack(1, ReasonCode::QUOTA_EXCEEDED));
    assert_eq!(packets(&mut client), [pubrec]);
    client.handle_packet(incoming(QoS::ExactlyOnce, 1), NOW);
    assert_eq!(receipts(&mut client).len(), 1);
}

#[test]
fn an_alias_that_was_not_granted_ends_the_connection() {
    let mut client = connected(config(), &[]);
    let publish = Publish {
        topic: Text::EMPTY,
        ..message(QoS::AtMostOnce, "m")
    };
    client.handle_packet(Packet::Publish(publish), NOW);
    assert_eq!(
        outputs(&mut client)[0],
        disconnect(ReasonCode::TOPIC_ALIAS_INVALID)
    );
}
