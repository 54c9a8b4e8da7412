//! A broker on a file system of its own that runs full (queue claim 24).

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::harness::{
    Broker, Client, Lines, Version, wait_until,
    wire::{PUBACK, ack, ack_with, connect, durable, publish},
};

const SIZE: u64 = 40 << 20;
const LOW_WATER: u64 = 2 << 20;
const PAYLOAD: usize = 8192;

/// A file system in memory, there for this test alone.
struct Small {
    // Ends with the process that holds it.
    holder: Lines,
    at: PathBuf,
}

impl Small {
    /// Mounts it at `at`, which no one but those that [`Small::enter`] can see.
    fn mount(at: &Path) -> Self {
        let script = format!(
            "mount -t tmpfs -o size={SIZE} tmpfs '{}' && echo mounted && exec cat",
            at.display()
        );
        let mut command = Command::new("unshare");
        // Who is not root may mount where it is root of a namespace.
        command.args(["--mount", "--map-root-user", "--user", "sh", "-c", &script]);
        let mut holder = Lines::start(command.stdin(Stdio::piped()));
        let line = holder.line();
        assert_eq!(line.as_deref(), Some("mounted"), "{}", holder.stderr());
        Self {
            holder,
            at: at.to_owned(),
        }
    }

    /// The command that runs another where the file system is.
    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        let id = self.holder.id().to_string();
        command.args(["--preserve-credentials", "--user", "--mount", "--target"]);
        command.arg(id);
        command
    }

    fn output(&self, program: &str, args: &[&str]) -> String {
        let mut command = self.enter();
        let output = command.arg(program).args(args).output().expect("nsenter");
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Bytes that are free.
    fn free(&self) -> u64 {
        let at = self.at.to_str().expect("UTF-8");
        let told = self.output("df", &["--output=avail", "--block-size=1", at]);
        let line = told.lines().nth(1).expect("a number");
        line.trim().parse().expect("a number")
    }

    /// Starts `broker` on it.
    fn run(&self, broker: &mut Broker, config: &Path) {
        let mut command = self.enter();
        command.arg(env!("CARGO_BIN_EXE_forebay")).arg("broker");
        command.arg("--data-dir").arg(self.at.join("data"));
        command.args(["--listen", "127.0.0.1:0", "--config"]);
        broker.adopt(Lines::start(command.arg(config)));
    }
}

fn payload(number: u16) -> Vec<u8> {
    let mut payload = format!("{number:05}").into_bytes();
    payload.resize(PAYLOAD, b'.');
    payload
}

/// Publishes and gives the reason in the PUBACK.
fn answer(publisher: &mut Client, number: u16) -> u8 {
    let message = publish("t", payload(number)).qos(1, 1);
    publisher.send(message.bytes(Version::V5));
    let frame = publisher.frame();
    let known = [0, 0x10, 0x97].into_iter();
    let found = known.clone().find(|&reason| {
        frame == ack_with(Version::V5, PUBACK, 1, reason)
            || (reason == 0 && frame == ack(PUBACK, 1))
    });
    found.unwrap_or_else(|| panic!("{frame:02x?} is none of {known:?}"))
}

#[test]
fn a_full_disk_refuses_drains_and_takes_again_by_itself_and_a_crash_changes_nothing() {
    let mut broker = Broker::at_rest();
    let config = broker.home().join("forebay.toml");
    let text = format!(
        "[broker.store]\nsegment_size = 4194304\nlow_water = {LOW_WATER}\n\
         [broker.limits]\nmax_packet_size = 65536\n"
    );
    std::fs::write(&config, text).expect("a file");
    let at = broker.home().join("small");
    std::fs::create_dir(&at).expect("a directory");
    let small = Small::mount(&at);
    small.run(&mut broker, &config);
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();

    let mut publisher = broker.connect(&durable(Version::V5, "publisher"));
    let mut taken = 0;
    while answer(&mut publisher, taken + 1) != 0x97 {
        taken += 1;
        assert!(
            u64::from(taken) * (PAYLOAD as u64) < SIZE,
            "it never runs full"
        );
    }
    assert!(
        u64::from(taken) * (PAYLOAD as u64) > SIZE / 2,
        "full after {taken} messages of {PAYLOAD} bytes on {SIZE}"
    );
    // It stays so, the connection too, and what takes no room goes on.
    for number in 0..20 {
        assert_eq!(answer(&mut publisher, taken + 1), 0x97, "{number}");
    }
    publisher.publish0("other", "QoS 0");
    assert!(small.free() >= LOW_WATER, "{} are free", small.free());

    broker.kill();
    small.run(&mut broker, &config);
    let mut publisher = broker.resume(&durable(Version::V5, "publisher"), true);
    // A last one may fit in before the disk was looked at.
    let before = taken;
    while answer(&mut publisher, taken + 1) != 0x97 {
        taken += 1;
    }
    assert!(taken <= before + 8, "{} more", taken - before);

    let mut new = broker.open(Version::V5);
    new.send(connect(Version::V5, "new").bytes());
    assert_eq!(new.connack().code, 0x97, "a new session");
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    for number in 1..=taken {
        let id = client.expect_publish(&publish("t", payload(number)).qos(1, 0));
        client.send(ack(PUBACK, id));
    }
    wait_until("room for a message", || {
        (answer(&mut publisher, taken + 1) != 0x97).then_some(())
    });
    let id = client.expect_publish(&publish("t", payload(taken + 1)).qos(1, 0));
    client.send(ack(PUBACK, id));
    client.expect_nothing();
    broker.settle();
    broker.kill();
    let data = at.join("data");
    let args = [
        "queue",
        "check",
        "--data-dir",
        data.to_str().expect("UTF-8"),
    ];
    let told = small.output(env!("CARGO_BIN_EXE_forebay"), &args);
    assert!(told.starts_with("good: 0 faults"), "{told}");
}
