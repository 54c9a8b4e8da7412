//! `forebay queue show`: the messages of a queue.

use std::ops::ControlFlow;

use forebay_node::inspect::{self, Filter, MessageRow};
use serde_json::{Map, Value};

use super::{Lines, text};
use crate::{cli, exit::Failure, time};

/// Prints the messages of a queue.
///
/// # Errors
/// [`Exit::Partial`](crate::exit::Exit) where not everything could be read; others where nothing
/// could.
pub(super) fn run(flags: &cli::QueueShow) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let mut filter = Filter::default();
    filter.all = flags.all;
    filter.backup.clone_from(&flags.backup);
    filter.qos = flags.qos;
    filter.state.clone_from(&flags.state);
    filter.rowids = flags.rowids.unwrap_or_default();
    filter.times = (flags.since, flags.until);
    let mut lines = Lines::under((!flags.json).then_some(HEAD));
    let faults = super::named(&flags.name, |name| {
        inspect::messages(&dir, name, &filter, |row| {
            tell(&mut lines, row, flags.contents, flags.json)
        })
    })?;
    lines.end(&faults, flags.json)
}

pub(super) const HEAD: &str = "     ROWID  TIME                      FLAG    QOS RD DIR ORIGIN STATE            \
                               PACKET  LIST/OUTCOME           LEN  TOPIC";

/// Prints a message.
pub(super) fn tell(
    lines: &mut Lines,
    row: &MessageRow,
    contents: bool,
    as_json: bool,
) -> ControlFlow<()> {
    if as_json {
        return lines.line(&object(row, contents).to_string());
    }
    lines.line(&line(row))?;
    match &row.body {
        Some(body) if contents => {
            if !body.properties.is_empty() {
                let properties = text::base64(&body.properties);
                lines.line(&format!("            properties, base 64: {properties}"))?;
            }
            lines.line(&format!("            {}", text::escape(&body.payload)))
        }
        _ => ControlFlow::Continue(()),
    }
}

fn line(row: &MessageRow) -> String {
    let time = row.time.map_or_else(|| "-".to_owned(), time::show);
    let end = match (row.outcome, row.reason) {
        (Some(outcome), Some(reason)) => format!("{outcome}:{reason}"),
        (Some(outcome), None) => outcome.to_owned(),
        (None, _) => row.list.unwrap_or("done").to_owned(),
    };
    let id = row
        .packet_id
        .map_or_else(|| "-".to_owned(), |id| id.to_string());
    let topic = match (&row.body, &row.error) {
        (Some(body), _) => text::escape(body.topic.as_bytes()),
        (None, Some(error)) => format!("({error})"),
        (None, None) => String::new(),
    };
    let mut line = format!(
        "{:>10}  {time:<24}  {:#06x}  {:>3} {}{} {:<3} {:<6} {:<16} {id:>6}  {end:<18} {:>7}  {topic}",
        row.rowid,
        row.flag,
        row.qos,
        if row.retain { 'R' } else { '-' },
        if row.dup { 'D' } else { '-' },
        row.direction,
        row.origin,
        row.state,
        row.len,
    );
    if !row.subscription_identifiers.is_empty() {
        let ids: Vec<String> = row
            .subscription_identifiers
            .iter()
            .map(u32::to_string)
            .collect();
        line.push_str("  subscriptions ");
        line.push_str(&ids.join(","));
    }
    if let Some(at) = row.body.as_ref().and_then(|body| body.expires_at) {
        line.push_str("  expires ");
        line.push_str(&time::show(at));
    }
    line
}

/// A message as JSON.
pub(super) fn object(row: &MessageRow, contents: bool) -> Value {
    let mut object = Map::new();
    text::put(&mut object, "queue", &row.queue);
    if let Some(client_id) = row.client_id() {
        text::put(&mut object, "client_id", client_id);
    }
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("rowid", row.rowid.into());
    put("time", row.time.map(time::show).into());
    put("flag", format!("{:#06x}", row.flag).into());
    put("pending", row.pending.into());
    put("qos", row.qos.into());
    put("retain", row.retain.into());
    put("dup", row.dup.into());
    put("direction", row.direction.as_str().into());
    put("origin", row.origin.as_str().into());
    put("state", row.state.as_str().into());
    put("packet_id", row.packet_id.into());
    put("list", row.list.into());
    put("outcome", row.outcome.into());
    if let Some(reason) = row.reason {
        put("reason", reason.into());
    }
    put("len", row.len.into());
    if !row.subscription_identifiers.is_empty() {
        let ids = row.subscription_identifiers.clone();
        put("subscription_identifiers", ids.into());
    }
    if let Some(error) = &row.error {
        put("error", error.as_str().into());
    }
    if let Some(body) = &row.body {
        put("topic", body.topic.as_str().into());
        put("expires_at", body.expires_at.map(time::show).into());
        put("payload_len", body.payload.len().into());
        if contents {
            if !body.properties.is_empty() {
                put("properties_b64", text::base64(&body.properties).into());
            }
            text::put(&mut object, "payload", &body.payload);
        }
    }
    object.into()
}
