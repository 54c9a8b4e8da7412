//! Reason codes.
//!
//! Owns [`ReasonCode`]: any byte, with the names the specification gives. Chapter 2.4.

use core::fmt;

/// A reason code: any byte that came, named where the specification names it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReasonCode(pub u8);

macro_rules! reasons {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        impl ReasonCode {
            $(#[doc = concat!("`", stringify!($code), "` ", $text, ".")]
            pub const $name: Self = Self($code);)*

            /// The standard name in snake case, or `unknown`.
            pub const fn name(self) -> &'static str {
                match self.0 { $($code => $text,)* _ => "unknown" }
            }
        }
    };
}

reasons! {
    SUCCESS = 0x00, "success";
    GRANTED_QOS_1 = 0x01, "granted_qos_1";
    GRANTED_QOS_2 = 0x02, "granted_qos_2";
    DISCONNECT_WITH_WILL = 0x04, "disconnect_with_will";
    NO_MATCHING_SUBSCRIBERS = 0x10, "no_matching_subscribers";
    NO_SUBSCRIPTION_EXISTED = 0x11, "no_subscription_existed";
    CONTINUE_AUTHENTICATION = 0x18, "continue_authentication";
    REAUTHENTICATE = 0x19, "reauthenticate";
    UNSPECIFIED_ERROR = 0x80, "unspecified_error";
    MALFORMED_PACKET = 0x81, "malformed_packet";
    PROTOCOL_ERROR = 0x82, "protocol_error";
    IMPLEMENTATION_SPECIFIC_ERROR = 0x83, "implementation_specific_error";
    UNSUPPORTED_PROTOCOL_VERSION = 0x84, "unsupported_protocol_version";
    CLIENT_IDENTIFIER_NOT_VALID = 0x85, "client_identifier_not_valid";
    BAD_USER_NAME_OR_PASSWORD = 0x86, "bad_user_name_or_password";
    NOT_AUTHORIZED = 0x87, "not_authorized";
    SERVER_UNAVAILABLE = 0x88, "server_unavailable";
    SERVER_BUSY = 0x89, "server_busy";
    BANNED = 0x8A, "banned";
    SERVER_SHUTTING_DOWN = 0x8B, "server_shutting_down";
    BAD_AUTHENTICATION_METHOD = 0x8C, "bad_authentication_method";
    KEEP_ALIVE_TIMEOUT = 0x8D, "keep_alive_timeout";
    SESSION_TAKEN_OVER = 0x8E, "session_taken_over";
    TOPIC_FILTER_INVALID = 0x8F, "topic_filter_invalid";
    TOPIC_NAME_INVALID = 0x90, "topic_name_invalid";
    PACKET_IDENTIFIER_IN_USE = 0x91, "packet_identifier_in_use";
    PACKET_IDENTIFIER_NOT_FOUND = 0x92, "packet_identifier_not_found";
    RECEIVE_MAXIMUM_EXCEEDED = 0x93, "receive_maximum_exceeded";
    TOPIC_ALIAS_INVALID = 0x94, "topic_alias_invalid";
    PACKET_TOO_LARGE = 0x95, "packet_too_large";
    MESSAGE_RATE_TOO_HIGH = 0x96, "message_rate_too_high";
    QUOTA_EXCEEDED = 0x97, "quota_exceeded";
    ADMINISTRATIVE_ACTION = 0x98, "administrative_action";
    PAYLOAD_FORMAT_INVALID = 0x99, "payload_format_invalid";
    RETAIN_NOT_SUPPORTED = 0x9A, "retain_not_supported";
    QOS_NOT_SUPPORTED = 0x9B, "qos_not_supported";
    USE_ANOTHER_SERVER = 0x9C, "use_another_server";
    SERVER_MOVED = 0x9D, "server_moved";
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E, "shared_subscriptions_not_supported";
    CONNECTION_RATE_EXCEEDED = 0x9F, "connection_rate_exceeded";
    MAXIMUM_CONNECT_TIME = 0xA0, "maximum_connect_time";
    SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED = 0xA1, "subscription_identifiers_not_supported";
    WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED = 0xA2, "wildcard_subscriptions_not_supported";
}

impl ReasonCode {
    /// Whether the code is a refusal: 0x80 and above.
    pub const fn is_error(self) -> bool {
        self.0 >= 0x80
    }
}

impl fmt::Debug for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x} {}", self.0, self.name())
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#04x})", self.name(), self.0)
    }
}
