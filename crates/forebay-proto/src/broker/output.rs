//! What goes in and out of the broker machine besides packets.
//!
//! Owns the types that the machine and its driver share. The disk is an output
//! ([`Output::Commit`]) and durability an input ([`handle_durable`](super::Broker::handle_durable)).

use alloc::vec::Vec;
use bytes::Bytes;
use core::fmt;

use crate::{
    id::{ClientId, ConnectionId, PacketId, Rowid, Seq, SessionId},
    message::Message,
    packet::Packet,
    reason::ReasonCode,
    session::{Direction, Mark, Outcome},
    text::Text,
    time::Instant,
};

/// What the driver must do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a packet. Packets of one connection leave in this order.
    Transmit {
        /// Where to.
        connection: ConnectionId,
        /// What.
        packet: Packet,
    },
    /// Send what was transmitted before, then close the connection. The machine has forgotten it:
    /// nothing more is to be handed in for it.
    Close {
        /// Which connection.
        connection: ConnectionId,
        /// Why, for the log; success after a DISCONNECT of the client.
        reason: ReasonCode,
    },
    /// Make the operations durable as one atomic group, in the order of `seq`, then hand `seq` to
    /// [`handle_durable`](super::Broker::handle_durable). Numbers rise by one.
    Commit {
        /// The place in the order.
        seq: Seq,
        /// At least one operation.
        ops: Vec<Op>,
    },
    /// Load a session's queues anew after every commit before this output is durable: all of the
    /// IN queue; of the OUT queue every message with a packet identifier, then queued ones until
    /// `window` messages are loaded. Answer with
    /// [`handle_resumed`](super::Broker::handle_resumed).
    Resume {
        /// Whose queues.
        session: SessionId,
        /// To be handed back; an answer with an older one is ignored.
        epoch: u64,
        /// The most OUT messages to load; those with a packet identifier are loaded all the same.
        window: u16,
    },
    /// Find out whether a user has this password, and answer with
    /// [`handle_authenticated`](super::Broker::handle_authenticated).
    Authenticate {
        /// Whose CONNECT waits for it.
        connection: ConnectionId,
        /// The user name, `None` where only a password was given.
        user: Option<Text>,
        /// The password.
        password: Password,
    },
    /// Load the next `count` queued messages of the OUT queue and answer with
    /// [`handle_promoted`](super::Broker::handle_promoted).
    Promote {
        /// Whose queue.
        session: SessionId,
        /// To be handed back; an answer with an older one is ignored.
        epoch: u64,
        /// How many.
        count: u16,
    },
}

/// A password as it came, which no text ever shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(pub Option<Bytes>);

impl From<Option<Bytes>> for Password {
    fn from(bytes: Option<Bytes>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// An operation on the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Open the IN and OUT queues of a session, making them where they don't exist. First for
    /// each session after a start.
    OpenQueues {
        /// Whose queues.
        session: SessionId,
        /// What they are named after.
        client_id: ClientId,
    },
    /// End both queues of a session and everything in them.
    DropQueues {
        /// Whose queues.
        session: SessionId,
    },
    /// A message's content, stored once; the entries that follow in this commit refer to it.
    Content {
        /// When it came.
        time: Instant,
        /// The encoded message, [`Message::encoded`].
        bytes: Bytes,
    },
    /// The content that a pending IN message already has; the entries that follow in this commit
    /// refer to it.
    ContentOf {
        /// Whose IN queue.
        session: SessionId,
        /// Which message.
        rowid: Rowid,
    },
    /// A message in a queue, with the content last named in this commit. In state
    /// [`Queued`](crate::session::Handshake::Queued) it waits for a promotion, otherwise it is
    /// in flight.
    Append {
        /// Whose queue.
        session: SessionId,
        /// Which of the two.
        direction: Direction,
        /// The next number of that queue.
        rowid: Rowid,
        /// Its flags.
        mark: Mark,
        /// Present once it is in an exchange.
        packet_id: Option<PacketId>,
        /// What this queue must keep beside the shared content: the subscription identifiers, as
        /// variable byte integers.
        note: Bytes,
    },
    /// New flags and packet identifier of a pending message.
    SetMark {
        /// Whose queue.
        session: SessionId,
        /// Which of the two.
        direction: Direction,
        /// Which message.
        rowid: Rowid,
        /// Its flags.
        mark: Mark,
        /// Its packet identifier.
        packet_id: Option<PacketId>,
    },
    /// The message is done with.
    Finish {
        /// Whose queue.
        session: SessionId,
        /// Which of the two.
        direction: Direction,
        /// Which message.
        rowid: Rowid,
        /// Why.
        outcome: Outcome,
    },
    /// Set a row of a table.
    Put {
        /// Which table.
        table: Table,
        /// The key.
        key: Bytes,
        /// The value.
        value: Bytes,
    },
    /// Remove a row of a table, if it is there.
    Delete {
        /// Which table.
        table: Table,
        /// The key.
        key: Bytes,
    },
}

/// A table of small keyed state in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Client identifier → session.
    Sessions = 1,
    /// Client identifier and filter → subscription.
    Subscriptions = 2,
    /// Topic name → message.
    Retained = 3,
    /// Client identifier → will.
    Wills = 4,
    /// Client identifier → user name, where one was made sure of.
    Users = 5,
}

/// A message as the store gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its place in the queue.
    pub rowid: Rowid,
    /// When it came.
    pub time: Instant,
    /// Its flags.
    pub mark: Mark,
    /// Its packet identifier.
    pub packet_id: Option<PacketId>,
    /// What was kept beside the content.
    pub note: Bytes,
    /// The content, or `None` where it could not be read.
    pub message: Option<Message>,
}

/// The answer to [`Output::Resume`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The whole IN queue, in order.
    pub inbound: Vec<Stored>,
    /// The OUT messages with a packet identifier and the first queued ones, in order.
    pub outbound: Vec<Stored>,
    /// OUT messages that stay queued.
    pub queued: u64,
}

/// What a queue of a stored session looks like at a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// The number the next message gets.
    pub next_rowid: u64,
    /// Messages that are not done with.
    pub pending: u64,
}
