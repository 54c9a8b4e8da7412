//! `forebay broker` and `forebay up`.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr},
};

use forebay_node::{
    Driver,
    broker::{Config, Ready, Reload, RunError, Settings, run as run_broker},
};

use crate::{
    cli::{self, DiskDriver},
    config::{self, Flags, Problem},
    exit::{Exit, Failure, chain},
    logging, output,
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
    let files = config::files::read(&config.broker).map_err(|problems| wrong(&problems))?;
    let told = config.broker;
    let started = told.clone();
    let dir = told.data_dir.value.clone();
    let mut config = Config::new(dir, Vec::new());
    config.listeners = told.listeners();
    config.metrics = told.metrics.value;
    config.driver = driver(told.disk_driver.value);
    config.store = told.store.values.options();
    config.broker.limits = told.limits.values;
    config.broker.access = files.access;
    config.users = files.users;
    config.reload = Some(Reload::new(move || reload(&flags, &started)));
    run_broker(&config, |ready| {
        let text = if up {
            welcome(ready, &config)
        } else {
            addresses(ready)
        };
        if let Err(failure) = output::line(&text) {
            tracing::warn!(error = failure.message, "nobody reads the addresses");
        }
    })
    .map_err(|error| Failure::new(exit(&error), told_why(&error)))
}

/// Reads the configuration again, all of it or nothing.
fn reload(flags: &Flags, started: &config::Broker) -> Result<Settings, Vec<String>> {
    let loaded = config::load(flags.broker.source.config.as_deref(), flags);
    let config = loaded.good().map_err(|failure| lines(&failure.message))?;
    let files =
        config::files::read(&config.broker).map_err(|problems| lines(&wrong(&problems).message))?;
    let (packet, segment) = (
        config.broker.limits.values.max_packet_size,
        started.store.values.segment_size,
    );
    if segment / 2 < packet {
        return Err(vec![format!(
            "broker.limits.max_packet_size: {packet} is more than half a segment of the store, \
             which is {segment} until the broker is started again; use {} or less, or start it anew",
            segment / 2
        )]);
    }
    Ok(Settings {
        access: files.access,
        users: files.users,
        listeners: config.broker.listeners(),
        later: later(started, &config.broker),
        limits: config.broker.limits.values,
    })
}

