//! `forebay passwd`: what can be typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const HELP: &str = "\
The password is asked for twice on a terminal; otherwise it is the first line of standard input.
It is never given on the command line, where others could see it. The file is written anew beside
itself and put in its place whole; comments and the other lines stay. A running broker takes it
with SIGHUP.

Examples:
  forebay passwd --create /etc/forebay/passwords ann
  forebay passwd /etc/forebay/passwords bob < bob.secret
  forebay passwd --delete /etc/forebay/passwords ann
  forebay passwd --batch /etc/forebay/passwords < users     (lines of name:password)";

/// The flags of `passwd`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Passwd {
    /// The password file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Whose password is set
    #[arg(value_name = "USER", required_unless_present = "batch")]
    pub(crate) user: Option<String>,
    /// Make the file where there is none
    #[arg(short, long)]
    pub(crate) create: bool,
    /// Remove the user instead
    #[arg(short = 'D', long, conflicts_with_all = ["create", "batch"])]
    pub(crate) delete: bool,
    /// Take lines of name:password from standard input
    #[arg(short, long, conflicts_with = "user")]
    pub(crate) batch: bool,
    /// How the password is kept: argon2id, or a format that every Mosquitto reads
    #[arg(long, value_enum, default_value_t = Format::Argon2id)]
    pub(crate) format: Format,
}

/// How a password is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// argon2id
    Argon2id,
    /// PBKDF2 with SHA-512, `$7$`
    Mosquitto,
}
