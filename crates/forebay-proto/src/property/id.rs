//! Property identifiers and the shapes of their values. Table 2-4.

/// How the value of a property is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One byte, 0 or 1.
    Bool,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// A variable byte integer.
    Variable,
    /// A string.
    Text,
    /// Binary data.
    Binary,
    /// Two strings.
    Pair,
}

macro_rules! ids {
    ($($name:ident = $byte:literal, $shape:ident, $text:literal;)*) => {
        /// The identifier of a property.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum PropertyId {
            $(#[doc = concat!($text, ".")] $name = $byte,)*
        }

        impl PropertyId {
            /// Every identifier, ascending.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The identifier that `byte` stands for, or `None` if the specification has none.
            pub const fn new(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }

            pub(super) const fn shape(self) -> Shape {
                match self {
                    $(Self::$name => Shape::$shape,)*
                }
            }
        }
    };
}

ids! {
    PayloadFormatIndicator = 0x01, Bool, "Payload Format Indicator";
    MessageExpiryInterval = 0x02, U32, "Message Expiry Interval";
    ContentType = 0x03, Text, "Content Type";
    ResponseTopic = 0x08, Text, "Response Topic";
    CorrelationData = 0x09, Binary, "Correlation Data";
    SubscriptionIdentifier = 0x0B, Variable, "Subscription Identifier";
    SessionExpiryInterval = 0x11, U32, "Session Expiry Interval";
    AssignedClientIdentifier = 0x12, Text, "Assigned Client Identifier";
    ServerKeepAlive = 0x13, U16, "Server Keep Alive";
    AuthenticationMethod = 0x15, Text, "Authentication Method";
    AuthenticationData = 0x16, Binary, "Authentication Data";
    RequestProblemInformation = 0x17, Bool, "Request Problem Information";
    WillDelayInterval = 0x18, U32, "Will Delay Interval";
    RequestResponseInformation = 0x19, Bool, "Request Response Information";
    ResponseInformation = 0x1A, Text, "Response Information";
    ServerReference = 0x1C, Text, "Server Reference";
    ReasonString = 0x1F, Text, "Reason String";
    ReceiveMaximum = 0x21, U16, "Receive Maximum";
    TopicAliasMaximum = 0x22, U16, "Topic Alias Maximum";
    TopicAlias = 0x23, U16, "Topic Alias";
    MaximumQoS = 0x24, Bool, "Maximum QoS";
    RetainAvailable = 0x25, Bool, "Retain Available";
    UserProperty = 0x26, Pair, "User Property";
    MaximumPacketSize = 0x27, U32, "Maximum Packet Size";
    WildcardSubscriptionAvailable = 0x28, Bool, "Wildcard Subscription Available";
    SubscriptionIdentifierAvailable = 0x29, Bool, "Subscription Identifier Available";
    SharedSubscriptionAvailable = 0x2A, Bool, "Shared Subscription Available";
}

impl PropertyId {
    /// The byte on the wire.
    pub const fn get(self) -> u8 {
        self as u8
    }
}
