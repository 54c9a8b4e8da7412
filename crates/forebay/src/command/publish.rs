//! `forebay pub`: publishes messages, and says what became of each.

use std::{
    io::{self, BufRead, Read},
    path::Path,
};

use bytes::Bytes;
use forebay_node::client::{
    ClientEvent, Properties, PropertiesBuilder, Property, Publish, QoS, Verdict, Version,
};
use tokio::sync::mpsc;

use super::peer;
use crate::{
    cli,
    exit::{Exit, Failure},
};

/// Lines read ahead of what was sent.
const AHEAD: usize = 256;

/// Publishes what the flags ask for.
///
/// # Errors
/// [`Exit::Refused`] where the broker refused a message or the connection,
/// [`Exit::Unavailable`] where the connection ended before every answer.
pub(crate) fn run(flags: &cli::Publish) -> Result<(), Failure> {
    super::log_as(flags.peer.log_level.as_deref())?;
    let template = template(flags)?;
    let payloads = payloads(flags)?;
    super::block_on(publish(flags, template, payloads))
}

/// Where payloads come from.
enum Payloads {
    One(Option<Bytes>),
    Lines(mpsc::Receiver<io::Result<Bytes>>),
}

impl Payloads {
    /// The next one; `None` once there is no other. Cancel safe.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        match self {
            Self::One(payload) => payload.take().map(Ok),
            Self::Lines(lines) => lines.recv().await,
        }
    }
}

async fn publish(
    flags: &cli::Publish,
    template: Publish,
    mut payloads: Payloads,
) -> Result<(), Failure> {
    let (mut link, _) = peer::open(&flags.peer, peer::config(&flags.peer)?).await?;
    let mut tally = Tally::default();
    // What is to be published, and how many times more.
    let mut current: Option<(Bytes, u64)> = None;
    let mut more = true;
    loop {
        while let Some((payload, left)) = current.as_mut().filter(|_| link.has_room()) {
            let made = Publish {
                payload: payload.clone(),
                ..template.clone()
            };
            if link.publish(made).is_err() {
                break;
            }
            tally.published += 1;
            *left -= 1;
            if *left == 0 {
                current = None;
            }
        }
        if !more && current.is_none() && link.unanswered() == 0 {
            link.disconnect();
        }
        tokio::select! {
            payload = payloads.next(), if more && current.is_none() => match payload {
                Some(Ok(payload)) if flags.repeat > 0 => current = Some((payload, flags.repeat)),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    more = false;
                    tally.input = Some(error);
                }
                None => more = false,
            },
            event = link.next() => match event {
                ClientEvent::Published { verdict, .. } => tally.count(&verdict),
                ClientEvent::Closed(ending) => {
                    let asked = peer::ended(ending);
                    return tally.finish(asked);
                }
                ClientEvent::Connected(_)
                | ClientEvent::Message { .. }
                | ClientEvent::Subscribed { .. }
                | ClientEvent::Unsubscribed { .. }
                | _ => {}
            },
        }
    }
}

/// What became of the messages.
#[derive(Debug, Default)]
struct Tally {
    published: u64,
    taken: u64,
    refused: u64,
    input: Option<io::Error>,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Sent | Verdict::Delivered(_) => self.taken += 1,
            Verdict::Refused { reason, text } => {
                self.refused += 1;
                match text {
                    Some(text) => eprintln!("refused: {reason}: {}", text.as_str()),
                    None => eprintln!("refused: {reason}"),
                }
            }
            Verdict::NotSent(why) => {
                self.refused += 1;
                eprintln!("not sent: {why}");
            }
            Verdict::LinkLost | _ => {}
        }
    }

    fn finish(self, ended: Result<(), Failure>) -> Result<(), Failure> {
        let Self {
            published,
            taken,
            refused,
            input,
        } = self;
        let answered = taken + refused;
        if let Err(Failure { exit, message }) = ended {
            let lost = published - answered;
            let text = format!("{message}; {answered} of {published} answered, {lost} unknown");
            return Err(Failure::new(exit, text));
        }
        if let Some(error) = input {
            return Err(Failure::new(
                Exit::Io,
                format_args!("standard input: {error}"),
            ));
        }
        if refused > 0 {
            return Err(Failure::new(
                Exit::Refused,
                format_args!("{refused} of {published} refused"),
            ));
        }
        Ok(())
    }
}

/// The message without its payload.
fn template(flags: &cli::Publish) -> Result<Publish, Failure> {
    let topic = peer::text("-t", &flags.topic)?;
    if flags.topic.is_empty() || flags.topic.contains(['+', '#']) {
        let text = "-t: a topic to publish to has at least one letter and no + or #";
        return Err(Failure::new(Exit::Usage, text));
    }
    let version = peer::config(&flags.peer)?.version;
    let wanted = !flags.user_property.is_empty() || flags.expiry.is_some();
    if wanted && version < Version::V5 {
        let text = "-D and --expiry are properties, which exist since MQTT 5: leave out -V";
        return Err(Failure::new(Exit::Usage, text));
    }
    Ok(Publish {
        dup: false,
        qos: QoS::new(flags.qos).unwrap_or_default(),
        retain: flags.retain,
        topic,
        packet_id: None,
        properties: properties(flags)?,
        payload: Bytes::new(),
    })
}

fn properties(flags: &cli::Publish) -> Result<Properties, Failure> {
    let mut properties = PropertiesBuilder::new();
    if let Some(seconds) = flags.expiry {
        properties.push(Property::MessageExpiryInterval(seconds));
    }
    for (name, value) in &flags.user_property {
        peer::text("-D", name)?;
        peer::text("-D", value)?;
        properties.push(Property::UserProperty(name, value));
    }
    Ok(properties.build())
}

fn payloads(flags: &cli::Publish) -> Result<Payloads, Failure> {
    if flags.lines {
        return Ok(Payloads::Lines(lines()));
    }
    let payload = match (&flags.message, &flags.file) {
        (Some(message), _) => Bytes::from(message.clone()),
        (None, Some(path)) => file(path)?,
        (None, None) => Bytes::new(),
    };
    Ok(Payloads::One(Some(payload)))
}

fn file(path: &Path) -> Result<Bytes, Failure> {
    let read = if path == Path::new("-") {
        let mut all = Vec::new();
        io::stdin().lock().read_to_end(&mut all).map(|_| all)
    } else {
        std::fs::read(path)
    };
    read.map(Bytes::from)
        .map_err(|error| Failure::new(Exit::Io, format_args!("{}: {error}", path.display())))
}

/// The lines of stdin, read on a thread of their own: a terminal gives one when it likes.
fn lines() -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    std::thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let line = line.map(|mut line| {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                Bytes::from(line)
            });
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
