//! One rule of an access control list, and what it reaches.
//!
//! Owns [`Rule`]: a topic filter in which the levels `%u` and `%c` may stand for the user and the
//! client. What is put in their place is compared letter by letter: a wildcard in a user name
//! stands for itself. A rule reaches `$` topics only if it is written with the `$`.

use alloc::boxed::Box;

use super::Who;
use crate::topic::{is_dollar, levels};

const USER: &[u8] = b"%u";
const CLIENT: &[u8] = b"%c";

/// A topic filter of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    filter: Box<str>,
    /// Whether `%u` and `%c` are replaced.
    substitutes: bool,
}

/// A level of a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level<'a> {
    /// These letters.
    Plain(&'a [u8]),
    /// `+`.
    Any,
    /// `#`.
    Rest,
}

fn parse(level: &[u8]) -> Level<'_> {
    match level {
        b"+" => Level::Any,
        b"#" => Level::Rest,
        level => Level::Plain(level),
    }
}

impl Rule {
    /// A rule without substitution.
    pub(super) fn topic(filter: &str) -> Self {
        Self {
            filter: filter.into(),
            substitutes: false,
        }
    }

    /// A rule with substitution.
    pub(super) fn pattern(filter: &str) -> Self {
        Self {
            filter: filter.into(),
            substitutes: true,
        }
    }

    /// Whether the rule has something to say about `who`: `%u` says nothing about who has no name.
    fn concerns(&self, who: Who<'_>) -> bool {
        let names_user = || levels(self.filter.as_bytes()).any(|level| level == USER);
        !self.substitutes || who.user.is_some() || !names_user()
    }

    /// Whether a grant may be drawn from the rule: a name that is not one plain level would make
    /// more of the rule than was written.
    pub(super) fn may_grant(&self, who: Who<'_>) -> bool {
        let plain = |name: &str| !name.contains(['+', '#', '/']);
        self.concerns(who)
            && (!self.substitutes
                || levels(self.filter.as_bytes()).all(|level| match level {
                    USER => who.user.is_some_and(plain),
                    CLIENT => plain(who.client_id),
                    _ => true,
                }))
    }

    fn levels<'a>(&'a self, who: Who<'a>) -> impl Iterator<Item = Level<'a>> {
        levels(self.filter.as_bytes()).flat_map(move |level| {
            let name = match level {
                USER if self.substitutes => who.user,
                CLIENT if self.substitutes => Some(who.client_id),
                _ => None,
            };
            let literal = name.is_some();
            levels(name.map_or(level, str::as_bytes)).map(move |level| {
                if literal {
                    Level::Plain(level)
                } else {
                    parse(level)
                }
            })
        })
    }

    fn is_dollar(&self) -> bool {
        is_dollar(self.filter.as_bytes())
    }

    /// Whether the rule reaches a topic name.
    pub(super) fn reaches(&self, who: Who<'_>, name: &str) -> bool {
        let name = name.as_bytes();
        if !self.concerns(who) || is_dollar(name) != self.is_dollar() {
            return false;
        }
        let mut names = levels(name);
        for level in self.levels(who) {
            match (level, names.next()) {
                (Level::Rest, _) => return true,
                (Level::Any, Some(_)) => {}
                (Level::Plain(level), Some(name)) if level == name => {}
                (Level::Any | Level::Plain(_), _) => return false,
            }
        }
        names.next().is_none()
    }

    /// Whether some topic name is reached by the rule and matched by `filter`.
    pub(super) fn overlaps(&self, who: Who<'_>, filter: &str) -> bool {
        let filter = filter.as_bytes();
        if !self.concerns(who) || is_dollar(filter) != self.is_dollar() {
            return false;
        }
        let (mut ours, mut theirs) = (self.levels(who), levels(filter).map(parse));
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) | (Some(Level::Rest), _) | (_, Some(Level::Rest)) => return true,
                (Some(Level::Any), Some(_)) | (Some(_), Some(Level::Any)) => {}
                (Some(Level::Plain(ours)), Some(Level::Plain(theirs))) if ours == theirs => {}
                _ => return false,
            }
        }
    }

    /// Whether the rule reaches every topic name that `filter` matches.
    pub(super) fn covers(&self, who: Who<'_>, filter: &str) -> bool {
        let filter = filter.as_bytes();
        if !self.concerns(who) || is_dollar(filter) != self.is_dollar() {
            return false;
        }
        let mut theirs = levels(filter).map(parse);
        for ours in self.levels(who) {
            match (ours, theirs.next()) {
                (Level::Rest, _) => return true,
                (Level::Any, Some(Level::Any | Level::Plain(_))) => {}
                (Level::Plain(ours), Some(Level::Plain(theirs))) if ours == theirs => {}
                (Level::Any | Level::Plain(_), _) => return false,
            }
        }
        theirs.next().is_none()
    }
}
