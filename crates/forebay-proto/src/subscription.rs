//! The subscription tree: which sessions a topic name reaches.
//!
//! Owns [`SubscriptionTree`], a trie by topic level, and [`Match`], what one session gets of a
//! message after its overlapping subscriptions are merged. Never knows connections or queues.
//! Chapter 4.7.

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use crate::{
    id::SessionId,
    packet::{QoS, SubscriptionOptions},
};

/// A subscription in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// What the subscriber asked for.
    pub(crate) options: SubscriptionOptions,
    /// The Subscription Identifier, if it gave one.
    pub(crate) identifier: Option<u32>,
}

/// What one session gets of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Whose subscription matched.
    pub(crate) session: SessionId,
    /// The highest QoS among the subscriptions that matched.
    ///
    /// Spec: [MQTT-3.3.4-2]
    pub(crate) qos: QoS,
    /// Whether one of them keeps the RETAIN flag.
    pub(crate) retain_as_published: bool,
    /// Their identifiers.
    ///
    /// Spec: [MQTT-3.3.4-4]
    pub(crate) identifiers: Vec<u32>,
}

type NodeIndex = u32;
const ROOT: NodeIndex = 0;

#[derive(Debug, Default)]
struct Node {
    parent: NodeIndex,
    level: Box<str>,
    children: BTreeMap<Box<str>, NodeIndex>,
    subscriptions: BTreeMap<SessionId, Subscription>,
}

/// Every subscription of every session.
#[derive(Debug)]
pub(crate) struct SubscriptionTree {
    nodes: Vec<Node>,
    free: Vec<NodeIndex>,
    len: usize,
}

impl Default for SubscriptionTree {
    fn default() -> Self {
        Self {
            nodes: Vec::from([Node::default()]),
            free: Vec::new(),
            len: 0,
        }
    }
}

impl SubscriptionTree {
    /// Subscriptions in the tree.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Adds a subscription or replaces the session's one with the same filter, which is returned.
    ///
    /// Spec: [MQTT-3.8.4-3]
    pub(crate) fn insert(
        &mut self,
        filter: &str,
        session: SessionId,
        subscription: Subscription,
    ) -> Option<Subscription> {
        let mut at = ROOT;
        for level in filter.split('/') {
            at = match self.child(at, level) {
                Some(child) => child,
                None => self.grow(at, level),
            };
        }
        let node = self.nodes.get_mut(at as usize)?;
        let previous = node.subscriptions.insert(session, subscription);
        self.len += usize::from(previous.is_none());
        previous
    }

    /// Removes the session's subscription with exactly this filter.
    pub(crate) fn remove(&mut self, filter: &str, session: SessionId) -> Option<Subscription> {
        let mut at = ROOT;
        for level in filter.split('/') {
            at = self.child(at, level)?;
        }
        let removed = self
            .nodes
            .get_mut(at as usize)?
            .subscriptions
            .remove(&session)?;
        self.len -= 1;
        self.prune(at);
        Some(removed)
    }

    /// What each session gets of a message on `topic`, each session once, in order of session.
    /// `publisher` is passed over by its own subscriptions that say No Local.
    ///
    /// Spec: [MQTT-4.7.2-1], [MQTT-3.8.3-3]
    pub(crate) fn matches(&self, topic: &str, publisher: Option<SessionId>) -> Vec<Match> {
        let mut found = Vec::new();
        let levels: Vec<&str> = topic.split('/').collect();
        self.walk(
            ROOT,
            &levels,
            !topic.starts_with('$'),
            publisher,
            &mut found,
        );
        merge(found)
    }

    fn walk(
        &self,
        at: NodeIndex,
        levels: &[&str],
        wildcards: bool,
        publisher: Option<SessionId>,
        found: &mut Vec<Match>,
    ) {
        if wildcards && let Some(rest) = self.child(at, "#") {
            self.collect(rest, publisher, found);
        }
        let Some((level, deeper)) = levels.split_first() else {
            self.collect(at, publisher, found);
            return;
        };
        if let Some(child) = self.child(at, level) {
            self.walk(child, deeper, true, publisher, found);
        }
        if wildcards && let Some(child) = self.child(at, "+") {
            self.walk(child, deeper, true, publisher, found);
        }
    }

    fn collect(&self, at: NodeIndex, publisher: Option<SessionId>, found: &mut Vec<Match>) {
        let Some(node) = self.nodes.get(at as usize) else {
            return;
        };
        found.extend(
            node.subscriptions
                .iter()
                .filter(|(session, it)| !(it.options.no_local && publisher == Some(**session)))
                .map(|(session, it)| Match {
                    session: *session,
                    qos: it.options.qos,
                    retain_as_published: it.options.retain_as_published,
                    identifiers: it.identifier.into_iter().collect(),
                }),
        );
    }

    fn child(&self, at: NodeIndex, level: &str) -> Option<NodeIndex> {
        self.nodes.get(at as usize)?.children.get(level).copied()
    }

    fn grow(&mut self, parent: NodeIndex, level: &str) -> NodeIndex {
        let node = Node {
            parent,
            level: level.into(),
            ..Node::default()
        };
        let index = self.free.pop().unwrap_or(self.nodes.len() as NodeIndex);
        match self.nodes.get_mut(index as usize) {
            Some(slot) => *slot = node,
            None => self.nodes.push(node),
        }
        if let Some(node) = self.nodes.get_mut(parent as usize) {
            node.children.insert(level.into(), index);
        }
        index
    }

    /// Frees the nodes from `at` upwards that hold nothing any more.
    fn prune(&mut self, mut at: NodeIndex) {
        while at != ROOT {
            let Some(node) = self.nodes.get_mut(at as usize) else {
                return;
            };
            if !node.subscriptions.is_empty() || !node.children.is_empty() {
                return;
            }
            let Node { parent, level, .. } = core::mem::take(node);
            self.free.push(at);
            if let Some(above) = self.nodes.get_mut(parent as usize) {
                above.children.remove(&level);
            }
            at = parent;
        }
    }
}

/// One match a session: the highest QoS, all identifiers.
fn merge(mut found: Vec<Match>) -> Vec<Match> {
    found.sort_by_key(|it| it.session);
    found.dedup_by(|next, kept| {
        if next.session != kept.session {
            return false;
        }
        kept.qos = kept.qos.max(next.qos);
        kept.retain_as_published |= next.retain_as_published;
        kept.identifiers.append(&mut next.identifiers);
        true
    });
    found
}

#[cfg(test)]
mod tests;
