//! What is wrong with a configuration, told so that it can be mended.
//!
//! Owns [`Problem`] and the way from a byte of the file to its line and key.

use std::{fmt, ops::Range, path::Path};

use serde::Serialize;
use toml::de::{DeTable, DeValue};

/// One mistake: where, which key, what, and the cure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The file, if it stands in one.
    pub(crate) file: Option<String>,
    /// Its line, from 1.
    pub(crate) line: Option<usize>,
    /// The key with its table, such as `broker.listen`, or the flag.
    pub(crate) key: Option<String>,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do; empty where `what` says it.
    pub(crate) cure: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.what)?;
        if !self.cure.is_empty() {
            write!(f, "; {}", self.cure)?;
        }
        Ok(())
    }
}

/// A file and its text, to find the place of a mistake in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The file's name.
    pub(crate) path: &'a Path,
    /// What it holds.
    pub(crate) text: &'a str,
}

impl Place<'_> {
    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        before.filter(|&&byte| byte == b'\n').count() + 1
    }

    /// A mistake at `span`.
    pub(crate) fn problem(
        &self,
        span: Range<usize>,
        key: Option<String>,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> Problem {
        Problem {
            file: Some(self.path.display().to_string()),
            line: Some(self.line(span.start)),
            key,
            what: what.into(),
            cure: cure.into(),
        }
    }

    /// What serde or the TOML parser complained about.
    pub(crate) fn syntax(&self, error: &toml::de::Error) -> Problem {
        let span = error.span().unwrap_or_default();
        let (tree, _) = DeTable::parse_recoverable(self.text);
        let key = key_at(tree.get_ref(), span.start);
        let (what, cure) = told(error.message());
        self.problem(span, key, what, cure)
    }
}

/// The full name of the key at or around a byte.
fn key_at(table: &DeTable<'_>, offset: usize) -> Option<String> {
    for (key, value) in table {
        if key.span().contains(&offset) {
            return Some(key.get_ref().to_string());
        }
        if let DeValue::Table(inner) = value.get_ref() {
            if let Some(inner) = key_at(inner, offset) {
                return Some(format!("{}.{inner}", key.get_ref()));
            }
        } else if value.span().contains(&offset) {
            return Some(key.get_ref().to_string());
        }
    }
    None
}

/// A parser's message as fault and cure.
fn told(message: &str) -> (String, String) {
    let first = message.lines().next().unwrap_or_default();
    let Some((what, expected)) = message.split_once(", expected ") else {
        return (message.trim_end().replace('\n', "; "), String::new());
    };
    let Some(name) = quoted(what)
        .next()
        .filter(|_| what.starts_with("unknown field"))
    else {
        return (first.to_owned(), String::new());
    };
    let known: Vec<_> = quoted(expected).collect();
    let what = format!("there is no key {name} here");
    let near = known.iter().min_by_key(|known| distance(name, known));
    match near.filter(|known| distance(name, known) <= 1 + name.chars().count() / 3) {
        Some(near) => (what, format!("did you mean {near}?")),
        None => (
            what,
            format!("remove it, or use one of {}", known.join(", ")),
        ),
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// How many letters must change to make `right` of `left`.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut next = vec![i + 1];
        for ((&b, &above), &diagonal) in right.iter().zip(row.iter().skip(1)).zip(&row) {
            let beside = next.last().copied().unwrap_or_default();
            next.push(
                (diagonal + usize::from(a != b))
                    .min(above + 1)
                    .min(beside + 1),
            );
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
