//! Retained messages: the last one of each topic. Chapter 3.3.1.3.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    broker::{Broker, Op, Table},
    message::Message,
    text::Text,
    topic::{TopicFilter, TopicName},
};

/// The retained messages, by topic name.
#[derive(Debug, Default)]
pub(super) struct Retained(BTreeMap<Text, Message>);

impl Retained {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn contains(&self, topic: &Text) -> bool {
        self.0.contains_key(topic)
    }

    pub(super) fn insert(&mut self, message: Message) {
        self.0.insert(message.topic(), message);
    }

    pub(super) fn remove(&mut self, topic: &Text) -> bool {
        self.0.remove(topic).is_some()
    }

    /// The messages that `filter` matches, in order of topic. Only topics that begin like the
    /// filter up to its first wildcard are looked at.
    pub(super) fn matching(&self, filter: &TopicFilter) -> Vec<(Text, Message)> {
        let text = filter.filter();
        let literal = text
            .find(['+', '#'])
            .map_or(text, |at| text.get(..at).unwrap_or(""));
        // `a/#` matches `a` too, which sorts before `a/`.
        let prefix = literal.strip_suffix('/').unwrap_or(literal);
        let Ok(from) = Text::try_from(alloc::string::String::from(prefix)) else {
            return Vec::new();
        };
        self.0
            .range(from..)
            .take_while(|(topic, _)| topic.as_str().starts_with(prefix))
            .filter(|(topic, _)| {
                TopicName::new((*topic).clone()).is_some_and(|name| filter.matches(&name))
            })
            .map(|(topic, message)| (topic.clone(), message.clone()))
            .collect()
    }
}

impl Broker {
    /// Keeps `message` as the one of its topic; an empty payload clears it.
    ///
    /// Spec: [MQTT-3.3.1-5] to [MQTT-3.3.1-7]
    pub(super) fn retain(&mut self, topic: &Text, message: &Message) {
        let key = topic.to_bytes();
        if !message.payload().is_empty() {
            self.retained.insert(message.clone());
            let value = message.encoded().clone();
            self.op(Op::Put {
                table: Table::Retained,
                key,
                value,
            });
        } else if self.retained.remove(topic) {
            self.op(Op::Delete {
                table: Table::Retained,
                key,
            });
        }
    }
}
