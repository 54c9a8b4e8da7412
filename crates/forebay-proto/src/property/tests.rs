use super::*;
use crate::packet::rule::{self, Rule};
use alloc::{string::String, vec, vec::Vec};

fn block(bytes: &[u8], place: Place) -> Result<Properties, &'static Rule> {
    Properties::checked(Bytes::copy_from_slice(bytes), place).map(|(properties, _)| properties)
}

fn built(properties: &[Property<'_>]) -> Properties {
    let mut builder = PropertiesBuilder::new();
    for &property in properties {
        builder.push(property);
    }
    builder.build()
}

/// One property of every kind.
fn every() -> Vec<Property<'static>> {
    vec![
        Property::PayloadFormatIndicator(true),
        Property::MessageExpiryInterval(0),
        Property::ContentType("text/plain"),
        Property::ResponseTopic("a/b"),
        Property::CorrelationData(&[0, 255]),
        Property::SubscriptionIdentifier(268_435_455),
        Property::SessionExpiryInterval(u32::MAX),
        Property::AssignedClientIdentifier("c"),
        Property::ServerKeepAlive(60),
        Property::AuthenticationMethod("SCRAM"),
        Property::AuthenticationData(b"x"),
        Property::RequestProblemInformation(false),
        Property::WillDelayInterval(5),
        Property::RequestResponseInformation(true),
        Property::ResponseInformation("r/"),
        Property::ServerReference("other:1883"),
        Property::ReasonString("because"),
        Property::ReceiveMaximum(20),
        Property::TopicAliasMaximum(0),
        Property::TopicAlias(1),
        Property::MaximumQoS(QoS::AtLeastOnce),
        Property::RetainAvailable(false),
        Property::UserProperty("k", "v"),
        Property::MaximumPacketSize(1),
        Property::WildcardSubscriptionAvailable(true),
        Property::SubscriptionIdentifierAvailable(false),
        Property::SharedSubscriptionAvailable(true),
    ]
}

#[test]
fn every_property_reads_back_as_it_was_pushed() {
    let every = every();
    let properties = built(&every);
    assert_eq!(properties.iter().collect::<Vec<_>>(), every);
    assert_eq!(every.len(), PropertyId::ALL.len());
}

#[test]
fn every_getter_finds_its_property_and_nothing_in_an_empty_block() {
    let full = built(&every());
    let none = Properties::EMPTY;
    macro_rules! getters {
        ($($getter:ident = $value:expr;)*) => {$(
            assert_eq!(full.$getter(), Some($value), stringify!($getter));
            assert_eq!(none.$getter(), None, stringify!($getter));
        )*};
    }
    getters! {
        payload_format_indicator = true;
        message_expiry_interval = 0;
        content_type = "text/plain";
        response_topic = "a/b";
        correlation_data = &[0, 255][..];
        session_expiry_interval = u32::MAX;
        assigned_client_identifier = "c";
        server_keep_alive = 60;
        authentication_method = "SCRAM";
        authentication_data = &b"x"[..];
        request_problem_information = false;
        will_delay_interval = 5;
        request_response_information = true;
        response_information = "r/";
        server_reference = "other:1883";
        reason_string = "because";
        receive_maximum = 20;
        topic_alias_maximum = 0;
        topic_alias = 1;
        maximum_qos = QoS::AtLeastOnce;
        retain_available = false;
        maximum_packet_size = 1;
        wildcard_subscription_available = true;
        subscription_identifier_available = false;
        shared_subscription_available = true;
    }
    assert_eq!(
        full.subscription_identifiers().collect::<Vec<_>>(),
        [268_435_455]
    );
    assert_eq!(full.user_properties().collect::<Vec<_>>(), [("k", "v")]);
    assert_eq!(
        none.subscription_identifiers().count() + none.user_properties().count(),
        0
    );
}

