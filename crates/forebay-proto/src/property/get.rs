//! The typed getters of [`Properties`]. Each walks the block once; `None` means absent, and the
//! specification says what an absent property stands for.

use super::{Properties, PropertyId, Raw};
use crate::packet::QoS;

impl Properties {
    fn find(&self, id: PropertyId) -> Option<Raw<'_>> {
        self.raw().find(|raw| raw.id == id)
    }

    /// Payload Format Indicator: whether the payload is UTF-8 text.
    pub fn payload_format_indicator(&self) -> Option<bool> {
        self.find(PropertyId::PayloadFormatIndicator)?.bool()
    }

    /// Message Expiry Interval, seconds; 0 is allowed, absent is never.
    pub fn message_expiry_interval(&self) -> Option<u32> {
        self.find(PropertyId::MessageExpiryInterval)?.u32()
    }

    /// Content Type.
    pub fn content_type(&self) -> Option<&str> {
        self.find(PropertyId::ContentType)?.text()
    }

    /// Response Topic, free of wildcards.
    pub fn response_topic(&self) -> Option<&str> {
        self.find(PropertyId::ResponseTopic)?.text()
    }

    /// Correlation Data.
    pub fn correlation_data(&self) -> Option<&[u8]> {
        self.find(PropertyId::CorrelationData)?.binary()
    }

    /// Every Subscription Identifier, in the order of the wire.
    pub fn subscription_identifiers(&self) -> impl Iterator<Item = u32> {
        self.raw()
            .filter(|raw| raw.id == PropertyId::SubscriptionIdentifier)
            .filter_map(Raw::variable)
    }

    /// Session Expiry Interval, seconds; absent is 0, `u32::MAX` is never.
    pub fn session_expiry_interval(&self) -> Option<u32> {
        self.find(PropertyId::SessionExpiryInterval)?.u32()
    }

    /// Assigned Client Identifier.
    pub fn assigned_client_identifier(&self) -> Option<&str> {
        self.find(PropertyId::AssignedClientIdentifier)?.text()
    }

    /// Server Keep Alive, seconds.
    pub fn server_keep_alive(&self) -> Option<u16> {
        self.find(PropertyId::ServerKeepAlive)?.u16()
    }

    /// Authentication Method.
    pub fn authentication_method(&self) -> Option<&str> {
        self.find(PropertyId::AuthenticationMethod)?.text()
    }

    /// Authentication Data.
    pub fn authentication_data(&self) -> Option<&[u8]> {
        self.find(PropertyId::AuthenticationData)?.binary()
    }

    /// Request Problem Information; absent is true.
    pub fn request_problem_information(&self) -> Option<bool> {
        self.find(PropertyId::RequestProblemInformation)?.bool()
    }

    /// Will Delay Interval, seconds; absent is 0.
    pub fn will_delay_interval(&self) -> Option<u32> {
        self.find(PropertyId::WillDelayInterval)?.u32()
    }

    /// Request Response Information; absent is false.
    pub fn request_response_information(&self) -> Option<bool> {
        self.find(PropertyId::RequestResponseInformation)?.bool()
    }

    /// Response Information.
    pub fn response_information(&self) -> Option<&str> {
        self.find(PropertyId::ResponseInformation)?.text()
    }

    /// Server Reference.
    pub fn server_reference(&self) -> Option<&str> {
        self.find(PropertyId::ServerReference)?.text()
    }

    /// Reason String.
    pub fn reason_string(&self) -> Option<&str> {
        self.find(PropertyId::ReasonString)?.text()
    }

    /// Receive Maximum, not 0; absent is 65,535.
    pub fn receive_maximum(&self) -> Option<u16> {
        self.find(PropertyId::ReceiveMaximum)?.u16()
    }

    /// Topic Alias Maximum; absent is 0: no aliases.
    pub fn topic_alias_maximum(&self) -> Option<u16> {
        self.find(PropertyId::TopicAliasMaximum)?.u16()
    }

    /// Topic Alias, not 0.
    pub fn topic_alias(&self) -> Option<u16> {
        self.find(PropertyId::TopicAlias)?.u16()
    }

    /// Maximum QoS, 0 or 1; absent is 2.
    pub fn maximum_qos(&self) -> Option<QoS> {
        QoS::new(u8::from(self.find(PropertyId::MaximumQoS)?.bool()?))
    }

    /// Retain Available; absent is true.
    pub fn retain_available(&self) -> Option<bool> {
        self.find(PropertyId::RetainAvailable)?.bool()
    }

    /// Every User Property, name and value, in the order of the wire.
    pub fn user_properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.raw()
            .filter(|raw| raw.id == PropertyId::UserProperty)
            .filter_map(Raw::pair)
    }

    /// Maximum Packet Size, bytes, not 0; absent is no limit.
    pub fn maximum_packet_size(&self) -> Option<u32> {
        self.find(PropertyId::MaximumPacketSize)?.u32()
    }

    /// Wildcard Subscription Available; absent is true.
    pub fn wildcard_subscription_available(&self) -> Option<bool> {
        self.find(PropertyId::WildcardSubscriptionAvailable)?.bool()
    }

    /// Subscription Identifier Available; absent is true.
    pub fn subscription_identifier_available(&self) -> Option<bool> {
        self.find(PropertyId::SubscriptionIdentifierAvailable)?
            .bool()
    }

    /// Shared Subscription Available; absent is true.
    pub fn shared_subscription_available(&self) -> Option<bool> {
        self.find(PropertyId::SharedSubscriptionAvailable)?.bool()
    }
}
