//! What a server's answer to a publish means for the message.
//!
//! Owns the table from the kind of answer, its reason byte and the circumstances to a [`Class`].
//! Never looks at a text and never keeps anything. Chapters 2.4, 3.4, 3.5, 3.7 and 3.14.
//!
//! ```text
//! answer ─▶ rows, the first that fits ─▶ set otherwise for the code? ─▶ the path's rule ─▶ class
//! ```

mod rows;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;

pub use rows::{ROWS, Row, When};

use crate::{
    client::{Ending, Unsendable},
    reason::ReasonCode,
};

/// How a server answered a publish, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// PUBACK, which ends a QoS 1 exchange.
    PubAck(ReasonCode),
    /// PUBREC; below 0x80 it is one step of an exchange and no answer yet.
    PubRec(ReasonCode),
    /// PUBCOMP, which ends a QoS 2 exchange.
    PubComp(ReasonCode),
    /// The server's limits forbid it, so it was not sent; the code that the server would say.
    NotSent(ReasonCode),
    /// DISCONNECT while the message was in flight.
    Disconnect(ReasonCode),
    /// The connection ended without a word while the message was in flight.
    HangUp,
    /// The link lives and no answer comes.
    Silence,
    /// The link died, or nobody is to blame for its end.
    LinkLost,
}

/// The kinds of [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented with the answer")]
pub enum AnswerKind {
    PubAck,
    PubRec,
    PubComp,
    NotSent,
    Disconnect,
    HangUp,
    Silence,
    LinkLost,
}

/// What is to become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The server has it.
    Delivered(Delivery),
    /// It will never be taken: a dead letter.
    Permanent,
    /// It may be taken later: put aside and offered again until its time is up.
    Deferred,
    /// It will be taken soon: it keeps its place and is offered again.
    Retry,
    /// It may be why the connection ended: offered alone, until that is proven or refuted.
    Suspect,
    /// Nothing is known about it: offered again when there is a link.
    Again,
}

/// How sure it is that a message arrived, and was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The server said so.
    Confirmed,
    /// Nobody was subscribed.
    Unmatched,
    /// A QoS 2 exchange was found finished: it may have arrived twice.
    PerhapsTwice,
    /// A code below 0x80 that no specification has.
    Unrecognised,
    /// A version in which a server can't refuse.
    Unverifiable,
}

/// Where the message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Made just now.
    Live,
    /// Out of the queue.
    Replay,
}

/// How much the loss of a message matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Care {
    /// The next value makes good for it.
    #[default]
    Telemetry,
    /// Each record matters.
    Audit,
}

/// What an answer is judged by besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Where the message comes from.
    pub path: Path,
    /// How much its loss matters.
    pub care: Care,
    /// Whether the version lets a server refuse: MQTT 5.
    pub verifiable: bool,
    /// Whether the last answer before the end of the connection was a refusal, which then is
    /// what ended it.
    pub explained: bool,
}

/// The table, with what an operator set otherwise.
///
/// ```
/// use forebay_proto::{Answer, Care, Circumstances, Class, Classification, Path, ReasonCode};
///
/// let classification = Classification::default();
/// let replay = Circumstances {
///     path: Path::Replay,
///     care: Care::Telemetry,
///     verifiable: true,
///     explained: false,
/// };
/// let answer = Answer::PubAck(ReasonCode::NOT_AUTHORIZED);
/// assert_eq!(classification.judge(answer, replay), Class::Deferred);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classification {
    otherwise: BTreeMap<ReasonCode, Class>,
}

/// Why a code can't be given another class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassificationError {
    /// Codes below 0x80 say that the message arrived.
    #[error("{0} is no refusal")]
    NoRefusal(ReasonCode),
    /// A refusal is permanent, deferred or tried again.
    #[error("a refusal can't be of this class")]
    NoClass,
}

impl Classification {
    /// Gives the refusals with `code` another class.
    ///
    /// # Errors
    /// The code is no refusal, or the class is none of a refusal.
    pub fn set(&mut self, code: ReasonCode, class: Class) -> Result<(), ClassificationError> {
        if !code.is_error() {
            return Err(ClassificationError::NoRefusal(code));
        }
        match class {
            Class::Permanent | Class::Deferred | Class::Retry => {
                self.otherwise.insert(code, class);
                Ok(())
            }
            Class::Delivered(_) | Class::Suspect | Class::Again => {
                Err(ClassificationError::NoClass)
            }
        }
    }

