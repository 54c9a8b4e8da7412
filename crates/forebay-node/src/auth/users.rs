//! The password file.
//!
//! Owns [`Users`], the file as it is checked, and the edits of its text ([`with_user`],
//! [`without_user`]). A line is `name:hash`; empty lines and those that begin with `#` are kept.
//! A file is taken whole or not at all.

use std::{collections::HashMap, fmt};

use thiserror::Error;

use super::hash::{Hash, HashError};

/// Users of a file at most.
const USERS_MAX: usize = 1_000_000;

/// Users and what is kept of their passwords. `Debug` tells their number.
#[derive(Clone, Default)]
pub struct Users {
    hashes: HashMap<Box<str>, Hash>,
    /// What an unknown name is checked against, so that it takes as long as a known one.
    decoy: Option<Hash>,
}

/// A line that is no user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct UsersError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: UsersFault,
}

/// What is wrong with a line of a password file. None shows what the line holds behind the name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UsersFault {
    /// The line is not text.
    #[error("not UTF-8; save the file as UTF-8")]
    NotText,
    /// There is no colon, or nothing before it.
    #[error("no user; write name:hash, or let forebay passwd write it")]
    NoUser,
    /// The hash can't be used.
    #[error("user {name:?}: {source}; set the password again with forebay passwd")]
    Hash {
        /// Whose.
        name: String,
        /// Why not.
        source: HashError,
    },
    /// The name stands in the file twice.
    #[error("user {0:?} stands here a second time; remove one of the lines")]
    Twice(String),
    /// Too many users.
    #[error("more than {USERS_MAX} users")]
    TooMany,
}

impl Users {
    /// The users of a password file.
    ///
    /// # Errors
    /// The first line that is wrong, with its number.
    pub fn parse(text: &[u8]) -> Result<Self, UsersError> {
        let mut users = Self::default();
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let wrong = |fault| UsersError {
                line: index + 1,
                fault,
            };
            let line = std::str::from_utf8(line).map_err(|_| wrong(UsersFault::NotText))?;
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = line
                .split_once(':')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| wrong(UsersFault::NoUser))?;
            let hash = Hash::parse(hash.trim()).map_err(|source| {
                let name = name.to_owned();
                wrong(UsersFault::Hash { name, source })
            })?;
            if users.decoy.is_none() {
                users.decoy = Some(hash.decoy());
            }
            if users.hashes.len() >= USERS_MAX {
                return Err(wrong(UsersFault::TooMany));
            }
            if users.hashes.insert(name.into(), hash).is_some() {
                return Err(wrong(UsersFault::Twice(name.to_owned())));
            }
        }
        Ok(users)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are none, so that nobody comes in.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether `name` has this password. Takes long on purpose, for a name that is not there too.
    pub fn check(&self, name: &str, password: &[u8]) -> bool {
        let known = self.hashes.get(name);
        let hash = known.or(self.decoy.as_ref());
        hash.is_some_and(|hash| hash.is_of(password)) && known.is_some()
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Users({})", self.len())
    }
}

/// Whether a line of the file is that of `name`.
fn is_of(line: &str, name: &str) -> bool {
    !line.starts_with('#')
        && line
            .split_once(':')
            .is_some_and(|(written, _)| written == name)
}

/// The text of a password file in which `name` has `hash`: its line is replaced, or added.
pub fn with_user(text: &str, name: &str, hash: &Hash) -> String {
    let new = format!("{name}:{}", hash.text());
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter_mut().find(|line| is_of(line, name)) {
        Some(line) => *line = &new,
        None => lines.push(&new),
    }
    whole(&lines)
}

/// The text of a password file without `name`; `None` where it was not there.
pub fn without_user(text: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !is_of(line, name)).collect();
    (lines.len() < text.lines().count()).then(|| whole(&lines))
}

fn whole(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
