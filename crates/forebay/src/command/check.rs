//! `forebay check`: the configuration in effect, and what is wrong with it.

use std::fmt::Write;

use serde::Serialize;

use crate::{
    cli,
    config::{self, Flags, Line, Problem},
    exit::{Exit, Failure},
    output,
};

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    file: Option<String>,
    effective: Vec<Line>,
    problems: &'a [Problem],
}

/// Prints what is in effect and what is wrong.
///
/// # Errors
/// [`Exit::Config`] where something is wrong.
pub(crate) fn run(flags: &cli::Check) -> Result<(), Failure> {
    if flags.reference {
        return output::line(config::markdown().trim_end());
    }
    let mut loaded = config::load(flags.config.as_deref(), &Flags::default());
    if let Some(config) = &loaded.config
        && let Err(problems) = config::files::read(&config.broker)
    {
        loaded.problems.extend(problems);
    }
    let lines = loaded
        .config
        .as_ref()
        .map(config::Config::lines)
        .unwrap_or_default();
    if flags.json {
        output::json(&Report {
            ok: loaded.problems.is_empty(),
            file: loaded.file.as_ref().map(|file| file.display().to_string()),
            effective: lines,
            problems: &loaded.problems,
        })?;
    } else {
        let file = loaded.file.as_ref().map(|file| file.display().to_string());
        output::line(&text(file.as_deref(), &lines))?;
        for problem in &loaded.problems {
            eprintln!("{problem}");
        }
    }
    match loaded.problems.len() {
        0 => Ok(()),
        1 => Err(Failure::new(Exit::Config, "1 mistake in the configuration")),
        n => Err(Failure::new(
            Exit::Config,
            format_args!("{n} mistakes in the configuration"),
        )),
    }
}

/// The lines as TOML, each with its origin.
fn text(file: Option<&str>, lines: &[Line]) -> String {
    let mut text = match file {
        Some(file) => format!("# {file}"),
        None => "# no forebay.toml here: defaults".to_owned(),
    };
    let mut table = "";
    for line in lines {
        let (inside, name) = line.key.rsplit_once('.').unwrap_or(("", &line.key));
        if inside != table {
            // Writing to a string can't fail.
            let _ = write!(text, "\n\n[{inside}]");
            table = inside;
        }
        let (mark, value) = if line.value.is_null() {
            ("# ", "not set".to_owned())
        } else {
            ("", line.value.to_string())
        };
        let shown = format!("{mark}{name} = {value}");
        let _ = write!(text, "\n{shown:<44} # {}", line.origin);
    }
    text
}
