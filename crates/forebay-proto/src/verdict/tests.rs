//! The table against the claims, over every kind, byte and circumstance.

use alloc::vec::Vec;

use super::*;
use crate::{packet::QoS, text::Text};

type Kind = fn(ReasonCode) -> Answer;

const ACKS: [Kind; 3] = [Answer::PubAck, Answer::PubRec, Answer::PubComp];

const REPLAY: Circumstances = Circumstances {
    path: Path::Replay,
    care: Care::Telemetry,
    verifiable: true,
    explained: false,
};
const LIVE: Circumstances = Circumstances {
    path: Path::Live,
    ..REPLAY
};
const LIVE_AUDIT: Circumstances = Circumstances {
    care: Care::Audit,
    ..LIVE
};
const EXPLAINED: Circumstances = Circumstances {
    explained: true,
    ..REPLAY
};

fn judge(answer: Answer, circumstances: Circumstances) -> Class {
    Classification::default().judge(answer, circumstances)
}

fn all() -> impl Iterator<Item = ReasonCode> {
    (0..=u8::MAX).map(ReasonCode)
}

fn refusals() -> impl Iterator<Item = ReasonCode> {
    all().filter(|code| code.is_error())
}

fn every_circumstance() -> Vec<Circumstances> {
    let mut found = Vec::new();
    for path in [Path::Live, Path::Replay] {
        for care in [Care::Telemetry, Care::Audit] {
            for verifiable in [false, true] {
                for explained in [false, true] {
                    found.push(Circumstances {
                        path,
                        care,
                        verifiable,
                        explained,
                    });
                }
            }
        }
    }
    found
}

#[test]
fn every_acknowledgement_from_0x80_on_is_a_refusal_of_its_message_and_no_lost_link() {
    // edge claim 2
    for circumstances in every_circumstance() {
        for (kind, code) in ACKS
            .iter()
            .flat_map(|kind| refusals().map(move |it| (kind, it)))
        {
            let answer = kind(code);
            if answer == Answer::PubComp(ReasonCode::PACKET_IDENTIFIER_NOT_FOUND) {
                continue;
            }
            let class = judge(answer, circumstances);
            assert!(
                matches!(class, Class::Permanent | Class::Deferred | Class::Retry),
                "{answer:?} {circumstances:?}: {class:?}"
            );
        }
    }
}

#[test]
fn every_acknowledgement_below_0x80_is_a_delivery_and_unknown_ones_are_told_apart() {
    // edge claims 1, 2
    for code in all().filter(|code| !code.is_error()) {
        let expected = match code.0 {
            0x00 => Delivery::Confirmed,
            0x10 => Delivery::Unmatched,
            _ => Delivery::Unrecognised,
        };
        for kind in ACKS {
            assert_eq!(judge(kind(code), REPLAY), Class::Delivered(expected));
            assert_eq!(judge(kind(code), LIVE), Class::Delivered(expected));
        }
    }
}

#[test]
fn a_code_of_the_queue_is_permanent_deferred_or_tried_again_as_the_claim_lists_it() {
    // edge claim 3
    for code in refusals() {
        let expected = match code.0 {
            0x80 | 0x83 | 0x87 => Class::Deferred,
            0x88 | 0x89 | 0x91 | 0x96 | 0x97 | 0x9F => Class::Retry,
            _ => Class::Permanent,
        };
        let kinds: [Kind; 3] = [Answer::PubAck, Answer::PubRec, Answer::NotSent];
        for answer in kinds.map(|kind| kind(code)) {
            assert_eq!(judge(answer, REPLAY), expected, "{answer:?}");
            assert_eq!(judge(answer, LIVE_AUDIT), expected, "{answer:?}");
        }
    }
}

#[test]
fn live_telemetry_defers_nothing() {
    // edge claims 3, 12
    let refused = |code| judge(Answer::PubAck(code), LIVE);
    assert_eq!(refused(ReasonCode::NOT_AUTHORIZED), Class::Permanent);
    // Overload is not taken for a verdict: such a message goes to the queue.
    assert_eq!(refused(ReasonCode::UNSPECIFIED_ERROR), Class::Retry);
    let overload = ReasonCode::IMPLEMENTATION_SPECIFIC_ERROR;
    assert_eq!(refused(overload), Class::Retry);
    for code in refusals() {
        assert_ne!(refused(code), Class::Deferred, "{code}");
    }
}

#[test]
fn a_pubcomp_for_an_exchange_that_is_over_is_a_delivery_perhaps_the_second() {
    // edge claim 4
    let over = ReasonCode::PACKET_IDENTIFIER_NOT_FOUND;
    let twice = Class::Delivered(Delivery::PerhapsTwice);
    assert_eq!(judge(Answer::PubComp(over), REPLAY), twice);
    assert_eq!(judge(Answer::PubRec(over), REPLAY), Class::Permanent);
    assert_eq!(judge(Answer::PubAck(over), REPLAY), Class::Permanent);
}

#[test]
fn a_disconnect_is_a_verdict_about_a_message_for_the_codes_that_are() {
    // edge claim 5
    for code in all() {
        let about_a_message = matches!(
            code.0,
            0x81 | 0x82 | 0x87 | 0x90 | 0x94 | 0x95 | 0x99 | 0x9A | 0x9B
        );
        let expected = if about_a_message {
            Class::Suspect
        } else {
            Class::Again
        };
        assert_eq!(judge(Answer::Disconnect(code), REPLAY), expected, "{code}");
    }
}

