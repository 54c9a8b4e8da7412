//! `forebay sub`: prints messages as they come, and acknowledges what was printed.

mod line;
#[cfg(test)]
mod tests;

use std::io::Write;

use forebay_node::client::{
    ClientConfig, ClientEvent, QoS, ReasonCode, Receipt, RequestError, RetainHandling,
    SubscriptionOptions, Text,
};

use super::peer;
use crate::{
    cli,
    exit::{Exit, Failure},
    output,
};

/// Subscribes as the flags ask.
///
/// # Errors
/// [`Exit::Refused`] where the broker refused the connection or a filter,
/// [`Exit::Unavailable`] where the connection ended by itself.
pub(crate) fn run(flags: &cli::Subscribe) -> Result<(), Failure> {
    super::log_as(flags.peer.log_level.as_deref())?;
    let config = config(flags)?;
    super::block_on(subscribe(flags, config))
}

fn config(flags: &cli::Subscribe) -> Result<ClientConfig, Failure> {
    let mut config = peer::config(&flags.peer)?;
    // Otherwise a message that came after the last one to print would be lost.
    config.acknowledge_at_once = false;
    config.forgives_excess = true;
    config.clean_start = !flags.keep_session;
    if flags.keep_session {
        config.session_expiry_secs = flags.session_expiry;
    }
    Ok(config)
}

fn filters(flags: &cli::Subscribe) -> Result<Vec<(Text, SubscriptionOptions)>, Failure> {
    let retained = if flags.no_retained {
        RetainHandling::DontSend
    } else {
        RetainHandling::Send
    };
    let options = SubscriptionOptions {
        qos: QoS::new(flags.qos).unwrap_or_default(),
        retain_handling: retained,
        ..SubscriptionOptions::default()
    };
    flags
        .topics
        .iter()
        .map(|topic| Ok((peer::text("-t", topic)?, options)))
        .collect()
}

async fn subscribe(flags: &cli::Subscribe, config: ClientConfig) -> Result<(), Failure> {
    let filters = filters(flags)?;
    let (mut link, connected) = peer::open(&flags.peer, config).await?;
    tracing::info!(session_present = connected.session_present, "connected");
    // Where the connection is over already, its end says why.
    if !matches!(
        link.subscribe(filters),
        Ok(_) | Err(RequestError::NotConnected)
    ) {
        return Err(Failure::new(Exit::Internal, "the filters can't be sent"));
    }
    let mut out = output::buffered();
    let mut left = flags.count;
    let mut owed: Vec<Receipt> = Vec::new();
    let mut refused = false;
    let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        if !link.has_event() || left == Some(0) {
            // A message is acknowledged once its line is with the reader of the pipe.
            out.flush().map_err(|error| output::failed(&error))?;
            for receipt in owed.drain(..) {
                link.acknowledge(receipt, ReasonCode::SUCCESS);
            }
        }
        if left == Some(0) {
            link.disconnect();
        }
        let event = tokio::select! {
            event = link.next() => event,
            _ = &mut stop, if left != Some(0) => {
                left = Some(0);
                continue;
            }
        };
        match event {
            // What comes after the last message is left to the session: it is not printed.
            ClientEvent::Message { .. } if left == Some(0) => {}
            ClientEvent::Message { publish, receipt } => {
                // Below MQTT 5 the broker can't be asked to leave them out.
                if !(flags.no_retained && publish.retain) {
                    line::write(&mut out, flags, &publish)
                        .map_err(|error| output::failed(&error))?;
                    left = left.map(|left| left - 1);
                }
                owed.extend(receipt);
            }
            ClientEvent::Subscribed { reasons, text, .. } => {
                if tell_refusals(&flags.topics, &reasons, text.as_ref()) {
                    (refused, left) = (true, Some(0));
                }
            }
            ClientEvent::Closed(ending) => {
                peer::ended(ending)?;
                return if refused {
                    Err(Failure::told(Exit::Refused))
                } else {
                    Ok(())
                };
            }
            ClientEvent::Connected(_)
            | ClientEvent::Published { .. }
            | ClientEvent::Unsubscribed { .. }
            | _ => {}
        }
    }
}

/// Tells which filters were refused, and whether one was.
fn tell_refusals(topics: &[String], reasons: &[ReasonCode], text: Option<&Text>) -> bool {
    let words = text
        .map(|text| format!(": {}", text.as_str()))
        .unwrap_or_default();
    let mut any = false;
    for (topic, reason) in topics.iter().zip(reasons) {
        if reason.is_error() {
            any = true;
            eprintln!("refused: {topic}: {reason}{words}");
        }
    }
    any
}
