//! A broker process on a directory and port of its own.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use tempfile::TempDir;

use super::{
    client::Client,
    lines::{Lines, end_by_term},
    wait_until,
    wire::{Connect, PUBACK, Version, ack, connect, publish},
};

/// A broker that a test started. Killed when dropped; its stderr is shown if the test failed.
pub(crate) struct Broker {
    home: TempDir,
    flags: Vec<String>,
    process: Option<Lines>,
    mqtt: SocketAddr,
    metrics: Option<SocketAddr>,
    ready: String,
}

/// Whether `FOREBAY_TEST_PEER` names another broker, which can't take our flags.
pub(crate) fn peer_is_foreign() -> bool {
    std::env::var_os("FOREBAY_TEST_PEER").is_some()
}

impl Broker {
    /// Starts a broker on a new directory.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts a broker on a new directory with more flags.
    #[track_caller]
    pub(crate) fn with(flags: &[&str]) -> Self {
        let mut broker = Self::at_rest();
        broker.add_flags(flags);
        broker.run();
        broker
    }

    /// A broker with a new directory, for [`Broker::run`] to start.
    pub(crate) fn at_rest() -> Self {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            home,
            flags: Vec::new(),
            process: None,
            mqtt: nowhere,
            metrics: None,
            ready: String::new(),
        }
    }

    /// Flags for every start from now on.
    pub(crate) fn add_flags(&mut self, flags: &[&str]) {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
    }

    /// Starts the broker again on the same directory, on another port.
    #[track_caller]
    pub(crate) fn run(&mut self) {
        assert!(self.process.is_none(), "still running");
        if peer_is_foreign() {
            return self.run_mosquitto();
        }
        let mut command = Self::command(&self.data_dir());
        command.args(&self.flags);
        self.adopt(Lines::start(&mut command));
    }

    /// Takes over a process that is about to print `ready`.
    #[track_caller]
    pub(crate) fn adopt(&mut self, mut process: Lines) {
        let Some(line) = process.line() else {
            let (status, stderr) = process.outcome();
            panic!("the broker ended before it was ready: {status}\n{stderr}");
        };
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("ready"), "the first line is {line:?}");
        for word in words {
            match word.split_once('=') {
                Some(("mqtt", at)) => self.mqtt = at.parse().expect("an address"),
                Some(("metrics", at)) => self.metrics = Some(at.parse().expect("an address")),
                _ => {}
            }
        }
        assert_ne!(self.mqtt.port(), 0, "no mqtt address in {line:?}");
        self.ready = line;
        self.process = Some(process);
    }

    /// Where it listens, as the ready line says, for the last of this kind.
    #[track_caller]
    pub(crate) fn door(&self, scheme: &str) -> String {
        let words = self.ready.split_whitespace();
        let mut doors = words.filter_map(|word| word.split_once('='));
        let door = doors.rfind(|(found, _)| *found == scheme);
        door.unwrap_or_else(|| panic!("no {scheme} in {:?}", self.ready))
            .1
            .to_owned()
    }

    /// The command that runs a broker on `data_dir` and any free port.
    pub(crate) fn command(data_dir: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command
            .arg("broker")
            .arg("--data-dir")
            .arg(data_dir)
            .args(["--listen", "127.0.0.1:0"]);
        command
    }

    fn run_mosquitto(&mut self) {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a free port").port();
        let dir = self.data_dir();
        std::fs::create_dir_all(&dir).expect("a directory");
        let file = self.home.path().join("mosquitto.conf");
        let text = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\nuser root\n\
             persistence_location {}/\nmax_queued_messages 0\nmax_inflight_messages 100\n",
            dir.display()
        );
        std::fs::write(&file, text).expect("a file");
        let process = Lines::start(Command::new("/usr/sbin/mosquitto").arg("-c").arg(&file));
        self.mqtt = SocketAddr::from(([127, 0, 0, 1], port));
        self.process = Some(process);
        let address = self.mqtt;
        wait_until("mosquitto to listen", || TcpStream::connect(address).ok());
    }

    /// The directory of everything that belongs to this broker.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the broker keeps its data.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Where it listens for MQTT.
    pub(crate) fn address(&self) -> SocketAddr {
        self.mqtt
    }

    /// The port it listens on for MQTT.
    pub(crate) fn port(&self) -> String {
        self.mqtt.port().to_string()
    }

    /// Where it listens for scrapes.
    pub(crate) fn metrics(&self) -> SocketAddr {
        self.metrics.expect("started with --metrics")
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.as_ref().expect("running").id()
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.process.as_ref().expect("running").stderr()
    }

    /// Kills the broker with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if std::env::var("FOREBAY_TEST_PEER").is_ok_and(|peer| peer == "mosquitto-stopped") {
            self.stop();
            return;
        }
        self.process.take().expect("running").kill();
    }

    /// Kills the broker with SIGKILL and starts it again on the same directory.
    #[track_caller]
    pub(crate) fn crash(&mut self) {
        self.kill();
        self.run();
    }

    /// Asks the broker to stop and waits until it has.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> ExitStatus {
        end_by_term(self.id());
        self.ended()
    }

    /// Waits until the broker ended after a signal.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("running");
        process.wait()
    }

    /// Stops the broker in good order and starts it again on the same directory.
    #[track_caller]
    pub(crate) fn reboot(&mut self) {
        let status = self.stop();
        assert!(status.success(), "a graceful stop ended with {status}");
        self.run();
    }

    /// Returns when everything that the broker handled before is on disk.
    ///
    /// What has no acknowledgement of its own, as a client's PUBACK, is only promised once
    /// something later was acknowledged: the log has one order.
    #[track_caller]
    pub(crate) fn settle(&self) {
        let mut client = self.connect(&connect(Version::V311, ""));
        client.send(
            publish("$settle", "now")
                .retain(true)
                .qos(1, 1)
                .bytes(Version::V311),
        );
        client.expect(ack(PUBACK, 1));
    }

    /// Opens a connection and says nothing.
    #[track_caller]
    pub(crate) fn open(&self, version: Version) -> Client {
        Client::open(self.mqtt, version)
    }

    /// Connects and requires success.
    #[track_caller]
    pub(crate) fn connect(&self, connect: &Connect) -> Client {
        Client::connect(self.mqtt, connect).0
    }

    /// Connects, requires success, and that a session was or was not there.
    #[track_caller]
    pub(crate) fn resume(&self, connect: &Connect, present: bool) -> Client {
        let (client, answer) = Client::connect(self.mqtt, connect);
        assert_eq!(answer.present, present, "session present");
        client
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
            if std::thread::panicking() {
                let text = process.stderr();
                let from = text.len().saturating_sub(4000);
                let tail = text.get(from..).unwrap_or(&text);
                eprintln!("--- stderr of the broker ---\n{tail}");
            }
        }
    }
}
