//! The 16-bit user flag that a message has in a queue.
//!
//! Owns its bit layout and the names that are printed. Setting one field never touches another.
//!
//! ```text
//!  15..12          11..10   9..8        7    6       5..4  3..1      0
//!  handshake state origin   direction   dup  retain  QoS   reserved  pending
//! ```

use std::fmt;

const PENDING: u16 = 0x0001;
const QOS: u16 = 0x0030;
const RETAIN: u16 = 0x0040;
const DUP: u16 = 0x0080;
const DIRECTION: u16 = 0x0300;
const ORIGIN: u16 = 0x0C00;
const STATE: u16 = 0xF000;

/// What a queue keeps of a message's delivery, in 16 bits.
///
/// ```
/// use forebay_store::{Direction, Origin, State, UserFlag};
///
/// let flag = UserFlag::default()
///     .with_pending(true)
///     .with_qos(1)
///     .with_direction(Direction::Out)
///     .with_origin(Origin::Client)
///     .with_state(State::WaitForPuback);
/// assert_eq!(flag.bits(), 0x3611);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UserFlag(u16);

impl UserFlag {
    /// Takes the bits as they are, reserved ones included.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits as they are stored.
    pub const fn bits(self) -> u16 {
        self.0
    }

    const fn with(self, mask: u16, bits: u16) -> Self {
        Self(self.0 & !mask | bits & mask)
    }

    /// Whether the message is not done with.
    pub const fn pending(self) -> bool {
        self.0 & PENDING != 0
    }

    /// Sets the pending bit.
    #[must_use]
    pub const fn with_pending(self, pending: bool) -> Self {
        self.with(PENDING, if pending { PENDING } else { 0 })
    }

    /// The QoS, 0 to 3; 3 is not one of MQTT.
    pub const fn qos(self) -> u8 {
        ((self.0 & QOS) >> 4) as u8
    }

    /// Sets the QoS; only its two lowest bits count.
    #[must_use]
    pub const fn with_qos(self, qos: u8) -> Self {
        self.with(QOS, (qos as u16) << 4)
    }

    /// The retain bit.
    pub const fn retain(self) -> bool {
        self.0 & RETAIN != 0
    }

    /// Sets the retain bit.
    #[must_use]
    pub const fn with_retain(self, retain: bool) -> Self {
        self.with(RETAIN, if retain { RETAIN } else { 0 })
    }

    /// The dup bit.
    pub const fn dup(self) -> bool {
        self.0 & DUP != 0
    }

    /// Sets the dup bit.
    #[must_use]
    pub const fn with_dup(self, dup: bool) -> Self {
        self.with(DUP, if dup { DUP } else { 0 })
    }

    /// Which way the message goes.
    pub const fn direction(self) -> Direction {
        match self.0 & DIRECTION {
            0x0100 => Direction::In,
            0x0200 => Direction::Out,
            _ => Direction::None,
        }
    }

    /// Sets which way the message goes.
    #[must_use]
    pub const fn with_direction(self, direction: Direction) -> Self {
        self.with(DIRECTION, direction as u16)
    }

    /// Who made the message.
    pub const fn origin(self) -> Origin {
        match self.0 & ORIGIN {
            0x0400 => Origin::Client,
            0x0800 => Origin::Broker,
            _ => Origin::None,
        }
    }

    /// Sets who made the message.
    #[must_use]
    pub const fn with_origin(self, origin: Origin) -> Self {
        self.with(ORIGIN, origin as u16)
    }

    /// The step of the handshake.
    pub const fn state(self) -> State {
        State::from_number((self.0 >> 12) as u8)
    }

    /// Sets the step of the handshake.
    #[must_use]
    pub const fn with_state(self, state: State) -> Self {
        self.with(STATE, (state.number() as u16) << 12)
    }
}

impl fmt::Debug for UserFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserFlag({self})")
    }
}

/// The fields in words and the bits in hexadecimal.
impl fmt::Display for UserFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:#06x} {} qos{} {} {} {}",
            self.0,
            if self.pending() { "pending" } else { "done" },
            self.qos(),
            self.direction(),
            self.origin(),
            self.state(),
        )?;
        f.write_str(if self.retain() { " retain" } else { "" })?;
        f.write_str(if self.dup() { " dup" } else { "" })
    }
}

/// Which way a message goes, seen from the owner of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Direction {
    /// Neither, or not said.
    #[default]
    None = 0,
    /// What the session receives.
    In = 0x0100,
    /// What the session sends.
    Out = 0x0200,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::In => "IN",
            Self::Out => "OUT",
        })
    }
}

/// Who made a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Origin {
    /// Neither, or not said.
    #[default]
    None = 0,
    /// A client published it.
    Client = 0x0400,
    /// The broker made it.
    Broker = 0x0800,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Client => "Client",
            Self::Broker => "Broker",
        })
    }
}

/// The step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the names are those of the packets they wait for or send"
)]
pub enum State {
    Invalid,
    PublishQos0,
    PublishQos1,
    WaitForPuback,
    PublishQos2,
    WaitForPubrec,
    ResendPubrel,
    WaitForPubrel,
    ResendPubcomp,
    WaitForPubcomp,
    SendPubrec,
    Queued,
    /// A number from 12 to 15.
    Unknown(u8),
}

const STATES: [(State, &str); 12] = [
    (State::Invalid, "invalid"),
    (State::PublishQos0, "publish_qos0"),
    (State::PublishQos1, "publish_qos1"),
    (State::WaitForPuback, "wait_for_puback"),
    (State::PublishQos2, "publish_qos2"),
    (State::WaitForPubrec, "wait_for_pubrec"),
    (State::ResendPubrel, "resend_pubrel"),
    (State::WaitForPubrel, "wait_for_pubrel"),
    (State::ResendPubcomp, "resend_pubcomp"),
    (State::WaitForPubcomp, "wait_for_pubcomp"),
    (State::SendPubrec, "send_pubrec"),
    (State::Queued, "queued"),
];

impl State {
    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Invalid,
            1 => Self::PublishQos0,
            2 => Self::PublishQos1,
            3 => Self::WaitForPuback,
            4 => Self::PublishQos2,
            5 => Self::WaitForPubrec,
            6 => Self::ResendPubrel,
            7 => Self::WaitForPubrel,
            8 => Self::ResendPubcomp,
            9 => Self::WaitForPubcomp,
            10 => Self::SendPubrec,
            11 => Self::Queued,
            other => Self::Unknown(other),
        }
    }

    /// The number in the flag's highest four bits.
    pub const fn number(self) -> u8 {
        match self {
            Self::Invalid => 0,
            Self::PublishQos0 => 1,
            Self::PublishQos1 => 2,
            Self::WaitForPuback => 3,
            Self::PublishQos2 => 4,
            Self::WaitForPubrec => 5,
            Self::ResendPubrel => 6,
            Self::WaitForPubrel => 7,
            Self::ResendPubcomp => 8,
            Self::WaitForPubcomp => 9,
            Self::SendPubrec => 10,
            Self::Queued => 11,
            Self::Unknown(number) => number & 0xF,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = STATES.iter().find(|(state, _)| state == self);
        f.write_str(name.map_or("unknown", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests;
