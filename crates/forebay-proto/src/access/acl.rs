//! An access control list, and what it says.
//!
//! Owns [`Acl`] and the decision. What is not granted is denied, and a denial wins over every
//! grant. A decision looks at the rules of one user and at the patterns, each once, and both are
//! bounded by [`RULES_MAX`](crate::limits::ACL_RULES_MAX).

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use super::{
    Who,
    parse::{self, AclError},
    rule::Rule,
};

/// What a rule allows, or that it denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Read,
    Write,
    ReadWrite,
    Deny,
}

impl Right {
    const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// The rules of one user, or those of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules(Vec<(Right, Rule)>);

impl Rules {
    pub(super) fn push(&mut self, right: Right, rule: Rule) {
        self.0.push((right, rule));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// An access control list in Mosquitto's syntax.
///
/// - `topic [read|write|readwrite|deny] FILTER` holds for the user of the last `user NAME` line,
///   and before the first such line for clients without a name.
/// - `pattern [read|write|readwrite|deny] FILTER` holds for everybody; the levels `%u` and `%c`
///   stand for the user name and the client identifier. It says nothing about clients without a
///   name where it has `%u`, and grants nothing where that name has a `+`, `#` or `/`.
/// - Lines that begin with `#` are comments.
///
/// What is not granted is denied, and `deny` wins over every grant, those of patterns and of
/// topics alike. A rule reaches `$` topics only where it begins with `$` itself.
///
/// A subscription is granted where some topic that its filter matches may be read, unless a
/// `deny` covers the whole filter; each message is judged again when it is handed on. So `#` is
/// granted to who may read anything, and brings what may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    pub(super) anonymous: Rules,
    pub(super) users: BTreeMap<Box<str>, Rules>,
    pub(super) patterns: Rules,
}

impl Acl {
    /// The list in `text`.
    ///
    /// # Errors
    /// The first line that is no rule, with its number; nothing of the list is then taken.
    pub fn parse(text: &[u8]) -> Result<Self, AclError> {
        parse::parse(text)
    }

    /// Rules in all.
    pub fn len(&self) -> usize {
        let users: usize = self.users.values().map(Rules::len).sum();
        self.anonymous.len() + users + self.patterns.len()
    }

    /// Whether there is no rule, so that nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `who` may publish to `topic`.
    pub fn may_publish(&self, who: Who<'_>, topic: &str) -> bool {
        self.judge(
            who,
            |rule| rule.reaches(who, topic),
            |right, rule| right.writes() && rule.reaches(who, topic),
        )
    }

    /// Whether a message of `topic` may be handed to `who`.
    pub fn may_receive(&self, who: Who<'_>, topic: &str) -> bool {
        self.judge(
            who,
            |rule| rule.reaches(who, topic),
            |right, rule| right.reads() && rule.reaches(who, topic),
        )
    }

    /// Whether `who` may subscribe to `filter`, given without `$share/{name}/`.
    pub fn may_subscribe(&self, who: Who<'_>, filter: &str) -> bool {
        self.judge(
            who,
            |rule| rule.covers(who, filter),
            |right, rule| right.reads() && rule.overlaps(who, filter),
        )
    }

    fn judge(
        &self,
        who: Who<'_>,
        denies: impl Fn(&Rule) -> bool,
        grants: impl Fn(Right, &Rule) -> bool,
    ) -> bool {
        let own = match who.user {
            None => Some(&self.anonymous),
            Some(user) => self.users.get(user),
        };
        let mut granted = false;
        let own = own.map_or(&[][..], |rules| &rules.0);
        for (right, rule) in own.iter().chain(&self.patterns.0) {
            if *right == Right::Deny {
                if denies(rule) {
                    return false;
                }
            } else if !granted {
                granted = grants(*right, rule) && rule.may_grant(who);
            }
        }
        granted
    }
}
