use forebay_node::client::{Properties, PropertiesBuilder, Property, Publish};
use serde_json::json;

use super::*;

fn message(payload: &'static [u8], properties: Properties) -> Publish {
    Publish {
        dup: false,
        qos: QoS::AtLeastOnce,
        retain: true,
        topic: Text::from_static("a/b").expect("text"),
        packet_id: None,
        properties,
        payload: payload.into(),
    }
}

#[test]
fn a_message_becomes_an_object_with_its_properties() {
    let mut properties = PropertiesBuilder::new();
    properties
        .push(Property::ContentType("text/plain"))
        .push(Property::UserProperty("k", "1"))
        .push(Property::SubscriptionIdentifier(7))
        .push(Property::UserProperty("k", "2"));
    assert_eq!(
        line::object(&message(b"hi", properties.build())),
        json!({
            "topic": "a/b", "payload": "hi", "qos": 1, "retain": true, "dup": false,
            "properties": {
                "content_type": "text/plain",
                "subscription_identifiers": [7],
                "user_properties": [["k", "1"], ["k", "2"]],
            },
        })
    );
}

#[test]
fn a_payload_that_is_no_text_is_given_in_base_64() {
    let object = line::object(&message(b"\xff\x00", Properties::EMPTY));
    assert_eq!(object["payload_b64"], "/wA=");
    assert_eq!(object.get("payload"), None);
}

#[test]
fn base_64_is_as_others_write_it() {
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ] {
        assert_eq!(line::base64(bytes.as_bytes()), text);
    }
}