/// The keys that differ and that a running broker can't take.
fn later(started: &config::Broker, read: &config::Broker) -> Vec<String> {
    // What a listener's certificates hold is read again; what it is can't change.
    let ways_in = |it: &config::Broker| it.listeners();
    let changed = [
        (
            "broker.data_dir",
            started.data_dir.value != read.data_dir.value,
        ),
        (
            "broker.metrics",
            started.metrics.value != read.metrics.value,
        ),
        (
            "broker.disk_driver",
            started.disk_driver.value != read.disk_driver.value,
        ),
        ("[broker.store]", started.store.values != read.store.values),
        (
            "broker.listen or [[broker.listener]]",
            ways_in(started) != ways_in(read),
        ),
    ];
    let changed = changed.iter().filter(|(_, differs)| *differs);
    changed.map(|(key, _)| (*key).to_owned()).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn wrong(problems: &[Problem]) -> Failure {
    let lines: Vec<_> = problems.iter().map(Problem::to_string).collect();
    Failure::new(Exit::Config, lines.join("\n"))
}

/// `ready` and every address, on one line for scripts to wait for.
fn addresses(ready: &Ready) -> String {
    let doors = ready.doors.iter();
    let mqtt = doors.map(|(scheme, at)| format!("{scheme}={at}"));
    let metrics = ready.metrics.iter().map(|at| format!("metrics={at}"));
    let words: Vec<String> = ["ready".to_owned()]
        .into_iter()
        .chain(mqtt)
        .chain(metrics)
        .collect();
    words.join(" ")
}

/// What listens where, and what to try.
fn welcome(ready: &Ready, config: &Config) -> String {
    let (program, at) = (program(), peer_flags(ready.listen.first()));
    let mqtt = ready
        .listen
        .iter()
        .map(|at| format!("  MQTT 5 and 3.1.1  {at}"));
    let metrics = ready
        .metrics
        .iter()
        .map(|at| format!("  metrics           http://{at}/metrics"));
    let lines: Vec<String> = [addresses(ready), String::new()]
        .into_iter()
        .chain(mqtt)
        .chain(metrics)
        .chain([
            format!("  data              {}", config.dir.display()),
            String::new(),
            "Try, from another terminal:".to_owned(),
            format!("  {program} sub {at} -t 'plant/#' -q 1 -i shift -c"),
            format!("  {program} pub {at} -t plant/line1 -m hello -q 1"),
            "or with Mosquitto's clients:".to_owned(),
            format!("  mosquitto_sub {at} -t 'plant/#' -q 1 -i late-shift -c"),
            format!("  mosquitto_pub {at} -t plant/line1 -m hello -q 1"),
            "Stop the first, publish again, start it again: nothing is lost. Ctrl-C stops all."
                .to_owned(),
        ])
        .collect();
    lines.join("\n")
}

/// How this program was called, as a shell takes it.
fn program() -> String {
    let called = std::env::args().next();
    let called = called.unwrap_or_else(|| "forebay".to_owned());
    let is_plain = |is: char| is.is_ascii_alphanumeric() || "/._-+".contains(is);
    if called.chars().all(is_plain) {
        called
    } else {
        format!("'{}'", called.replace('\'', r"'\''"))
    }
}

/// The flags that lead a client on this machine to where the broker listens.
fn peer_flags(listen: Option<&SocketAddr>) -> String {
    let Some(listen) = listen else {
        return String::new();
    };
    let port = listen.port();
    if listen.ip() == Ipv4Addr::LOCALHOST || listen.ip().is_unspecified() {
        format!("-p {port}")
    } else {
        format!("-h {} -p {port}", listen.ip())
    }
}

const fn driver(wanted: DiskDriver) -> Driver {
    match wanted {
        DiskDriver::Auto | DiskDriver::IoUring => Driver::IoUring,
        DiskDriver::Pwritev2 => Driver::Pwritev2,
        DiskDriver::Fdatasync => Driver::Fdatasync,
    }
}

fn exit(error: &RunError) -> Exit {
    match error {
        RunError::AddressInUse { .. } | RunError::Listen { .. } => Exit::Unavailable,
        RunError::DataDir { .. } | RunError::Poisoned { .. } => Exit::Io,
        RunError::Locked { .. } => Exit::Locked,
        RunError::Tls { .. } => Exit::Config,
        RunError::Damaged { .. }
        | RunError::NewerFormat { .. }
        | RunError::Store { .. }
        | RunError::Row { .. } => Exit::Data,
        RunError::System { .. } | _ => Exit::Internal,
    }
}

/// What went wrong, and what to do about it.
fn told_why(error: &RunError) -> String {
    let cure = match error {
        RunError::AddressInUse { .. } => "stop what listens there, or give another address",
        RunError::Listen { .. } => "correct the address, or the rights to it",
        RunError::DataDir { source, .. } if source.kind() == ErrorKind::StorageFull => {
            "make room, or set a smaller segment_size in [broker.store]; nothing was deleted"
        }
        RunError::DataDir { .. } => "correct the path or its rights; nothing was deleted",
        RunError::Locked { .. } => "stop that process first, or give another --data-dir",
        RunError::Damaged { .. } => {
            "nothing was changed; forebay queue repair says what is lost, and goes on without it if \
             that is accepted"
        }
        RunError::NewerFormat { .. } => "use the newer release; nothing was changed",
        RunError::Store { .. } | RunError::Row { .. } => "nothing was changed",
        RunError::Poisoned { .. } => {
            "nothing was acknowledged since; look at the disk, then start again"
        }
        RunError::Tls { .. } => {
            "correct the files that tls_certificate, tls_key and tls_client_ca name"
        }
        RunError::System { .. } | _ => "look at the limits of the system",
    };
    format!("{}\n{cure}", chain(error))
}
