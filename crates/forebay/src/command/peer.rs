//! What `pub` and `sub` share: connecting, and how an ending is told.

use forebay_node::client::{
    ClientConfig, Connected, Ending, Link, LostError, OpenError, Text, Version,
};

use crate::{
    cli,
    exit::{Exit, Failure, chain},
};

/// The configuration that the flags ask for.
///
/// # Errors
/// A flag holds what MQTT doesn't allow, or the password can't be read.
pub(crate) fn config(flags: &cli::Peer) -> Result<ClientConfig, Failure> {
    let version = match flags.version {
        cli::Version::V3 => Version::V3_1,
        cli::Version::V4 => Version::V3_1_1,
        cli::Version::V5 => Version::V5,
    };
    let id = match &flags.id {
        Some(id) => id.clone(),
        None if version == Version::V5 => String::new(),
        None => random_id(),
    };
    let mut config = ClientConfig::new(version, text("-i", &id)?);
    config.keep_alive_secs = flags.keep_alive;
    config.username = flags
        .user
        .as_deref()
        .map(|user| text("-u", user))
        .transpose()?;
    if let Some(path) = &flags.password_file {
        config.password = Some(super::first_line(path)?.into_bytes().into());
    }
    if config.password.is_some() && config.username.is_none() && version < Version::V5 {
        return Err(Failure::new(
            Exit::Usage,
            "below MQTT 5 a password needs a user name: give -u",
        ));
    }
    Ok(config)
}

/// Connects.
///
/// # Errors
/// [`Exit::Unavailable`], or [`Exit::Refused`] where the broker said no.
pub(crate) async fn open(
    flags: &cli::Peer,
    config: ClientConfig,
) -> Result<(Link, Connected), Failure> {
    let host = flags.host.trim_start_matches('[').trim_end_matches(']');
    Link::open((host, flags.port), config)
        .await
        .map_err(|error| {
            let exit = match &error {
                OpenError::Refused { .. } => Exit::Refused,
                OpenError::Unreachable { .. } | OpenError::Ended(_) | _ => Exit::Unavailable,
            };
            Failure::new(
                exit,
                format_args!("{host}:{}: {}", flags.port, chain(&error)),
            )
        })
}

/// What the end of a connection means, `Ok` where it was asked for.
///
/// # Errors
/// [`Exit::Unavailable`].
pub(crate) fn ended(ending: Ending) -> Result<(), Failure> {
    match LostError::of(ending) {
        None => Ok(()),
        Some(error) => Err(Failure::new(Exit::Unavailable, error)),
    }
}

/// `text` as MQTT carries it.
///
/// # Errors
/// [`Exit::Usage`] where MQTT doesn't allow it.
pub(crate) fn text(flag: &str, text: &str) -> Result<Text, Failure> {
    Text::try_from(text.to_owned()).map_err(|_| {
        let why = "MQTT takes at most 65,535 bytes of UTF-8, none of them zero";
        Failure::new(Exit::Usage, format_args!("{flag}: {why}"))
    })
}

/// An identifier that no other process has, within the 23 letters that every server takes.
fn random_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("forebay-{:08x}", random as u32)
}
