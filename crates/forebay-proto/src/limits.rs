//! Every bound of the broker machine, in one place.
//!
//! What happens at each bound is said with it; nothing grows without one.

/// The bounds of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; past it a CONNECT is answered 0x97 (3.1.1: 3).
    pub max_connections: u32,
    /// Sessions kept, connected or not; past it a new one is refused with 0x97 (3.1.1: 3).
    pub max_sessions: u32,
    /// The largest packet taken, bytes; a larger one ends its connection with 0x95.
    pub max_packet_size: u32,
    /// QoS 1 and 2 messages a client may have unacknowledged; past it 0x93 (MQTT 5 only).
    pub receive_maximum: u16,
    /// Topic aliases of one connection, as many each way: names kept, of up to 65,535 bytes. A
    /// higher alias of a client ends its connection with 0x94; further topics are sent by name.
    pub topic_alias_maximum: u16,
    /// QoS 1 and 2 messages sent to a client and unacknowledged; further ones stay queued.
    pub max_inflight: u16,
    /// Messages waiting in the queue of one session; a publish that would pass it is refused with
    /// 0x97 (3.1.1: the connection ends), a will or a retained message is dropped. QoS 2 messages
    /// that had their PUBREC before are queued all the same.
    pub max_queued_messages: u64,
    /// Payload bytes of QoS 2 messages that await PUBREL in one session; a publish that would pass
    /// it is refused with 0x97 (3.1.1: the connection ends).
    pub max_unreleased_bytes: u64,
    /// Subscriptions of one session; further filters are refused with 0x97 (3.1.1: 0x80).
    pub max_subscriptions: u32,
    /// Levels of a topic name or filter; a deeper one is refused with 0x90 or 0x8F.
    pub max_topic_levels: u16,
    /// Retained messages kept; a publish that would add one more is refused with 0x97, a will is
    /// not retained. QoS 2 messages that had their PUBREC before are retained all the same.
    pub max_retained: u64,
    /// Packets held, bytes, that arrive behind a CONNECT that is not answered yet; once it is
    /// reached nothing more is read before the CONNACK.
    pub max_early_bytes: u32,
    /// Time from an accepted connection to its CONNECT, seconds; past it the connection ends.
    pub connect_timeout_secs: u32,
    /// The longest session expiry granted, seconds; `u32::MAX` is without end. A longer request is
    /// cut to it and the CONNACK says so.
    pub max_session_expiry_secs: u32,
    /// Bytes of content after which a commit is handed over, even though more could join it.
    pub max_commit_bytes: usize,
    /// Bytes that one message and its entries in all queues may take together, since they are one
    /// commit; a publish that would pass it is refused with 0x97 (3.1.1: the connection ends), a
    /// will is dropped. A QoS 2 message that had its PUBREC before goes out in several commits.
    pub max_message_commit_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 100_000,
            max_sessions: 1_000_000,
            max_packet_size: 4 * 1024 * 1024,
            receive_maximum: 256,
            topic_alias_maximum: 10,
            max_inflight: 256,
            max_queued_messages: 1_000_000,
            max_unreleased_bytes: 16 * 1024 * 1024,
            max_subscriptions: 10_000,
            max_topic_levels: 128,
            max_retained: 1_000_000,
            max_early_bytes: 1024 * 1024,
            connect_timeout_secs: 10,
            max_session_expiry_secs: u32::MAX,
            max_commit_bytes: 1024 * 1024,
            max_message_commit_bytes: 24 * 1024 * 1024,
        }
    }
}

/// Rules of an access control list for one user, and patterns of it; a list with more is refused.
/// Each message looks at as many at most.
pub(crate) const ACL_RULES_MAX: usize = 1_000;
/// Rules of an access control list in all; a list with more is refused.
pub(crate) const ACL_RULES_TOTAL_MAX: usize = 1_000_000;