#[test]
fn each_property_is_taken_exactly_where_the_specification_lists_it() {
    // Columns of table 2-4, in the order of `Place`.
    let table: &[(u8, &str)] = &[
        (0x01, "WP"),
        (0x02, "WP"),
        (0x03, "WP"),
        (0x08, "WP"),
        (0x09, "WP"),
        (0x0B, "PS"),
        (0x11, "CKD"),
        (0x12, "K"),
        (0x13, "K"),
        (0x15, "CKT"),
        (0x16, "CKT"),
        (0x17, "C"),
        (0x18, "W"),
        (0x19, "C"),
        (0x1A, "K"),
        (0x1C, "KD"),
        (0x1F, "KADT"),
        (0x21, "CK"),
        (0x22, "CK"),
        (0x23, "P"),
        (0x24, "K"),
        (0x25, "K"),
        (0x26, "CWKPASUDT"),
        (0x27, "CK"),
        (0x28, "K"),
        (0x29, "K"),
        (0x2A, "K"),
    ];
    let places = [
        ('C', Place::Connect),
        ('W', Place::Will),
        ('K', Place::ConnAck),
        ('P', Place::Publish),
        ('A', Place::Ack),
        ('S', Place::Subscribe),
        ('U', Place::Unsubscribe),
        ('D', Place::Disconnect),
        ('T', Place::Auth),
    ];
    for (property, &(id, allowed)) in every().into_iter().zip(table) {
        let bytes = built(&[property]).to_bytes();
        assert_eq!(bytes[0], id);
        for (letter, place) in places {
            let verdict = block(&bytes, place).map(drop);
            let expected = if allowed.contains(letter) {
                Ok(())
            } else {
                Err(&rule::PROPERTY_PLACE)
            };
            assert_eq!(verdict, expected, "{property:?} in {place:?}");
        }
    }
}

#[test]
fn a_second_property_of_its_kind_is_refused_unless_it_may_repeat() {
    for property in every() {
        let (twice, once) = (built(&[property, property]), built(&[property]));
        for place in [
            Place::Connect,
            Place::Will,
            Place::ConnAck,
            Place::Publish,
            Place::Subscribe,
            Place::Auth,
        ] {
            if block(once.as_bytes(), place).is_err() {
                continue;
            }
            let repeats = matches!(property, Property::UserProperty(..))
                || (matches!(property, Property::SubscriptionIdentifier(_))
                    && place == Place::Publish);
            let expected = if repeats {
                Ok(())
            } else {
                Err(&rule::PROPERTY_TWICE)
            };
            assert_eq!(
                block(twice.as_bytes(), place).map(drop),
                expected,
                "{property:?}"
            );
        }
    }
}

