//! The configuration: one file, roles as tables, overridden by flags.
//!
//! Owns reading the file. `raw` is what can be written, `validated` what is used, `problem` how
//! a mistake is told.

pub(crate) mod files;
mod judge;
mod listener;
mod numbers;
mod problem;
mod raw;
mod reference;
mod validated;

use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) use problem::Problem;
pub(crate) use reference::markdown;
pub(crate) use validated::{Broker, Config, Flags, Line};

use crate::exit::{Exit, Failure};
use problem::Place;
use raw::Raw;

/// The file that is read where none is named.
const FILE: &str = "forebay.toml";

/// What reading and judging gave.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// What is in effect; `None` where the file could not be understood at all.
    pub(crate) config: Option<Config>,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
}

impl Loaded {
    /// The configuration, if nothing is wrong with it.
    ///
    /// # Errors
    /// Every mistake, a line each.
    pub(crate) fn good(self) -> Result<Config, Failure> {
        match self.config {
            Some(config) if self.problems.is_empty() => Ok(config),
            _ => {
                let lines: Vec<_> = self.problems.iter().map(Problem::to_string).collect();
                Err(Failure::new(Exit::Config, lines.join("\n")))
            }
        }
    }
}

/// Reads `named`, or the usual file if it is there, and lays the flags over it.
pub(crate) fn load(named: Option<&Path>, flags: &Flags) -> Loaded {
    let path = named.unwrap_or(Path::new(FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => read(path, &text, flags),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            let (config, problems) = validated::validate(&Raw::default(), None, flags);
            Loaded {
                file: None,
                config: Some(config),
                problems,
            }
        }
        Err(error) => {
            let problem = Problem {
                file: Some(path.display().to_string()),
                line: None,
                key: None,
                what: format!("can't be read: {error}"),
                cure: "name a file that is there and readable with --config".to_owned(),
            };
            Loaded {
                file: Some(path.to_owned()),
                config: None,
                problems: vec![problem],
            }
        }
    }
}

/// Reads the text of a file and lays the flags over it.
fn read(path: &Path, text: &str, flags: &Flags) -> Loaded {
    let place = Place { path, text };
    let file = Some(path.to_owned());
    match toml::from_str::<Raw>(text) {
        Ok(raw) => {
            let (config, problems) = validated::validate(&raw, Some(place), flags);
            Loaded {
                file,
                config: Some(config),
                problems,
            }
        }
        Err(error) => Loaded {
            file,
            config: None,
            problems: vec![place.syntax(&error)],
        },
    }
}

#[cfg(test)]
mod tests;
