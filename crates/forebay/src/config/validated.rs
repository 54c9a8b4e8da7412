//! The configuration as it is used: every value present, checked, and with its origin.
//!
//! Owns [`Config`] and the rules that a value must keep. Flags override the file, the file
//! overrides the defaults. Every mistake is collected, not only the first.

use std::{fmt, net::SocketAddr, path::PathBuf};

use forebay_node::{
    Limits,
    broker::{Keeping, Listener},
};
use serde::Serialize;
use toml::Spanned;

use super::{
    judge::{Fault, Judge, address, one_of},
    listener,
    numbers::Numbers,
    problem::{Place, Problem},
    raw::{self, Raw},
};
use crate::{
    cli::{self, DiskDriver, RefusedPublish},
    logging,
};

/// Where metrics are served by `up`.
const UP_METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(LOOPBACK), 9464);
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(LOOPBACK), 1883);
const LOOPBACK: std::net::Ipv4Addr = std::net::Ipv4Addr::LOCALHOST;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    /// Nothing was said.
    Default,
    /// The file, at this line.
    File(usize),
    /// A flag or a variable.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(line) => write!(f, "line {line}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Sourced<T> {
    /// The value.
    pub(crate) value: T,
    /// Its origin.
    pub(crate) origin: Origin,
}

/// Everything, ready to use.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The broker.
    pub(crate) broker: Broker,
    /// The log.
    pub(crate) log: Log,
}

/// The broker's part.
#[derive(Clone, Debug)]
pub(crate) struct Broker {
    /// Where it keeps its data.
    pub(crate) data_dir: Sourced<PathBuf>,
    /// Where it listens.
    pub(crate) listen: Sourced<SocketAddr>,
    /// The other ways in.
    pub(crate) more: Vec<Sourced<Listener>>,
    /// Where it serves metrics.
    pub(crate) metrics: Sourced<Option<SocketAddr>>,
    /// Whether other machines may come in without a name.
    pub(crate) allow_anonymous: Sourced<bool>,
    /// Where its users are.
    pub(crate) password_file: Sourced<Option<PathBuf>>,
    /// Where its rules are.
    pub(crate) acl_file: Sourced<Option<PathBuf>>,
    /// What a refused publish leads to below MQTT 5.
    pub(crate) refused_publish: Sourced<RefusedPublish>,
    /// How it writes.
    pub(crate) disk_driver: Sourced<DiskDriver>,
    /// How it keeps its store.
    pub(crate) store: Numbers<Keeping>,
    /// What clients may take.
    pub(crate) limits: Numbers<Limits>,
}

/// The log's part.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// The filter.
    pub(crate) level: Sourced<String>,
    /// The format.
    pub(crate) format: Sourced<logging::Format>,
}

/// A line of the effective configuration.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    /// The key with its table.
    pub(crate) key: String,
    /// The value; null where nothing is set.
    pub(crate) value: serde_json::Value,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The broker's flags.
    pub(crate) broker: cli::Broker,
    /// Whether everything runs on this machine, which turns metrics on.
    pub(crate) up: bool,
}

/// The configuration that the file and the flags make, and all that is wrong with it. Where
/// something is wrong the default stands in its place.
pub(crate) fn validate(
    raw: &Raw,
    place: Option<Place<'_>>,
    flags: &Flags,
) -> (Config, Vec<Problem>) {
    let mut judge = Judge {
        place,
        problems: Vec::new(),
    };
    let typed = &flags.broker;
    let table = raw::Broker::TABLE.name;
    let mut broker = Broker {
        more: Vec::new(),
        data_dir: judge.pick(
            typed.data_dir.clone().map(|dir| (dir, "--data-dir")),
            (table, "data_dir", &raw.broker.data_dir),
            PathBuf::from("./forebay-data"),
            |text| path(text),
        ),
        listen: judge.pick(
            typed.listen.map(|address| (address, "--listen")),
            (table, "listen", &raw.broker.listen),
            LISTEN,
            |text| address(text, LISTEN),
        ),
        metrics: judge.pick(
            typed.metrics.map(|address| (Some(address), "--metrics")),
            (table, "metrics", &raw.broker.metrics),
            flags.up.then_some(UP_METRICS),
            |text| address(text, UP_METRICS).map(Some),
        ),
        allow_anonymous: judge.pick(
            typed.allow_anonymous.then_some((true, "--allow-anonymous")),
            (table, "allow_anonymous", &raw.broker.allow_anonymous),
            false,
            |&value| Ok(value),
        ),
        password_file: judge.pick(
            typed
                .password_file
                .clone()
                .map(|path| (Some(path), "--password-file")),
            (table, "password_file", &raw.broker.password_file),
            None,
            |text| path(text).map(Some),
        ),
        acl_file: judge.pick(
            typed
                .acl_file
                .clone()
                .map(|path| (Some(path), "--acl-file")),
            (table, "acl_file", &raw.broker.acl_file),
            None,
            |text| path(text).map(Some),
        ),
        refused_publish: judge.pick(
            None,
            (table, "refused_publish", &raw.broker.refused_publish),
            RefusedPublish::Close,
            |text| one_of(text),
        ),
        disk_driver: judge.pick(
            typed.disk_driver.map(|driver| (driver, "--disk-driver")),
            (table, "disk_driver", &raw.broker.disk_driver),
            DiskDriver::Auto,
            |text| one_of(text),
        ),
        store: judge.store(&raw.broker.store),
        limits: judge.limits(&raw.broker.limits),
    };
    let table = raw::Log::TABLE.name;
    let log = Log {
        level: judge.pick(
            typed
                .source
                .log_level
                .clone()
                .map(|level| (level, "--log or FOREBAY_LOG")),
            (table, "level", &raw.log.level),
            "info".to_owned(),
            |text| Ok(text.clone()),
        ),
        format: judge.pick(
            typed
                .source
                .log_format
                .map(|format| (format, "--log-format")),
            (table, "format", &raw.log.format),
            logging::Format::Text,
            |text| one_of(text),
        ),
    };
    judge.level(&raw.log, &log.level);
    let asks = broker.password_file.value.is_some();
    let open = broker.allow_anonymous.value;
    let more = raw.broker.listener.iter();
    broker.more = more
        .filter_map(|it| judge.listener(it, asks, open))
        .collect();
    judge.sizes(&raw.broker, &broker);
    judge.anonymous(&raw.broker, &broker);
    (Config { broker, log }, judge.problems)
}