#[test]
fn hivemq_refuses_and_then_disconnects_and_the_rest_of_the_window_is_not_suspected() {
    // edge claims 3, 5
    let code = ReasonCode::NOT_AUTHORIZED;
    assert_eq!(judge(Answer::PubAck(code), REPLAY), Class::Deferred);
    assert_eq!(judge(Answer::Disconnect(code), EXPLAINED), Class::Again);
    assert_eq!(judge(Answer::HangUp, EXPLAINED), Class::Again);
}

#[test]
fn aws_hangs_up_without_an_answer_and_a_proven_suspect_is_given_up() {
    // edge claim 5
    let table = Classification::default();
    assert_eq!(judge(Answer::HangUp, REPLAY), Class::Suspect);
    assert_eq!(table.proven(Answer::HangUp), Class::Permanent);
    // Over MQTT 5 it says why, and that can be put right.
    let denied = Answer::Disconnect(ReasonCode::NOT_AUTHORIZED);
    assert_eq!(judge(denied, REPLAY), Class::Suspect);
    assert_eq!(table.proven(denied), Class::Deferred);
    let too_large = Answer::Disconnect(ReasonCode::PACKET_TOO_LARGE);
    assert_eq!(table.proven(too_large), Class::Permanent);
}

#[test]
fn vernemq_says_0x83_under_load_and_nothing_is_given_up_for_it_at_once() {
    // edge claim 3
    let answer = Answer::PubAck(ReasonCode::IMPLEMENTATION_SPECIFIC_ERROR);
    for circumstances in every_circumstance() {
        let class = judge(answer, circumstances);
        assert!(matches!(class, Class::Deferred | Class::Retry), "{class:?}");
    }
}

#[test]
fn rabbitmq_never_answers_over_3_1_1_what_a_full_queue_rejects_and_it_gets_another_chance() {
    // edge claims 5, 7
    let table = Classification::default();
    assert_eq!(judge(Answer::Silence, REPLAY), Class::Suspect);
    assert_eq!(table.proven(Answer::Silence), Class::Deferred);
}

#[test]
fn a_version_without_refusals_acknowledges_what_nobody_can_verify() {
    // edge claim 7
    let circumstances = Circumstances {
        verifiable: false,
        ..REPLAY
    };
    for kind in ACKS {
        let class = judge(kind(ReasonCode::SUCCESS), circumstances);
        assert_eq!(class, Class::Delivered(Delivery::Unverifiable));
    }
}

#[test]
fn what_a_servers_limits_forbid_has_the_code_that_the_server_would_say() {
    // edge claim 6
    let limits = [
        (Unsendable::TooLarge { size: 2, limit: 1 }, 0x95),
        (
            Unsendable::QoS {
                qos: QoS::ExactlyOnce,
                limit: QoS::AtMostOnce,
            },
            0x9B,
        ),
        (Unsendable::Retain, 0x9A),
        (Unsendable::Unencodable, 0x81),
    ];
    for (limit, code) in limits {
        let answer = Answer::of_limit(limit);
        assert_eq!(answer, Answer::NotSent(ReasonCode(code)));
        assert_eq!(judge(answer, REPLAY), Class::Permanent);
    }
}

#[test]
fn only_a_word_of_the_server_or_a_hang_up_puts_a_message_under_suspicion() {
    // edge claim 5
    let reason = ReasonCode::PROTOCOL_ERROR;
    let text: Option<Text> = None;
    let detail = "a packet before CONNACK";
    let endings = [
        (
            Ending::ByServer {
                reason,
                text: text.clone(),
            },
            Answer::Disconnect(reason),
        ),
        (Ending::Lost, Answer::HangUp),
        (Ending::TimedOut, Answer::LinkLost),
        (Ending::Asked, Answer::LinkLost),
        (Ending::Refused { reason, text }, Answer::LinkLost),
        (Ending::Violation { reason, detail }, Answer::LinkLost),
    ];
    for (ending, expected) in endings {
        assert_eq!(Answer::of_ending(&ending), expected);
    }
    assert_eq!(judge(Answer::LinkLost, REPLAY), Class::Again);
}

#[test]
fn an_operator_can_set_the_class_of_a_refusal_and_of_nothing_else() {
    // edge claim 3
    let mut table = Classification::default();
    let code = ReasonCode::NOT_AUTHORIZED;
    table.set(code, Class::Retry).expect("a refusal");
    for circumstances in every_circumstance() {
        assert_eq!(
            table.judge(Answer::PubAck(code), circumstances),
            Class::Retry
        );
    }
    assert_eq!(judge(Answer::PubAck(code), REPLAY), Class::Deferred);
    let other = ReasonCode::QUOTA_EXCEEDED;
    table.set(other, Class::Deferred).expect("a refusal");
    let answer = Answer::PubAck(other);
    assert_eq!(table.judge(answer, REPLAY), Class::Deferred);
    assert_eq!(table.judge(answer, LIVE), Class::Retry);
    assert_eq!(
        table.set(ReasonCode::SUCCESS, Class::Permanent),
        Err(ClassificationError::NoRefusal(ReasonCode::SUCCESS))
    );
    for class in [
        Class::Delivered(Delivery::Confirmed),
        Class::Suspect,
        Class::Again,
    ] {
        assert_eq!(table.set(code, class), Err(ClassificationError::NoClass));
    }
}

#[test]
fn every_row_decides_something() {
    for (at, row) in ROWS.iter().enumerate() {
        let decides = every_circumstance().into_iter().any(|circumstances| {
            row.kinds.iter().any(|&kind| {
                all().any(|code| {
                    let first = ROWS
                        .iter()
                        .position(|it| it.fits(kind, code, circumstances));
                    first == Some(at)
                })
            })
        });
        assert!(decides, "{row:?} is hidden by the rows before it");
    }
}