#[test]
fn a_forbidden_value_is_refused_with_its_rule() {
    let cases: &[(&[u8], Place, &Rule)] = &[
        (&[0x01, 2], Place::Publish, &rule::PROPERTY_NOT_BOOL),
        (&[0x17, 2], Place::Connect, &rule::PROPERTY_NOT_BOOL),
        (&[0x19, 0xFF], Place::Connect, &rule::PROPERTY_NOT_BOOL),
        (&[0x24, 2], Place::ConnAck, &rule::PROPERTY_NOT_BOOL),
        (&[0x25, 2], Place::ConnAck, &rule::PROPERTY_NOT_BOOL),
        (&[0x21, 0, 0], Place::Connect, &rule::RECEIVE_MAXIMUM_0),
        (
            &[0x27, 0, 0, 0, 0],
            Place::Connect,
            &rule::MAXIMUM_PACKET_SIZE_0,
        ),
        (&[0x23, 0, 0], Place::Publish, &rule::TOPIC_ALIAS_0),
        (&[0x0B, 0], Place::Subscribe, &rule::SUBSCRIPTION_ID_0),
        (
            &[0x0B, 0x81, 0x00],
            Place::Subscribe,
            &rule::VARIABLE_PADDED,
        ),
        (
            &[0x0B, 0x80, 0x80, 0x80, 0x80, 1],
            Place::Subscribe,
            &rule::VARIABLE_OVERLONG,
        ),
        (&[0x0B, 0x80], Place::Subscribe, &rule::PROPERTY_TRUNCATED),
        (&[0x08, 0, 0], Place::Publish, &rule::RESPONSE_TOPIC_EMPTY),
        (
            &[0x08, 0, 1, b'#'],
            Place::Publish,
            &rule::RESPONSE_TOPIC_WILDCARD,
        ),
        (
            &[0x08, 0, 3, b'a', b'/', b'+'],
            Place::Will,
            &rule::RESPONSE_TOPIC_WILDCARD,
        ),
        (&[0x03, 0, 1, 0], Place::Publish, &rule::TEXT_NUL),
        (&[0x03, 0, 1, 0xFF], Place::Publish, &rule::TEXT_UTF8),
        (
            &[0x03, 0, 3, 0xED, 0xA0, 0x80],
            Place::Publish,
            &rule::TEXT_UTF8,
        ),
        (&[0x26, 0, 1, 0xC0, 0, 0], Place::Publish, &rule::TEXT_UTF8),
        (&[0x26, 0, 0, 0, 1, 0], Place::Publish, &rule::TEXT_NUL),
        (
            &[0x26, 0, 0, 0, 2, b'a'],
            Place::Publish,
            &rule::PROPERTY_TRUNCATED,
        ),
        (&[0x26, 0, 0, 0], Place::Publish, &rule::PROPERTY_TRUNCATED),
        (&[0x02, 0, 0, 0], Place::Publish, &rule::PROPERTY_TRUNCATED),
        (&[0x09, 0, 2, 0], Place::Publish, &rule::PROPERTY_TRUNCATED),
        (&[0x09, 0], Place::Publish, &rule::PROPERTY_TRUNCATED),
        (&[0x01], Place::Publish, &rule::PROPERTY_TRUNCATED),
        (&[0x00], Place::Publish, &rule::PROPERTY_UNKNOWN),
        (&[0x81, 0x00, 1], Place::Publish, &rule::PROPERTY_UNKNOWN),
        (&[0x01, 1, 0x7F], Place::Publish, &rule::PROPERTY_UNKNOWN),
    ];
    for &(bytes, place, rule) in cases {
        assert_eq!(block(bytes, place), Err(rule), "{bytes:02x?}");
    }
}

#[test]
fn what_the_protocol_cannot_carry_is_left_out() {
    let long: String = core::iter::repeat_n('x', 65_536).collect();
    let properties = built(&[
        Property::ReasonString(&long),
        Property::ReasonString("a\0b"),
        Property::UserProperty("a\0", ""),
        Property::UserProperty("", &long),
        Property::CorrelationData(long.as_bytes()),
        Property::SubscriptionIdentifier(0),
        Property::SubscriptionIdentifier(268_435_456),
        Property::ReceiveMaximum(0),
        Property::TopicAlias(0),
        Property::MaximumPacketSize(0),
        Property::MaximumQoS(QoS::ExactlyOnce),
        Property::ResponseTopic(""),
        Property::ResponseTopic("a/#"),
    ]);
    assert_eq!(properties, Properties::EMPTY);
    let longest = built(&[Property::ReasonString(&long[1..])]);
    assert_eq!(longest.reason_string().map(str::len), Some(65_535));
}

#[test]
fn a_copy_holds_what_is_kept_in_order() {
    let source = built(&[
        Property::UserProperty("a", "1"),
        Property::TopicAlias(7),
        Property::MessageExpiryInterval(9),
        Property::UserProperty("a", "2"),
    ]);
    let mut builder = PropertiesBuilder::new();
    builder
        .push(Property::MessageExpiryInterval(4))
        .extend_from(&source, |id| {
            !matches!(
                id,
                PropertyId::TopicAlias | PropertyId::MessageExpiryInterval
            )
        });
    let expected = built(&[
        Property::MessageExpiryInterval(4),
        Property::UserProperty("a", "1"),
        Property::UserProperty("a", "2"),
    ]);
    assert_eq!(builder.build(), expected);
}

#[test]
fn an_unchecked_block_is_read_up_to_its_first_fault() {
    let properties = Properties(Bytes::from_static(&[0x01, 1, 0x23, 0, 5, 0x7F, 0x21, 0, 1]));
    assert_eq!(
        properties.iter().collect::<Vec<_>>(),
        [
            Property::PayloadFormatIndicator(true),
            Property::TopicAlias(5)
        ]
    );
    assert_eq!(properties.receive_maximum(), None);
}
