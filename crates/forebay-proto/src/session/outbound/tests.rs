//! The window, the identifiers and the handshake.

use super::*;
use crate::session::Origin;
use alloc::vec;
use bytes::Bytes;

fn mark(qos: QoS) -> Mark {
    Mark {
        qos,
        retain: false,
        dup: false,
        origin: Origin::Client,
        state: Handshake::Queued,
    }
}

/// A message in an exchange, as the store gives it back.
fn stored(rowid: u64, id: u16, state: Handshake) -> Stored {
    Stored {
        rowid: Rowid(rowid),
        time: crate::time::Instant::default(),
        mark: Mark {
            state,
            ..mark(QoS::ExactlyOnce)
        },
        packet_id: PacketId::new(id),
        note: Bytes::new(),
        message: Some(crate::message::Message::new(&crate::message::Parts {
            topic: &crate::text::Text::EMPTY,
            qos: QoS::ExactlyOnce,
            retain: false,
            expires_at: None,
            properties: &crate::property::Properties::EMPTY,
            payload: &Bytes::new(),
        })),
    }
}

fn connected(window: u16) -> Outbound {
    let mut out = Outbound::new();
    out.resume(window, Vec::new(), 0);
    out
}

fn send(out: &mut Outbound, qos: QoS) -> PacketId {
    let rowid = out.take_rowid();
    out.send(rowid, mark(qos)).0
}

#[test]
fn the_window_fills_and_each_kind_of_end_gives_its_place_back() {
    use AckKind::{Ack, Complete, Received};
    let ends: [(QoS, &[(AckKind, ReasonCode)]); 4] = [
        (QoS::AtLeastOnce, &[(Ack, ReasonCode::SUCCESS)]),
        (QoS::AtLeastOnce, &[(Ack, ReasonCode::QUOTA_EXCEEDED)]),
        (QoS::ExactlyOnce, &[(Received, ReasonCode::QUOTA_EXCEEDED)]),
        (
            QoS::ExactlyOnce,
            &[
                (Received, ReasonCode::SUCCESS),
                (Complete, ReasonCode::SUCCESS),
            ],
        ),
    ];
    for (qos, steps) in ends {
        let mut out = connected(2);
        let id = send(&mut out, qos);
        assert!(out.may_send_now());
        send(&mut out, qos);
        assert!(!out.may_send_now());
        for (at, (kind, reason)) in steps.iter().enumerate() {
            let step = out.acknowledge(*kind, id, *reason);
            let is_last = at + 1 == steps.len();
            assert_eq!(matches!(step, AckStep::Finish(..)), is_last);
            assert_eq!(out.may_send_now(), is_last);
        }
        assert_eq!(out.pending(), 1);
    }
}

#[test]
fn identifiers_go_round_past_those_in_use() {
    let mut out = connected(10);
    let held = send(&mut out, QoS::AtLeastOnce);
    for _ in 0..70_000 {
        let id = send(&mut out, QoS::AtLeastOnce);
        assert_ne!(id, held);
        let step = out.acknowledge(AckKind::Ack, id, ReasonCode::SUCCESS);
        assert!(matches!(step, AckStep::Finish(..)));
    }
}

#[test]
fn with_every_identifier_in_use_nothing_is_sent() {
    let mut out = connected(u16::MAX);
    for _ in 0..u16::MAX {
        assert!(out.may_send_now());
        send(&mut out, QoS::ExactlyOnce);
    }
    assert!(!out.may_send_now());
    out.enqueue();
    assert_eq!(out.take_promotion(), 0);
}

#[test]
fn what_a_narrower_connection_has_no_room_for_waits_its_turn_before_anything_new() {
    let mut out = Outbound::new();
    let exchanges = vec![
        stored(1, 1, Handshake::WaitForPubComp),
        stored(2, 2, Handshake::WaitForPubRec),
        stored(3, 3, Handshake::WaitForPubRec),
    ];
    out.resume(1, exchanges, 1);
    assert_eq!(out.unreleased(), [PacketId::new(1).unwrap()]);
    // A PUBREL takes no place in the window.
    assert_eq!(out.next_resend().map(|it| it.rowid), Some(Rowid(2)));
    assert_eq!(out.next_resend(), None);
    assert_eq!(out.take_promotion(), 0);
    for (id, next) in [(1, None), (2, Some(Rowid(3))), (3, None)] {
        let id = PacketId::new(id).unwrap();
        let _ = out.acknowledge(AckKind::Received, id, ReasonCode::SUCCESS);
        let _ = out.acknowledge(AckKind::Complete, id, ReasonCode::SUCCESS);
        assert_eq!(out.next_resend().map(|it| it.rowid), next);
    }
    assert_eq!(out.take_promotion(), 1);
}

#[test]
fn an_answer_before_the_resend_takes_the_resend_back() {
    let mut out = Outbound::new();
    let exchanges = vec![
        stored(1, 1, Handshake::WaitForPubRec),
        stored(2, 2, Handshake::WaitForPubRec),
    ];
    out.resume(1, exchanges.clone(), 0);
    assert!(out.next_resend().is_some());
    let second = PacketId::new(2).unwrap();
    let _ = out.acknowledge(AckKind::Received, second, ReasonCode::QUOTA_EXCEEDED);
    let first = PacketId::new(1).unwrap();
    let _ = out.acknowledge(AckKind::Received, first, ReasonCode::QUOTA_EXCEEDED);
    assert_eq!(out.next_resend(), None);
    // It never held a place: exactly one is free.
    send(&mut out, QoS::AtLeastOnce);
    assert!(!out.may_send_now());

    out.resume(1, exchanges, 0);
    assert!(out.next_resend().is_some());
    for id in [second, first] {
        let _ = out.acknowledge(AckKind::Received, id, ReasonCode::SUCCESS);
    }
    let _ = out.acknowledge(AckKind::Complete, first, ReasonCode::SUCCESS);
    assert_eq!(out.next_resend(), None, "no PUBLISH after its PUBREC");
}

#[test]
fn a_store_that_had_fewer_than_were_asked_for_ends_the_queue_up_to_what_came_since() {
    let mut out = connected(5);
    for _ in 0..3 {
        out.enqueue();
    }
    assert_eq!(out.take_promotion(), 3);
    assert_eq!(out.take_promotion(), 0, "one question at a time");
    out.enqueue();
    assert!(!out.may_send_now());
    out.promoted(2);
    assert_eq!(out.pending(), 1);
    assert_eq!(out.take_promotion(), 1);
    out.promoted(1);
    assert!(out.may_send_now());
}

#[test]
fn what_came_while_the_store_was_asked_for_a_session_is_counted_once() {
    let mut out = Outbound::restored(10, 4);
    assert_eq!(out.pending(), 4);
    out.ask();
    out.enqueue();
    out.resume(2, Vec::new(), 4);
    assert_eq!(out.pending(), 5);
    out.pause();
    assert_eq!(out.pending(), 5);
    assert!(!out.is_live() && !out.may_send_now());
}
