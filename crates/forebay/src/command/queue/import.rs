//! `forebay queue import`: exported messages into the queues of a store.
//!
//! Owns the lines that `export` writes and `import` reads.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use forebay_node::inspect::{Import, ImportError, ImportRow, MessageRow};
use serde::{Deserialize, Serialize};

use super::text;
use crate::{
    cli,
    exit::{Exit, Failure, chain},
    output, time,
};

/// A message as a line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    /// In the place of `queue` where that is no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue_b64: Option<String>,
    /// Where it was; of no meaning to an import.
    #[serde(default)]
    rowid: Option<u64>,
    #[serde(default)]
    time: Option<String>,
    flag: String,
    #[serde(default)]
    packet_id: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    subscription_identifiers: Vec<u32>,
    topic: String,
    published_qos: u8,
    #[serde(default)]
    published_retain: bool,
    #[serde(default)]
    expires_at: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    properties_b64: String,
    payload_b64: String,
}

impl Line {
    /// A message with its content.
    pub(super) fn new(row: &MessageRow) -> Result<Self, Failure> {
        let body = row.body.as_ref();
        let body = body.ok_or_else(|| Failure::new(Exit::Internal, "a message without content"))?;
        let queue = String::from_utf8(row.queue.clone());
        let queue_b64 = queue.is_err().then(|| text::base64(&row.queue));
        Ok(Self {
            queue: queue.ok(),
            queue_b64,
            rowid: Some(row.rowid),
            time: row.time.map(time::show),
            flag: format!("{:#06x}", row.flag),
            packet_id: row.packet_id,
            subscription_identifiers: row.subscription_identifiers.clone(),
            topic: body.topic.clone(),
            published_qos: body.qos,
            published_retain: body.retain,
            expires_at: body.expires_at.map(time::show),
            properties_b64: text::base64(&body.properties),
            payload_b64: text::base64(&body.payload),
        })
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(self)
            .map_err(|error| Failure::new(Exit::Internal, format_args!("no JSON of it: {error}")))
    }

    fn row(self) -> Result<ImportRow, String> {
        let bytes = |key: &str, text: &str| {
            let bytes = STANDARD.decode(text);
            bytes.map_err(|error| format!("{key}: {error}"))
        };
        let queue = match (self.queue, self.queue_b64) {
            (Some(queue), _) => queue.into_bytes(),
            (None, Some(queue)) => bytes("queue_b64", &queue)?,
            (None, None) => return Err("queue is missing".to_owned()),
        };
        let flag = self.flag.strip_prefix("0x").unwrap_or(&self.flag);
        let flag = u16::from_str_radix(flag, 16)
            .map_err(|_| format!("flag {:?} is no number of 16 bits in hex", self.flag))?;
        let at = |time: Option<String>| time.as_deref().map(time::parse).transpose();
        Ok(ImportRow {
            queue,
            time: at(self.time)?,
            flag,
            packet_id: self.packet_id,
            subscription_identifiers: self.subscription_identifiers,
            topic: self.topic,
            published_qos: self.published_qos,
            published_retain: self.published_retain,
            expires_at: at(self.expires_at)?,
            properties: bytes("properties_b64", &self.properties_b64)?,
            payload: bytes("payload_b64", &self.payload_b64)?,
        })
    }
}

/// Imports a file.
///
/// # Errors
/// [`Exit::Data`] where a line is wrong, [`Exit::Locked`] where a broker has the store.
pub(super) fn run(flags: &cli::QueueImport) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let target = flags.queue.as_deref().map(text::names);
    let target = target.and_then(|names| names.into_iter().next_back());
    let target = target.as_deref();
    each(&flags.file, target, |row| {
        Import::judge(row).map_err(ImportError::from)
    })?;
    let mut import = Import::open(&dir).map_err(|error| super::failure(&error))?;
    each(&flags.file, target, |row| import.put(row))?;
    let done = import
        .finish()
        .map_err(|error| Failure::new(exit(&error), chain(&error)))?;
    output::line(&format!(
        "imported {} messages, {} of them to be delivered anew; {} were there already; made {} \
         queues and {} sessions",
        done.messages, done.begun_anew, done.known, done.queues, done.sessions
    ))
}

/// Does it with every line of the file.
fn each(
    file: &Path,
    target: Option<&[u8]>,
    mut with: impl FnMut(&ImportRow) -> Result<(), ImportError>,
) -> Result<(), Failure> {
    let at = |exit, number: usize, what: &dyn std::fmt::Display| {
        let file = file.display();
        Failure::new(exit, format_args!("{file}, line {number}: {what}"))
    };
    let opened = File::open(file)
        .map_err(|error| Failure::new(Exit::Io, format_args!("{}: {error}", file.display())))?;
    for (place, line) in BufReader::new(opened).lines().enumerate() {
        let number = place + 1;
        let line = line.map_err(|error| at(Exit::Io, number, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let parsed: Result<Line, _> = serde_json::from_str(&line);
        let parsed = parsed.map_err(|error| at(Exit::Data, number, &error))?;
        let mut row = parsed.row().map_err(|what| at(Exit::Data, number, &what))?;
        if let Some(target) = target {
            row.queue = target.to_vec();
        }
        with(&row).map_err(|error| at(exit(&error), number, &chain(&error)))?;
    }
    Ok(())
}

fn exit(error: &ImportError) -> Exit {
    match error {
        ImportError::Rejected(_) => Exit::Data,
        ImportError::Commit(_) | ImportError::Poisoned(_) | _ => Exit::Io,
    }
}