    /// What is to become of a message that was answered so.
    pub fn judge(&self, answer: Answer, circumstances: Circumstances) -> Class {
        let (kind, code) = answer.parts();
        let row = ROWS.iter().find(|row| row.fits(kind, code, circumstances));
        let class = row.map_or(Class::Permanent, |row| row.class);
        match class {
            Class::Permanent | Class::Deferred | Class::Retry => {
                let set = self.otherwise.get(&code).copied();
                on_path(set.unwrap_or(class), code, circumstances)
            }
            Class::Delivered(_) | Class::Suspect | Class::Again => class,
        }
    }

    /// What becomes of a suspect that was proven to end connections in this way.
    pub fn proven(&self, answer: Answer) -> Class {
        match answer {
            Answer::Disconnect(code) => {
                let circumstances = Circumstances {
                    path: Path::Replay,
                    care: Care::Audit,
                    verifiable: true,
                    explained: false,
                };
                match self.judge(Answer::PubAck(code), circumstances) {
                    Class::Deferred => Class::Deferred,
                    Class::Permanent
                    | Class::Retry
                    | Class::Delivered(_)
                    | Class::Suspect
                    | Class::Again => Class::Permanent,
                }
            }
            // A server that holds back its answers is full more often than it is offended.
            Answer::Silence => Class::Deferred,
            Answer::PubAck(_)
            | Answer::PubRec(_)
            | Answer::PubComp(_)
            | Answer::NotSent(_)
            | Answer::HangUp
            | Answer::LinkLost => Class::Permanent,
        }
    }
}

/// The live path of telemetry defers nothing: its topics come again and again, and would fill
/// what is put aside as fast as they are measured. What a server may say when it is overloaded
/// waits in the queue instead, and is deferred from there.
fn on_path(class: Class, code: ReasonCode, circumstances: Circumstances) -> Class {
    let live = circumstances.path == Path::Live && circumstances.care == Care::Telemetry;
    match class {
        Class::Deferred if live && code == ReasonCode::NOT_AUTHORIZED => Class::Permanent,
        Class::Deferred if live => Class::Retry,
        Class::Delivered(_)
        | Class::Permanent
        | Class::Deferred
        | Class::Retry
        | Class::Suspect
        | Class::Again => class,
    }
}

impl Answer {
    /// The kind, and the code that came with it or stands for it.
    pub const fn parts(self) -> (AnswerKind, ReasonCode) {
        match self {
            Self::PubAck(code) => (AnswerKind::PubAck, code),
            Self::PubRec(code) => (AnswerKind::PubRec, code),
            Self::PubComp(code) => (AnswerKind::PubComp, code),
            Self::NotSent(code) => (AnswerKind::NotSent, code),
            Self::Disconnect(code) => (AnswerKind::Disconnect, code),
            Self::HangUp => (AnswerKind::HangUp, ReasonCode::UNSPECIFIED_ERROR),
            Self::Silence => (AnswerKind::Silence, ReasonCode::UNSPECIFIED_ERROR),
            Self::LinkLost => (AnswerKind::LinkLost, ReasonCode::UNSPECIFIED_ERROR),
        }
    }

    /// The answer that the end of a connection is to what was in flight.
    pub const fn of_ending(ending: &Ending) -> Self {
        match ending {
            Ending::ByServer { reason, .. } => Self::Disconnect(*reason),
            Ending::Lost => Self::HangUp,
            Ending::Asked
            | Ending::Refused { .. }
            | Ending::Violation { .. }
            | Ending::TimedOut => Self::LinkLost,
        }
    }

    /// The answer that a server's limit is.
    pub const fn of_limit(limit: Unsendable) -> Self {
        Self::NotSent(match limit {
            Unsendable::TooLarge { .. } => ReasonCode::PACKET_TOO_LARGE,
            Unsendable::QoS { .. } => ReasonCode::QOS_NOT_SUPPORTED,
            Unsendable::Retain => ReasonCode::RETAIN_NOT_SUPPORTED,
            Unsendable::Unencodable => ReasonCode::MALFORMED_PACKET,
        })
    }
}
