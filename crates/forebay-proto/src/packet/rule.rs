//! The rules a packet can break, each with its verdict and where the specification says so.
//!
//! Owns [`Rule`] and every instance of it. `v5` and `v3` name the statement of MQTT 5 and of
//! MQTT 3.1.1; a bare number is a section, for the rules that have no statement of their own.

use crate::reason::ReasonCode;

/// A rule of the specification.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) reason: ReasonCode,
    pub(crate) v5: &'static str,
    pub(crate) v3: &'static str,
    pub(crate) detail: &'static str,
}

/// What reading a part of a packet gives.
pub(crate) type Parsed<T> = Result<T, &'static Rule>;

macro_rules! rules {
    ($($reason:ident { $($name:ident: $v5:literal, $v3:literal, $detail:literal;)* })*) => {
        $($(pub(crate) static $name: Rule = Rule {
            reason: ReasonCode::$reason, v5: $v5, v3: $v3, detail: $detail,
        };)*)*
    };
}

rules! {
    MALFORMED_PACKET {
        LENGTH_OVERLONG: "1.5.5", "2.2.3", "remaining length takes more than 4 bytes";
        LENGTH_PADDED: "MQTT-1.5.5-1", "2.2.3", "remaining length is not in its shortest form";
        VARIABLE_OVERLONG: "1.5.5", "2.2.3", "variable byte integer takes more than 4 bytes";
        VARIABLE_PADDED: "MQTT-1.5.5-1", "2.2.3", "variable byte integer is not in its shortest form";
        TRUNCATED: "4.13.1", "MQTT311-4.8.0-1", "a field runs past the end of the packet";
        TRAILING: "4.13.1", "MQTT311-4.8.0-1", "bytes follow the last field";
        TYPE_RESERVED: "2.1.2", "2.2.1", "packet type 0 is reserved";
        TYPE_AUTH: "2.1.2", "2.2.1", "AUTH does not exist below MQTT 5";
        FLAGS_RESERVED: "MQTT-2.1.3-1", "MQTT311-2.2.2-2", "reserved flags of the fixed header are set";
        TEXT_UTF8: "MQTT-1.5.4-1", "MQTT311-1.5.3-1", "string is not well-formed UTF-8";
        TEXT_NUL: "MQTT-1.5.4-2", "MQTT311-1.5.3-2", "string contains U+0000";
        PROPERTIES_TRUNCATED: "2.2.2.1", "", "property length runs past the end of the packet";
        PROPERTY_TRUNCATED: "2.2.2.2", "", "a property runs past the end of its block";
        PROPERTY_UNKNOWN: "2.2.2.2", "", "unknown property identifier";
        PROPERTY_PLACE: "2.2.2.2", "", "property does not belong in this packet";
        CONNECT_FLAG_RESERVED: "MQTT-3.1.2-3", "MQTT311-3.1.2-3", "reserved connect flag is set";
        WILL_QOS_WITHOUT_WILL: "MQTT-3.1.2-11", "MQTT311-3.1.2-13", "will QoS without a will";
        WILL_QOS_3: "MQTT-3.1.2-12", "MQTT311-3.1.2-14", "will QoS 3";
        WILL_RETAIN_WITHOUT_WILL: "MQTT-3.1.2-13", "MQTT311-3.1.2-15", "will retain without a will";
        PASSWORD_WITHOUT_USER: "3.1.2.9", "MQTT311-3.1.2-22", "password without a user name";
        CONNACK_FLAGS: "MQTT-3.2.2-1", "3.2.2.1", "reserved acknowledge flags are set";
        QOS_3: "MQTT-3.3.1-4", "MQTT311-3.3.1-4", "QoS 3";
        DUP_QOS_0: "MQTT-3.3.1-2", "MQTT311-3.3.1-2", "DUP with QoS 0";
        OPTIONS_RESERVED: "MQTT-3.8.3-5", "MQTT311-3.8.3-4", "reserved subscription option bits are set";
        REQUESTED_QOS_3_IN_V3: "", "MQTT311-3.8.3-4", "requested QoS 3";
    }
    PROTOCOL_ERROR {
        FIRST_NOT_CONNECT: "MQTT-3.1.0-1", "MQTT311-3.1.0-1", "the first packet is not a CONNECT";
        SECOND_CONNECT: "MQTT-3.1.0-2", "MQTT311-3.1.0-2", "a second CONNECT";
        WRONG_WAY: "2.1.2", "2.2.1", "only the other side may send this packet";
        PROTOCOL_NAME: "MQTT-3.1.2-1", "MQTT311-3.1.2-1", "unknown protocol name";
        PACKET_ID_0: "MQTT-2.2.1-3", "MQTT311-2.3.1-1", "packet identifier 0";
        TOPIC_EMPTY: "3.3.2.1", "MQTT311-4.7.3-1", "empty topic name without a topic alias";
        SUBSCRIPTION_ID_FROM_CLIENT: "MQTT-3.3.4-6", "", "subscription identifier in a PUBLISH of a client";
        AUTH_DATA_ALONE: "3.1.2.11.10", "", "authentication data without a method";
        NO_FILTER: "MQTT-3.8.3-2", "MQTT311-3.8.3-3", "SUBSCRIBE without a topic filter";
        NO_UNFILTER: "MQTT-3.10.3-2", "MQTT311-3.10.3-2", "UNSUBSCRIBE without a topic filter";
        REQUESTED_QOS_3: "3.8.3.1", "", "requested QoS 3";
        RETAIN_HANDLING_3: "3.8.3.1", "", "retain handling 3";
        NO_LOCAL_SHARED: "MQTT-3.8.3-4", "", "no local on a shared subscription";
        PROPERTY_TWICE: "2.2.2.2", "", "property occurs more than once";
        PROPERTY_NOT_BOOL: "2.2.2.2", "", "property is neither 0 nor 1";
        RECEIVE_MAXIMUM_0: "3.1.2.11.3", "", "receive maximum 0";
        MAXIMUM_PACKET_SIZE_0: "3.1.2.11.4", "", "maximum packet size 0";
        SUBSCRIPTION_ID_0: "3.8.2.1.2", "", "subscription identifier 0";
    }
    UNSUPPORTED_PROTOCOL_VERSION {
        PROTOCOL_LEVEL: "MQTT-3.1.2-2", "MQTT311-3.1.2-2", "unsupported protocol level";
    }
    TOPIC_NAME_INVALID {
        TOPIC_WILDCARD: "MQTT-3.3.2-2", "MQTT311-3.3.2-2", "wildcard in a topic name";
        WILL_TOPIC_EMPTY: "MQTT-4.7.3-1", "MQTT311-4.7.3-1", "empty will topic";
        WILL_TOPIC_WILDCARD: "MQTT-3.3.2-2", "MQTT311-3.3.2-2", "wildcard in a will topic";
        RESPONSE_TOPIC_EMPTY: "MQTT-4.7.3-1", "", "empty response topic";
        RESPONSE_TOPIC_WILDCARD: "MQTT-3.3.2-14", "", "wildcard in a response topic";
    }
    TOPIC_ALIAS_INVALID {
        TOPIC_ALIAS_0: "MQTT-3.3.2-8", "", "topic alias 0";
    }
    PACKET_TOO_LARGE {
        TOO_LARGE: "MQTT-3.2.2-15", "4.8", "packet is larger than this side takes";
    }
}
