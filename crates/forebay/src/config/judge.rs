//! Judging what is written, key by key.
//!
//! Owns [`Judge`], which picks each value from flag, file and default and collects every mistake,
//! and the readers of single values.

use std::{fmt, net::SocketAddr, ops::Range};

use toml::Spanned;

use super::{
    problem::{Place, Problem},
    validated::{Origin, Sourced},
};

/// What is wrong with a value, and the cure.
pub(super) type Fault = (String, String);

pub(super) struct Judge<'a> {
    /// The file that is judged.
    pub(super) place: Option<Place<'a>>,
    /// What was found wrong.
    pub(super) problems: Vec<Problem>,
}

impl Judge<'_> {
    /// The value of a key: the flag, what is written, or the default.
    pub(super) fn pick<T, W>(
        &mut self,
        flag: Option<(T, &'static str)>,
        (table, name, written): (&str, &str, &Option<Spanned<W>>),
        default: T,
        read: impl Fn(&W) -> Result<T, Fault>,
    ) -> Sourced<T> {
        // The file is judged even where a flag overrides it, so that a mistake shows early.
        let filed = written
            .as_ref()
            .and_then(|written| match read(written.get_ref()) {
                Ok(value) => Some((value, written.span())),
                Err((what, cure)) => {
                    self.add(Some(written.span()), format!("{table}.{name}"), what, cure);
                    None
                }
            });
        match (flag, filed) {
            (Some((value, flag)), _) => Sourced {
                value,
                origin: Origin::Flag(flag),
            },
            (None, Some((value, span))) => {
                let line = self.place.map_or(0, |place| place.line(span.start));
                Sourced {
                    value,
                    origin: Origin::File(line),
                }
            }
            (None, None) => Sourced {
                value: default,
                origin: Origin::Default,
            },
        }
    }

    /// Notes a mistake, in the file if it has a place there.
    pub(super) fn add(
        &mut self,
        span: Option<Range<usize>>,
        key: String,
        what: String,
        cure: String,
    ) {
        let problem = match (span, self.place) {
            (Some(span), Some(place)) => place.problem(span, Some(key), what, cure),
            _ => Problem {
                file: None,
                line: None,
                key: Some(key),
                what,
                cure,
            },
        };
        self.problems.push(problem);
    }
}

/// An address and a port.
pub(super) fn address(text: &str, like: SocketAddr) -> Result<SocketAddr, Fault> {
    text.parse().map_err(|_| {
        let cure = format!("write an IP address and a port, such as \"{like}\"");
        (format!("{text:?} is no address"), cure)
    })
}

/// A number within bounds.
pub(super) fn number<T>(value: i64, least: T, most: T) -> Result<T, Fault>
where
    T: TryFrom<i64> + PartialOrd + fmt::Display + Copy,
{
    T::try_from(value)
        .ok()
        .filter(|value| *value >= least && *value <= most)
        .ok_or_else(|| {
            (
                format!("{value} is out of bounds"),
                format!("use a number from {least} to {most}"),
            )
        })
}

/// A name out of a list.
pub(super) fn one_of<T: clap::ValueEnum>(text: &str) -> Result<T, Fault> {
    T::from_str(text, false).map_err(|_| {
        let names: Vec<_> = T::value_variants()
            .iter()
            .filter_map(T::to_possible_value)
            .map(|value| value.get_name().to_owned())
            .collect();
        (
            format!("{text:?} is not known"),
            format!("use one of {}", names.join(", ")),
        )
    })
}
