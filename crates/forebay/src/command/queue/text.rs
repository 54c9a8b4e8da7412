//! Bytes of clients as text that a terminal and JSON can take.

use std::{ffi::OsStr, fmt::Write, os::unix::ffi::OsStrExt};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// Bytes as text without anything that moves a cursor or hides: control characters and bytes that
/// are no UTF-8 become `\xNN`, a backslash becomes two.
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '\\' {
                text.push_str("\\\\");
            } else if is_unseen(character) {
                let mut buf = [0; 4];
                escape_bytes(&mut text, character.encode_utf8(&mut buf).as_bytes());
            } else {
                text.push(character);
            }
        }
        escape_bytes(&mut text, chunk.invalid());
    }
    text
}

fn escape_bytes(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string can't fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// Control characters, and those that change the direction of text or have no width.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// What [`escape`] made, as it was; `None` where it can't have made that.
fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            plain.push(first);
            continue;
        }
        rest = match rest {
            [b'\\', after @ ..] => {
                plain.push(b'\\');
                after
            }
            [b'x', high, low, after @ ..] => {
                let digits = [*high, *low];
                let digits = str::from_utf8(&digits).ok()?;
                plain.push(u8::from_str_radix(digits, 16).ok()?);
                after
            }
            _ => return None,
        };
    }
    Some(plain)
}

/// The names that may be meant by what was typed, the likeliest first.
pub(super) fn names(typed: &OsStr) -> Vec<Vec<u8>> {
    let bytes = typed.as_bytes();
    let mut names = vec![bytes.to_vec()];
    names.extend(unescape(bytes).filter(|plain| plain != bytes));
    names
}

/// Puts bytes into an object: as a string, or in base 64 under `key_b64` where they are no UTF-8.
pub(super) fn put(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    match str::from_utf8(bytes) {
        Ok(text) => object.insert(key.to_owned(), text.into()),
        Err(_) => object.insert(format!("{key}_b64"), STANDARD.encode(bytes).into()),
    };
}

/// Bytes in base 64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests;
