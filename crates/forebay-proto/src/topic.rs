//! Topic names and topic filters.
//!
//! Owns [`TopicName`] and [`TopicFilter`]: what is well-formed, how they split into levels, what
//! a shared subscription is, and whether one filter matches one name. Never holds a set of
//! filters. Levels are bytes, as names are compared byte for byte. Chapter 4.7, 4.8.2.

#[cfg(test)]
mod tests;

use core::fmt;

use crate::text::Text;

/// What the filter of a shared subscription starts with.
const SHARE: &[u8] = b"$share/";

/// A topic name: at least one byte, no wildcard.
///
/// Spec: [MQTT-4.7.3-1], [MQTT-3.3.2-2]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Text);

impl TopicName {
    /// The name `text`, or `None` if it is empty or has a wildcard.
    pub fn new(text: Text) -> Option<Self> {
        if text.is_empty() || has_wildcard(text.as_bytes()) {
            None
        } else {
            Some(Self(text))
        }
    }

    /// The name as text.
    pub const fn text(&self) -> &Text {
        &self.0
    }

    /// The name as `&str`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The levels, at least one; a level may be empty.
    pub fn levels(&self) -> impl Iterator<Item = &[u8]> + Clone {
        levels(self.0.as_bytes())
    }

    /// Whether the name begins with `$`: filters that begin with a wildcard pass it by.
    ///
    /// Spec: [MQTT-4.7.2-1]
    pub fn is_dollar(&self) -> bool {
        is_dollar(self.0.as_bytes())
    }
}

/// A well-formed topic filter, shared or not.
///
/// Equality is that of the whole text: `$share/g/a` and `a` are two filters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicFilter {
    text: Text,
    /// Where the part that is matched begins; 0 unless the filter is shared.
    start: u32,
}

/// Why a text is no topic filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicFilterError {
    /// The filter is empty, or what follows the share name is.
    #[error("empty topic filter")]
    Empty,
    /// `+` or `#` shares its level with other characters, or `#` isn't in the last level.
    #[error("misplaced wildcard in topic filter")]
    Wildcard,
    /// The share name is empty, has a wildcard, or no filter follows it.
    #[error("malformed shared subscription")]
    Share,
}

impl TopicFilter {
    /// The filter `text`.
    ///
    /// # Errors
    /// When a filter can't be spelled like that; the SUBACK then says 0x8F for it.
    ///
    /// Spec: [MQTT-4.7.1-1], [MQTT-4.7.1-2], [MQTT-4.7.3-1], [MQTT-4.8.2-1], [MQTT-4.8.2-2]
    pub fn new(text: Text) -> Result<Self, TopicFilterError> {
        let bytes = text.as_bytes();
        let start = match bytes.strip_prefix(SHARE) {
            None => 0,
            Some(rest) => {
                let name = rest
                    .iter()
                    .position(|&byte| byte == b'/')
                    .and_then(|end| rest.get(..end))
                    .ok_or(TopicFilterError::Share)?;
                if name.is_empty() || has_wildcard(name) {
                    return Err(TopicFilterError::Share);
                }
                SHARE.len() + name.len() + 1
            }
        };
        check(bytes.get(start..).unwrap_or_default())?;
        Ok(Self {
            text,
            start: start as u32,
        })
    }

    /// The whole filter, as it was subscribed.
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// The whole filter as `&str`.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// Whether the subscription is shared.
    pub const fn is_shared(&self) -> bool {
        self.start != 0
    }

    /// The share name of a shared subscription.
    pub fn share_name(&self) -> Option<&str> {
        let end = (self.start as usize).checked_sub(1)?;
        self.as_str().get(SHARE.len()..end)
    }

    /// The part that is matched: the filter without `$share/{name}/`.
    pub fn filter(&self) -> &str {
        self.as_str().get(self.start as usize..).unwrap_or_default()
    }

    /// The bytes of the part that is matched.
    pub fn filter_bytes(&self) -> &[u8] {
        self.text
            .as_bytes()
            .get(self.start as usize..)
            .unwrap_or_default()
    }

    /// The levels of the part that is matched.
    pub fn levels(&self) -> impl Iterator<Item = &[u8]> + Clone {
        levels(self.filter_bytes())
    }

    /// Whether the filter has a wildcard.
    pub fn has_wildcard(&self) -> bool {
        has_wildcard(self.filter_bytes())
    }

    /// Whether the filter matches `name`.
    pub fn matches(&self, name: &TopicName) -> bool {
        matches(self.filter_bytes(), name.0.as_bytes())
    }
}

/// The levels of a name or filter, at least one.
pub(crate) fn levels(topic: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    topic.split(|&byte| byte == b'/')
}

/// Whether there is a `+` or `#` anywhere.
pub(crate) fn has_wildcard(topic: &[u8]) -> bool {
    topic.iter().any(|&byte| byte == b'+' || byte == b'#')
}

/// Whether a topic name begins with `$`.
pub(crate) fn is_dollar(name: &[u8]) -> bool {
    name.first() == Some(&b'$')
}

/// Whether a filter is that of a shared subscription, well-formed or not.
pub(crate) fn is_shared(filter: &[u8]) -> bool {
    filter.starts_with(SHARE)
}

/// Whether the well-formed, unshared `filter` matches `name`.
///
/// Spec: [MQTT-4.7.1-1], [MQTT-4.7.2-1]
pub(crate) fn matches(filter: &[u8], name: &[u8]) -> bool {
    if is_dollar(name) && matches!(filter.first(), Some(b'+' | b'#')) {
        return false;
    }
    let mut names = levels(name);
    for level in levels(filter) {
        if level == b"#" {
            return true;
        }
        match names.next() {
            Some(_) if level == b"+" => {}
            Some(name) if level == name => {}
            _ => return false,
        }
    }
    names.next().is_none()
}

/// Checks the wildcards of an unshared filter.
fn check(filter: &[u8]) -> Result<(), TopicFilterError> {
    if filter.is_empty() {
        return Err(TopicFilterError::Empty);
    }
    let mut ended = false;
    for level in levels(filter) {
        if ended || (level.len() > 1 && has_wildcard(level)) {
            return Err(TopicFilterError::Wildcard);
        }
        ended = level == b"#";
    }
    Ok(())
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for TopicFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
