//! The command line: what can be typed.
//!
//! Owns the flags of every command and their help. Never does anything: what a flag means is in
//! `command` and `config`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};

mod passwd;
mod queue;

use crate::{exit, logging};

pub(crate) use passwd::{Format, Passwd};
pub(crate) use queue::{
    Queue, QueueBackups, QueueCheck, QueueDeleteBackup, QueueExport, QueueFollow, QueueImport,
    QueueList, QueueRepair, QueueRestore, QueueShow, StoreAt,
};

/// Durable MQTT in one binary: an acknowledgement means that it is on disk.
#[derive(Debug, Parser)]
#[command(name = "forebay", version, after_help = exit::HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a broker: MQTT 5, 3.1.1 and 3.1 over sessions that live on disk
    #[command(after_help = BROKER_HELP)]
    Broker(Broker),
    /// Run everything on this machine: for the time being a broker with its data in ./forebay-data
    #[command(after_help = UP_HELP)]
    Up(Broker),
    /// Publish messages and say what became of each
    #[command(after_help = PUB_HELP, disable_help_flag = true)]
    Pub(Publish),
    /// Subscribe and print messages, one line each
    #[command(after_help = SUB_HELP, disable_help_flag = true)]
    Sub(Subscribe),
    /// Print the configuration in effect and what is wrong with it
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Measure a broker: rate, latency, and whether anything was lost, doubled or reordered
    #[command(after_help = BENCH_HELP)]
    Bench(Bench),
    /// Set, add or remove the users of a password file
    #[command(after_help = passwd::HELP)]
    Passwd(Passwd),
    /// Look into the queues of a store, whether a broker runs on it or not
    #[command(after_help = queue::HELP, subcommand)]
    Queue(Queue),
}

const BROKER_HELP: &str = "\
Once every listener is up one line is printed on standard output, and nothing else:
  ready mqtt=127.0.0.1:1883 metrics=127.0.0.1:9464
with mqtts=, ws=, wss= and unix= for the listeners of the configuration.

Example:
  forebay broker --data-dir /var/lib/forebay --listen 127.0.0.1:1883

SIGHUP reads users, access control and limits anew; where one is wrong nothing is changed.
SIGINT and SIGTERM stop it after what was accepted is on disk. Exit codes: forebay --help.";

const UP_HELP: &str = "\
Example:
  forebay up
  forebay pub -t hello -m world -q 1      (in another terminal)

Exit codes: forebay --help.";

const PUB_HELP: &str = "\
Ends with 0 only if every message was acknowledged with success. A message that the broker
refused is told on standard error as `refused: not_authorized (0x87)` and the end is 1; where
the broker can't be reached, or the link is lost before every acknowledgement came, it is 69.

Examples:
  forebay pub -t plant/line1/temp -m 21.5 -q 1
  seq 1 1000 | forebay pub -t numbers -l -q 2
  forebay pub -t plant/line1/temp -n -r          (clear the retained message)";

const SUB_HELP: &str = "\
A line is the payload; with -v the topic before it; with --json an object with topic, payload
(or payload_b64 where it is not UTF-8), qos, retain, dup, packet_id and properties. A message is
acknowledged after its line was written.

Ends with 0 after -C messages or SIGINT, 1 if the broker refused the connection or a filter,
69 if it can't be reached or the link is lost.

Examples:
  forebay sub -t 'plant/#' -q 1 -v
  forebay sub -t 'plant/#' -q 2 -i recorder -c --json";

const CHECK_HELP: &str = "\
Ends with 0 if the configuration is good, 78 if not.

Example:
  forebay check --config forebay.toml";

const BENCH_HELP: &str = "\
Ends with 0 if every message arrived once and in order, 1 if one was lost, doubled, reordered or
refused, 69 if the broker can't be reached or closed a connection.

Examples:
  forebay bench --peer 127.0.0.1:1883 --publishers 50 --subscribers 50 --qos 1 --messages 200000
  forebay bench --peer 127.0.0.1:1883 --subscribers 1000 --topics shared --messages 1000 --json";