fn path(text: &str) -> Result<PathBuf, Fault> {
    match text {
        "" => Err(("is empty".to_owned(), "give a path".to_owned())),
        text => Ok(PathBuf::from(text)),
    }
}

impl Judge<'_> {
    fn level(&mut self, raw: &raw::Log, level: &Sourced<String>) {
        let Err(error) = logging::check(&level.value) else {
            return;
        };
        let (span, key) = match level.origin {
            Origin::Flag(flag) => (None, flag.to_owned()),
            Origin::File(_) | Origin::Default => (
                raw.level.as_ref().map(Spanned::span),
                "log.level".to_owned(),
            ),
        };
        let what = format!("{:?} is no filter of the log: {error}", level.value);
        self.add(
            span,
            key,
            what,
            "use error, warn, info, debug or trace".to_owned(),
        );
    }

    fn anonymous(&mut self, raw: &raw::Broker, broker: &Broker) {
        let at = broker.listen.value;
        let asks = broker.password_file.value.is_some();
        if asks || broker.allow_anonymous.value || at.ip().to_canonical().is_loopback() {
            return;
        }
        let (span, key, open) = match broker.listen.origin {
            Origin::Flag(flag) => (None, flag.to_owned(), "give --allow-anonymous"),
            Origin::File(_) | Origin::Default => (
                raw.listen.as_ref().map(Spanned::span),
                "broker.listen".to_owned(),
                "set allow_anonymous = true",
            ),
        };
        let what = format!("{at} lets other machines in, and nobody is asked for a name");
        let cure = format!(
            "listen on 127.0.0.1:{}, give a password_file, or {open} if that is meant",
            at.port()
        );
        self.add(span, key, what, cure);
    }
}

impl Broker {
    /// Every way in.
    pub(crate) fn listeners(&self) -> Vec<Listener> {
        // What nobody wrote gives way to what somebody did.
        let first = self.more.is_empty() || self.listen.origin != Origin::Default;
        let first = first.then(|| Listener::tcp(self.listen.value));
        first
            .into_iter()
            .chain(self.more.iter().map(|it| it.value.clone()))
            .collect()
    }
}

impl Config {
    /// Every key with its value, in the order of the reference.
    pub(crate) fn lines(&self) -> Vec<Line> {
        fn line<T>(
            key: &str,
            sourced: &Sourced<T>,
            show: impl Fn(&T) -> serde_json::Value,
        ) -> Line {
            Line {
                key: key.to_owned(),
                value: show(&sourced.value),
                origin: sourced.origin.clone(),
            }
        }
        let shown =
            |path: &Option<PathBuf>| path.as_ref().map(|it| it.display().to_string()).into();
        let broker = &self.broker;
        let mut lines = vec![
            line("broker.data_dir", &broker.data_dir, |dir| {
                dir.display().to_string().into()
            }),
            line("broker.listen", &broker.listen, |at| at.to_string().into()),
            line("broker.metrics", &broker.metrics, |at| {
                at.map(|at| at.to_string()).into()
            }),
            line("broker.allow_anonymous", &broker.allow_anonymous, |&open| {
                open.into()
            }),
            line("broker.password_file", &broker.password_file, shown),
            line("broker.acl_file", &broker.acl_file, shown),
            line("broker.refused_publish", &broker.refused_publish, |it| {
                it.name().into()
            }),
            line("broker.disk_driver", &broker.disk_driver, |driver| {
                driver.name().into()
            }),
        ];
        for (index, listener) in broker.more.iter().enumerate() {
            lines.extend(listener::lines(index, listener));
        }
        lines.extend(broker.store.lines.iter().cloned());
        lines.extend(broker.limits.lines.iter().cloned());
        lines.push(line("log.level", &self.log.level, |level| {
            level.clone().into()
        }));
        lines.push(line("log.format", &self.log.format, |format| {
            format.name().into()
        }));
        lines
    }
}
