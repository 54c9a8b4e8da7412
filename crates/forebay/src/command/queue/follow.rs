//! `forebay queue follow`: a queue as it changes.

use forebay_node::inspect::{Fault, Filter, Follow};

use super::{Lines, show};
use crate::{
    cli,
    exit::{Exit, Failure},
};

/// Prints what comes, changes and goes until Ctrl-C.
///
/// # Errors
/// [`Exit::Partial`] where not everything could be read; others where nothing could.
pub(super) fn run(flags: &cli::QueueFollow) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let mut filter = Filter::default();
    filter.qos = flags.qos;
    filter.state.clone_from(&flags.state);
    let follow = super::named(&flags.name, |name| Follow::new(&dir, name, filter.clone()))?;
    super::super::block_on(until_stopped(flags, follow))
}

async fn until_stopped(flags: &cli::QueueFollow, mut follow: Follow) -> Result<(), Failure> {
    let mut lines = Lines::under((!flags.json).then_some(show::HEAD));
    let mut told: Vec<Fault> = Vec::new();
    let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
    let mut ticks = tokio::time::interval(flags.every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = &mut stop => break,
            _ = ticks.tick() => {}
        }
        let faults = follow.step(|row| show::tell(&mut lines, row, flags.contents, flags.json));
        let mut faults = faults.map_err(|error| super::failure(&error))?;
        faults.retain(|fault| !told.contains(fault));
        lines.partial(&faults, flags.json)?;
        told.append(&mut faults);
    }
    lines.flush()?;
    if told.is_empty() {
        Ok(())
    } else {
        Err(Failure::told(Exit::Partial))
    }
}