/// How a role gets its configuration and where its log goes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Source {
    /// The configuration file; flags override it [default: ./forebay.toml if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a list of target=level
    #[arg(long = "log", value_name = "LEVEL", env = logging::VARIABLE)]
    pub(crate) log_level: Option<String>,
    /// How to log [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<logging::Format>,
}

/// The flags of `broker` and `up`; each has a key in the file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Broker {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Where sessions and messages are kept [default: ./forebay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where to listen for MQTT; port 0 takes a free one [default: 127.0.0.1:1883]
    #[arg(long, value_name = "ADDRESS", overrides_with = "listen")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where to serve metrics over HTTP [default: nowhere; `up`: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Let anyone in from other machines, without a name
    #[arg(long)]
    pub(crate) allow_anonymous: bool,
    /// Users and what is kept of their passwords; `forebay passwd` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Who may publish and read what, in Mosquitto's format
    #[arg(long, value_name = "FILE")]
    pub(crate) acl_file: Option<PathBuf>,
    /// The fastest way to write synchronously that is tried [default: auto]
    #[arg(long, value_name = "DRIVER")]
    pub(crate) disk_driver: Option<DiskDriver>,
}

/// What a publish that is not allowed leads to below MQTT 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RefusedPublish {
    /// The end of its connection
    #[default]
    Close,
    /// An acknowledgement, though it is dropped
    Acknowledge,
}

impl RefusedPublish {
    /// The name in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Acknowledge => "acknowledge",
        }
    }
}

impl From<RefusedPublish> for forebay_node::RefusedPublish {
    fn from(refused: RefusedPublish) -> Self {
        match refused {
            RefusedPublish::Close => Self::Close,
            RefusedPublish::Acknowledge => Self::Acknowledge,
        }
    }
}

/// How the store writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiskDriver {
    /// The best that the kernel and the file system have
    #[default]
    Auto,
    /// Direct synchronous writes through io_uring
    #[value(name = "io_uring")]
    IoUring,
    /// Synchronous writes on a few threads
    #[value(name = "pwritev2")]
    Pwritev2,
    /// Plain writes, each followed by fdatasync
    Fdatasync,
}

impl DiskDriver {
    /// The name in flags and files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::IoUring => "io_uring",
            Self::Pwritev2 => "pwritev2",
            Self::Fdatasync => "fdatasync",
        }
    }
}

/// Which broker, and who asks.
#[derive(Clone, Debug, Args)]
pub(crate) struct Peer {
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// The broker's host name or address
    #[arg(short = 'h', long, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// The broker's port
    #[arg(short, long, default_value_t = 1883)]
    pub(crate) port: u16,
    /// The client identifier [default: one that the broker gives, or a random one below MQTT 5]
    #[arg(short, long)]
    pub(crate) id: Option<String>,
    /// The version of MQTT: 3 (3.1), 4 (3.1.1) or 5
    #[arg(
        short = 'V',
        long = "protocol",
        value_name = "VERSION",
        default_value = "5"
    )]
    pub(crate) version: Version,
    /// The user name
    #[arg(short, long)]
    pub(crate) user: Option<String>,
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Keep alive, seconds; 0 turns it off
    #[arg(short, long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) keep_alive: u16,
    /// What to log: error, warn, info, debug, trace, or a list of target=level
    #[arg(long = "log", value_name = "LEVEL", env = logging::VARIABLE)]
    pub(crate) log_level: Option<String>,
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Version {
    /// MQTT 3.1
    #[value(name = "3", aliases = ["3.1", "31", "mqttv31"])]
    V3,
    /// MQTT 3.1.1
    #[value(name = "4", aliases = ["3.1.1", "311", "mqttv311"])]
    V4,
    /// MQTT 5
    #[value(name = "5", aliases = ["5.0", "mqttv5"])]
    V5,
}

