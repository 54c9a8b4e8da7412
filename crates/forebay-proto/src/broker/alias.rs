//! Topic aliases: numbers in place of topic names, of one connection and one direction each.
//!
//! Owns [`Received`], what a client's numbers stand for, and [`Given`], which numbers the broker
//! has given. Both are bounded by a number told in CONNECT or CONNACK, and end with the
//! connection. Chapter 3.3.2.3.4.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    packet::Publish,
    property::{PropertiesBuilder, Property},
    reason::ReasonCode,
    text::Text,
};

/// Bytes of the property that names an alias. A topic name that is no longer is sent as it is.
const PROPERTY_BYTES: usize = 3;

/// What the aliases of a client stand for.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// The highest that was granted.
    max: u16,
    /// The topic names, alias 1 first; no longer than the highest alias in use.
    topics: Vec<Text>,
}

impl Received {
    /// Nothing received yet, aliases 1 to `max` to come.
    pub(super) const fn new(max: u16) -> Self {
        Self {
            max,
            topics: Vec::new(),
        }
    }

    /// Puts the topic name that is meant in its place.
    ///
    /// # Errors
    /// When an alias is too high, or stands for nothing: the connection ends with this reason.
    ///
    /// Spec: [MQTT-3.3.2-8], [MQTT-3.3.2-9], [MQTT-3.3.2-12]
    pub(super) fn resolve(&mut self, publish: &mut Publish) -> Result<(), ReasonCode> {
        let Some(alias) = publish.properties.topic_alias() else {
            return Ok(());
        };
        if alias == 0 || alias > self.max {
            return Err(ReasonCode::TOPIC_ALIAS_INVALID);
        }
        let place = usize::from(alias) - 1;
        if publish.topic.is_empty() {
            let known = self.topics.get(place).filter(|topic| !topic.is_empty());
            publish.topic = known.ok_or(ReasonCode::PROTOCOL_ERROR)?.clone();
            return Ok(());
        }
        if self.topics.len() <= place {
            self.topics.resize(place + 1, Text::EMPTY);
        }
        if let Some(topic) = self.topics.get_mut(place) {
            *topic = publish.topic.detach();
        }
        Ok(())
    }
}

/// The aliases that the broker has given. The first topic names that are sent have them, and keep
/// them: which those are depends on nothing but what was sent.
#[derive(Debug, Default)]
pub(super) struct Given {
    max: u16,
    aliases: BTreeMap<Text, u16>,
}

impl Given {
    /// None given yet, at most `max` to come.
    pub(super) const fn new(max: u16) -> Self {
        Self {
            max,
            aliases: BTreeMap::new(),
        }
    }

    /// Puts an alias in the place of the topic name, or beside it where it is new and `takes` lets
    /// the longer packet be.
    ///
    /// Spec: [MQTT-3.1.2-26], [MQTT-3.1.2-27], [MQTT-3.3.2-8]
    pub(super) fn shorten(&mut self, publish: &mut Publish, takes: impl Fn(&Publish) -> bool) {
        if self.max == 0 || publish.topic.len() <= PROPERTY_BYTES {
            return;
        }
        if let Some(alias) = self.aliases.get(&publish.topic) {
            with_alias(publish, *alias);
            publish.topic = Text::EMPTY;
            return;
        }
        if self.aliases.len() >= usize::from(self.max) {
            return;
        }
        let alias = self.aliases.len() as u16 + 1;
        let mut longer = publish.clone();
        with_alias(&mut longer, alias);
        if takes(&longer) {
            self.aliases.insert(publish.topic.detach(), alias);
            *publish = longer;
        }
    }
}

fn with_alias(publish: &mut Publish, alias: u16) {
    let mut properties =
        PropertiesBuilder::with_capacity(publish.properties.as_bytes().len() + PROPERTY_BYTES);
    properties.push(Property::TopicAlias(alias));
    properties.extend_from(&publish.properties, |_| true);
    publish.properties = properties.build();
}
