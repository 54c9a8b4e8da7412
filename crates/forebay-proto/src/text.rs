//! UTF-8 strings as MQTT allows them.
//!
//! Owns [`Text`]. Chapter 1.5.4 of the specification.

use alloc::string::String;
use bytes::Bytes;
use core::fmt;

/// A UTF-8 encoded string of at most 65,535 bytes without U+0000, sharing the buffer it came in.
///
/// Spec: [MQTT-1.5.4-1], [MQTT-1.5.4-2]
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Bytes);

impl Text {
    /// The empty string.
    pub const EMPTY: Self = Self(Bytes::new());

    /// The string in `bytes`, or `None` where MQTT doesn't allow it.
    pub fn new(bytes: Bytes) -> Option<Self> {
        Self::checked(bytes).ok()
    }

    /// The string in `bytes`, or what is wrong with it.
    pub(crate) fn checked(bytes: Bytes) -> Result<Self, TextFault> {
        check(&bytes)?;
        Ok(Self(bytes))
    }

    /// The string `text`, or `None` where MQTT doesn't allow it.
    pub fn from_static(text: &'static str) -> Option<Self> {
        Self::new(Bytes::from_static(text.as_bytes()))
    }

    /// The string as `&str`.
    pub fn as_str(&self) -> &str {
        // Checked by every constructor; an empty answer is unreachable.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes of the string.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of the string, shared.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// Length in bytes.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the string has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same string in a buffer of its own, so that it doesn't keep a larger one alive.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

/// Why bytes are no [`Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFault {
    /// More than 65,535 bytes.
    TooLong,
    /// Ill-formed UTF-8, which includes encoded surrogates and overlong forms.
    NotUtf8,
    /// Contains U+0000.
    Nul,
}

/// Checks that `bytes` are a string as MQTT allows it, and gives it.
pub(crate) fn check(bytes: &[u8]) -> Result<&str, TextFault> {
    if bytes.len() > usize::from(u16::MAX) {
        return Err(TextFault::TooLong);
    }
    let text = core::str::from_utf8(bytes).map_err(|_| TextFault::NotUtf8)?;
    if bytes.contains(&0) {
        Err(TextFault::Nul)
    } else {
        Ok(text)
    }
}

impl TryFrom<String> for Text {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match check(text.as_bytes()) {
            Ok(_) => Ok(Self(Bytes::from(text.into_bytes()))),
            Err(_) => Err(text),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