/// The flags of `pub`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("payload").required(true).multiple(false))]
pub(crate) struct Publish {
    #[command(flatten)]
    pub(crate) peer: Peer,
    /// The topic
    #[arg(short, long)]
    pub(crate) topic: String,
    /// The payload
    #[arg(short, long, group = "payload")]
    pub(crate) message: Option<String>,
    /// A file with the payload; - is standard input
    #[arg(short, long, group = "payload")]
    pub(crate) file: Option<PathBuf>,
    /// One message for each line of standard input
    #[arg(short, long, group = "payload")]
    pub(crate) lines: bool,
    /// An empty payload
    #[arg(short = 'n', long, group = "payload")]
    pub(crate) empty: bool,
    /// Quality of service: 0, 1 or 2
    #[arg(short, long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) qos: u8,
    /// Keep the message as the topic's retained one
    #[arg(short, long)]
    pub(crate) retain: bool,
    /// A user property of the message (MQTT 5), may be repeated
    #[arg(short = 'D', long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) user_property: Vec<(String, String)>,
    /// Seconds after which the message is of no use (MQTT 5)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) expiry: Option<u32>,
    /// Publish each message so many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: u64,
}

/// The flags of `sub`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Subscribe {
    #[command(flatten)]
    pub(crate) peer: Peer,
    /// A topic filter, may be repeated
    #[arg(short, long = "topic", value_name = "FILTER", required = true)]
    pub(crate) topics: Vec<String>,
    /// The highest quality of service: 0, 1 or 2
    #[arg(short, long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) qos: u8,
    /// Keep the session after the end, and go on with an earlier one (needs -i)
    #[arg(short = 'c', long, requires = "id")]
    pub(crate) keep_session: bool,
    /// Seconds that a kept session lives without a connection (MQTT 5)
    #[arg(long, value_name = "SECONDS", default_value_t = u32::MAX, hide_default_value = true)]
    pub(crate) session_expiry: u32,
    /// End after so many messages
    #[arg(short = 'C', long, value_name = "COUNT")]
    pub(crate) count: Option<u64>,
    /// Leave out messages that were retained before the subscription
    #[arg(short = 'R', long)]
    pub(crate) no_retained: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// The topic before the payload
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
}

/// The flags of `check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Check {
    /// The configuration file [default: ./forebay.toml if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print what every key means instead, in Markdown
    #[arg(long, conflicts_with_all = ["config", "json"])]
    pub(crate) reference: bool,
    /// JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Bench {
    /// The broker to load
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883")]
    pub(crate) peer: String,
    /// Connections that publish
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive())]
    pub(crate) publishers: u32,
    /// Connections that subscribe; 0 measures publishing alone
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) subscribers: u32,
    /// Quality of service of messages and subscriptions: 0, 1 or 2
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) qos: u8,
    /// Bytes of a payload, at least 16
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub(crate) size: u32,
    /// Messages in all, shared out among the publishers
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) messages: u64,
    /// Most unacknowledged messages of a publisher; for QoS 0, most unread ones
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) window: u16,
    /// Messages a second in all [default: as fast as it goes]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<u64>,
    /// One topic for each pair (publisher i, subscriber i), or one for all
    #[arg(long, value_enum, default_value_t = Topics::Pair)]
    pub(crate) topics: Topics,
    /// Sessions of subscribers that outlive their connection, so that messages are stored
    #[arg(long)]
    pub(crate) persistent: bool,
    /// The version of MQTT: 3 (3.1), 4 (3.1.1) or 5
    #[arg(
        short = 'V',
        long = "protocol",
        value_name = "VERSION",
        default_value = "5"
    )]
    pub(crate) version: Version,
    /// Seconds without any progress after which missing messages count as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) patience: u64,
    /// JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Who hears whom in a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topics {
    /// Subscriber i hears publisher i; those left over share, round robin
    Pair,
    /// Every subscriber hears every publisher: fan-in, fan-out, or both
    Shared,
}

fn positive() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

fn key_value(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "write it as key=value".to_owned())
}

#[cfg(test)]
mod tests;
