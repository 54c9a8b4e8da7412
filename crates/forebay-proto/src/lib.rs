//! The protocol and the rules of Forebay.
//!
//! Packets of MQTT 5, 3.1.1 and 3.1, and the machines that decide what happens to them. Nothing
//! here reads a clock, opens a file or a socket, or spawns a task: inputs come through `handle_*`,
//! what to do next leaves through `poll_*`, and time is an argument.

#![no_std]

extern crate alloc;

mod access;
mod broker;
mod client;
mod id;
mod limits;
mod message;
mod packet;
mod property;
mod reason;
mod session;
mod subscription;
mod text;
mod time;
mod topic;
mod verdict;

pub use access::{Access, Acl, AclError, AclFault, Anonymous, RefusedPublish, Who};
pub use broker::{
    Broker, Config, Denied, Login, Op, Output, Password, Peer, QueueState, RestoreError, Resumed,
    Stats, Stored, Table, message_properties, session_row,
};
pub use client::{
    Client, ClientConfig, ClientEvent, ClientOutput, Connected, Ending, PeerLimits, PublishError,
    PublishToken, Receipt, RequestError, RequestToken, Unsendable, Verdict,
};
pub use id::{ClientId, ConnectionId, PacketId, Rowid, Seq, SessionId};
pub use limits::Limits;
pub use message::{Message, Parts};
pub use packet::{
    Ack, Auth, ConnAck, Connect, DecodeError, Decoder, Disconnect, EncodeError, Packet, Publish,
    QoS, RetainHandling, Role, SubAck, Subscribe, SubscriptionOptions, Unsubscribe, Version,
    WillMessage, encode, encoded_len,
};
pub use property::{Properties, PropertiesBuilder, Property, PropertyId};
pub use reason::ReasonCode;
pub use session::{Direction, Handshake, Mark, Origin, Outcome};
pub use text::Text;
pub use time::Instant;
pub use topic::{TopicFilter, TopicFilterError, TopicName};
pub use verdict::{
    Answer, AnswerKind, Care, Circumstances, Class, Classification, ClassificationError, Delivery,
    Path, ROWS as VERDICT_ROWS, Row as VerdictRow, When as VerdictWhen,
};
