//! A message as a line.

use std::io::{self, Write};

use forebay_node::client::Publish;
use serde_json::{Map, Value, json};

use crate::cli;

/// Writes a message as the flags ask.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(
    out: &mut impl Write,
    flags: &cli::Subscribe,
    publish: &Publish,
) -> io::Result<()> {
    if flags.json {
        serde_json::to_writer(&mut *out, &object(publish))?;
    } else {
        if flags.verbose {
            write!(out, "{} ", publish.topic.as_str())?;
        }
        out.write_all(&publish.payload)?;
    }
    out.write_all(b"\n")
}

/// A message as JSON.
pub(super) fn object(publish: &Publish) -> Value {
    let mut object = Map::new();
    object.insert("topic".to_owned(), publish.topic.as_str().into());
    let (key, payload) = match std::str::from_utf8(&publish.payload) {
        Ok(text) => ("payload", text.to_owned()),
        Err(_) => ("payload_b64", base64(&publish.payload)),
    };
    object.insert(key.to_owned(), payload.into());
    object.insert("qos".to_owned(), (publish.qos as u8).into());
    object.insert("retain".to_owned(), publish.retain.into());
    object.insert("dup".to_owned(), publish.dup.into());
    if let Some(id) = publish.packet_id {
        object.insert("packet_id".to_owned(), id.get().into());
    }
    if !publish.properties.is_empty() {
        object.insert("properties".to_owned(), properties(publish));
    }
    object.into()
}

fn properties(publish: &Publish) -> Value {
    let properties = &publish.properties;
    let mut object = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put(
        "payload_format_indicator",
        properties.payload_format_indicator().map(Value::from),
    );
    put(
        "message_expiry_interval",
        properties.message_expiry_interval().map(Value::from),
    );
    put("content_type", properties.content_type().map(Value::from));
    put(
        "response_topic",
        properties.response_topic().map(Value::from),
    );
    put(
        "correlation_data_b64",
        properties.correlation_data().map(base64).map(Value::from),
    );
    let identifiers: Vec<_> = properties.subscription_identifiers().collect();
    put(
        "subscription_identifiers",
        (!identifiers.is_empty()).then(|| identifiers.into()),
    );
    // Pairs, since a name may come twice and their order counts.
    let pairs: Vec<_> = properties
        .user_properties()
        .map(|pair| json!(pair))
        .collect();
    put("user_properties", (!pairs.is_empty()).then(|| pairs.into()));
    object.into()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` in base 64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let number = number << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS
                .get(number >> (18 - 6 * place) & 63)
                .copied()
                .unwrap_or(b'=');
            text.push(if place > group.len() {
                '='
            } else {
                letter.into()
            });
        }
    }
    text
}
