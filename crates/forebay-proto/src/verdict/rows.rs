//! The rows of the table, in the order in which they are looked at.

use core::ops::RangeInclusive;

use super::{
    AnswerKind::{self, Disconnect, HangUp, LinkLost, NotSent, PubAck, PubComp, PubRec, Silence},
    Circumstances, Class, Delivery,
};
use crate::reason::ReasonCode;

/// One row of the table. The first that fits decides.
#[derive(Debug)]
pub struct Row {
    /// The answers it is about.
    pub kinds: &'static [AnswerKind],
    /// The codes it is about.
    pub codes: RangeInclusive<u8>,
    /// In which circumstances.
    pub when: When,
    /// What is to become of the message.
    pub class: Class,
    /// Why, for people.
    pub why: &'static str,
}

/// In which circumstances a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In all.
    Always,
    /// Where the version has no refusals.
    Unverifiable,
    /// Where a refusal came just before.
    Explained,
}

impl Row {
    /// Whether the row is about this answer.
    pub fn fits(&self, kind: AnswerKind, code: ReasonCode, circumstances: Circumstances) -> bool {
        let when = match self.when {
            When::Always => true,
            When::Unverifiable => !circumstances.verifiable,
            When::Explained => circumstances.explained,
        };
        when && self.kinds.contains(&kind) && self.codes.contains(&code.0)
    }
}

const ACKS: &[AnswerKind] = &[PubAck, PubRec, PubComp];
const REFUSALS: &[AnswerKind] = &[PubAck, PubRec, PubComp, NotSent];
const ENDS: &[AnswerKind] = &[Disconnect, HangUp];

const fn row(kinds: &'static [AnswerKind], code: u8, class: Class, why: &'static str) -> Row {
    rows(kinds, code..=code, When::Always, class, why)
}

const fn rows(
    kinds: &'static [AnswerKind],
    codes: RangeInclusive<u8>,
    when: When,
    class: Class,
    why: &'static str,
) -> Row {
    Row {
        kinds,
        codes,
        when,
        class,
        why,
    }
}

const fn delivered(delivery: Delivery) -> Class {
    Class::Delivered(delivery)
}

/// The table.
///
/// Brokers refuse in ways of their own. HiveMQ answers 0x87 and then disconnects: the answer is
/// the verdict, and explains the end. AWS IoT Core hangs up without an answer. VerneMQ says 0x83
/// under load. RabbitMQ never acknowledges over 3.1.1 what a full queue rejects. Mosquitto answers
/// a message that is too large with PUBACK 0x95, which the specification does not list there.
#[rustfmt::skip]
pub static ROWS: &[Row] = &[
    rows(ACKS, 0x00..=0x7F, When::Unverifiable, delivered(Delivery::Unverifiable), "this version has no refusals"),
    row(ACKS, 0x00, delivered(Delivery::Confirmed), "the server has it"),
    row(ACKS, 0x10, delivered(Delivery::Unmatched), "the server has it, nobody is subscribed"),
    row(&[PubComp], 0x92, delivered(Delivery::PerhapsTwice), "the server had it from an earlier attempt"),
    rows(ACKS, 0x00..=0x7F, When::Always, delivered(Delivery::Unrecognised), "below 0x80 is success, whatever it says"),

    row(REFUSALS, 0x87, Class::Deferred, "an access list can be changed, and an upgrade may be under way"),
    row(REFUSALS, 0x80, Class::Deferred, "some servers say it when they are overloaded"),
    row(REFUSALS, 0x83, Class::Deferred, "some servers say it when they are overloaded"),
    row(REFUSALS, 0x91, Class::Retry, "the packet identifier is in use; the next one is not"),
    row(REFUSALS, 0x97, Class::Retry, "a quota is used up for the time being"),
    row(REFUSALS, 0x88, Class::Retry, "the server is not available for the time being"),
    row(REFUSALS, 0x89, Class::Retry, "the server is busy"),
    row(REFUSALS, 0x96, Class::Retry, "the messages come too fast"),
    row(REFUSALS, 0x9F, Class::Retry, "the connections come too fast"),
    row(REFUSALS, 0x90, Class::Permanent, "the topic name is not accepted, and stays what it is"),
    row(REFUSALS, 0x94, Class::Permanent, "the topic alias is not accepted"),
    row(REFUSALS, 0x95, Class::Permanent, "the message is too large, and stays what it is"),
    row(REFUSALS, 0x99, Class::Permanent, "the payload is not of its format, and stays what it is"),
    row(REFUSALS, 0x9A, Class::Permanent, "the server keeps no retained messages"),
    row(REFUSALS, 0x9B, Class::Permanent, "the server does not support this QoS"),
    rows(REFUSALS, 0x80..=0xFF, When::Always, Class::Permanent, "not known to pass; a queue must not wait for it"),

    rows(ENDS, 0x00..=0xFF, When::Explained, Class::Again, "the refusal before it is why the server ended the connection"),
    row(&[Disconnect], 0x81, Class::Suspect, "the server could not read a message"),
    row(&[Disconnect], 0x82, Class::Suspect, "a message broke the protocol in the server's eyes"),
    row(&[Disconnect], 0x87, Class::Suspect, "a message was not authorised"),
    row(&[Disconnect], 0x90, Class::Suspect, "a topic name was not accepted"),
    row(&[Disconnect], 0x94, Class::Suspect, "a topic alias was not accepted"),
    row(&[Disconnect], 0x95, Class::Suspect, "a message was too large"),
    row(&[Disconnect], 0x99, Class::Suspect, "a payload was not of its format"),
    row(&[Disconnect], 0x9A, Class::Suspect, "a message was retained"),
    row(&[Disconnect], 0x9B, Class::Suspect, "the QoS of a message is not supported"),
    rows(&[Disconnect], 0x00..=0xFF, When::Always, Class::Again, "about the connection, not about a message"),
    rows(&[HangUp], 0x00..=0xFF, When::Always, Class::Suspect, "a hang-up that keeps following a message is a verdict about it"),
    rows(&[Silence], 0x00..=0xFF, When::Always, Class::Suspect, "an answer that never comes may be a refusal"),
    rows(&[LinkLost], 0x00..=0xFF, When::Always, Class::Again, "a lost link says nothing about a message"),
];
