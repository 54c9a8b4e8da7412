//! Reading an access control list.
//!
//! Owns the syntax and [`AclError`]. A list is taken whole or not at all.

use alloc::{boxed::Box, string::String};
use bytes::Bytes;

use super::{
    acl::{Acl, Right, Rules},
    rule::Rule,
};
use crate::{
    limits::{ACL_RULES_MAX, ACL_RULES_TOTAL_MAX},
    text::Text,
    topic::{TopicFilter, levels},
};

/// A line that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct AclError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: AclFault,
}

/// What is wrong with a line of an access control list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AclFault {
    /// The line is not text.
    #[error("not UTF-8; save the file as UTF-8")]
    NotText,
    /// The first word is none that is known.
    #[error("{0:?} begins no rule; write user, topic, pattern, or # for a comment")]
    Keyword(String),
    /// The word before the topic is no right.
    #[error("{0:?} is no right; write read, write, readwrite or deny before the topic")]
    Right(String),
    /// Nothing follows the first word.
    #[error("{0} needs something behind it")]
    Nothing(&'static str),
    /// The topic is no topic filter.
    #[error("{0:?} is no topic filter; + and # stand alone in their level, # in the last one")]
    Filter(String),
    /// `%u` or `%c` shares its level with other letters.
    #[error("{0:?}: %u and %c stand alone in their level")]
    Substitution(String),
    /// Too many rules.
    #[error("more than {0} rules here; use wildcards or patterns")]
    TooMany(usize),
}

pub(super) fn parse(text: &[u8]) -> Result<Acl, AclError> {
    let mut acl = Acl::default();
    let mut user: Option<Box<str>> = None;
    let mut total = 0;
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let fault = |fault| AclError {
            line: index + 1,
            fault,
        };
        let line = core::str::from_utf8(line).map_err(|_| fault(AclFault::NotText))?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (keyword, rest) = split(line);
        match keyword {
            "user" => {
                let name = some("user", rest).map_err(fault)?;
                acl.users.entry(name.into()).or_default();
                user = Some(name.into());
            }
            "topic" => {
                let (right, filter) = rule("topic", rest).map_err(fault)?;
                let rules = match &user {
                    None => &mut acl.anonymous,
                    Some(user) => acl.users.entry(user.clone()).or_default(),
                };
                let rule = Rule::topic(check(filter).map_err(fault)?);
                add(rules, right, rule, &mut total).map_err(fault)?;
            }
            "pattern" => {
                let (right, filter) = rule("pattern", rest).map_err(fault)?;
                let filter = substitution(check(filter).map_err(fault)?).map_err(fault)?;
                let rule = Rule::pattern(filter);
                add(&mut acl.patterns, right, rule, &mut total).map_err(fault)?;
            }
            other => return Err(fault(AclFault::Keyword(other.into()))),
        }
    }
    Ok(acl)
}

/// The first word, and what follows it.
fn split(line: &str) -> (&str, &str) {
    line.split_once(char::is_whitespace)
        .map_or((line, ""), |(word, rest)| (word, rest.trim_start()))
}

fn some<'a>(keyword: &'static str, rest: &'a str) -> Result<&'a str, AclFault> {
    if rest.is_empty() {
        Err(AclFault::Nothing(keyword))
    } else {
        Ok(rest)
    }
}

/// The right and the filter; a filter alone is read and written.
fn rule<'a>(keyword: &'static str, rest: &'a str) -> Result<(Right, &'a str), AclFault> {
    let rest = some(keyword, rest)?;
    let (word, filter) = split(rest);
    if filter.is_empty() {
        return Ok((Right::ReadWrite, word));
    }
    let right = match word {
        "read" => Right::Read,
        "write" => Right::Write,
        "readwrite" => Right::ReadWrite,
        "deny" => Right::Deny,
        other => return Err(AclFault::Right(other.into())),
    };
    Ok((right, filter))
}

fn check(filter: &str) -> Result<&str, AclFault> {
    let wrong = || AclFault::Filter(filter.into());
    let text = Text::new(Bytes::copy_from_slice(filter.as_bytes())).ok_or_else(wrong)?;
    let parsed = TopicFilter::new(text).map_err(|_| wrong())?;
    // A rule is about topics; who subscribes in a group is judged by what is behind it.
    if parsed.is_shared() {
        return Err(wrong());
    }
    Ok(filter)
}

fn substitution(filter: &str) -> Result<&str, AclFault> {
    let has = |level: &[u8], name: &[u8]| level.windows(2).any(|part| part == name);
    let shares = levels(filter.as_bytes())
        .any(|level| level.len() > 2 && (has(level, b"%u") || has(level, b"%c")));
    if shares {
        return Err(AclFault::Substitution(filter.into()));
    }
    Ok(filter)
}

fn add(rules: &mut Rules, right: Right, rule: Rule, total: &mut usize) -> Result<(), AclFault> {
    if rules.len() >= ACL_RULES_MAX {
        return Err(AclFault::TooMany(ACL_RULES_MAX));
    }
    *total += 1;
    if *total > ACL_RULES_TOTAL_MAX {
        return Err(AclFault::TooMany(ACL_RULES_TOTAL_MAX));
    }
    rules.push(right, rule);
    Ok(())
}
