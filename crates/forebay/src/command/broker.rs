//! `forebay broker` and `forebay up`.

use crate::{
    cli,
    config::{self, Flags},
    exit::{Exit, Failure},
    logging,
};

/// Runs a broker until it is told to stop.
///
/// # Errors
/// What kept it from starting, or what ended it.
pub(crate) fn run(flags: cli::Broker, up: bool) -> Result<(), Failure> {
    let flags = Flags { broker: flags, up };
    let loaded = config::load(flags.broker.source.config.as_deref(), &flags);
    let file = loaded.file.clone();
    let config = loaded.good()?;
    logging::start(&config.log.level.value, config.log.format.value);
    if let Some(file) = file {
        tracing::info!(file = %file.display(), "configuration read");
    }
    Err(Failure::new(Exit::Internal, "this build has no broker"))
}
