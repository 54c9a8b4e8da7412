//! Who may come in and do what: users, rules, and both anew by SIGHUP without a lost connection.

mod passwd;
mod reload;
mod users;

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use crate::harness::{Broker, wait_until};

/// A directory with a password file and a list of rules, and a broker on both.
struct Gated {
    dir: TempDir,
    broker: Broker,
}

/// `ann:secret` and `bob:geheim`, made by `forebay passwd` of this build.
fn passwords() -> String {
    use std::sync::OnceLock;
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("passwords");
        passwd::batch(&file, "ann:secret\nbob:geheim\n", &["--create"]);
        fs::read_to_string(file).expect("a file")
    })
    .clone()
}

impl Gated {
    #[track_caller]
    fn with(rules: &str, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (users, acl) = (dir.path().join("passwords"), dir.path().join("acl"));
        fs::write(&users, passwords()).expect("a file");
        fs::write(&acl, rules).expect("a file");
        let files = [
            "--password-file",
            users.to_str().unwrap(),
            "--acl-file",
            acl.to_str().unwrap(),
        ];
        let broker = Broker::with(&[&files, flags].concat());
        Self { dir, broker }
    }

    fn users(&self) -> PathBuf {
        self.dir.path().join("passwords")
    }

    fn acl(&self) -> PathBuf {
        self.dir.path().join("acl")
    }

    /// Sends SIGHUP and waits until the log says `told`, once more than before.
    #[track_caller]
    fn hangup(&self, told: &str) {
        let count = || self.broker.stderr().matches(told).count();
        let before = count();
        let id = self.broker.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-HUP", &id])
            .status();
        assert!(sent.expect("kill").success());
        wait_until("the reload to be told", || (count() > before).then_some(()));
    }
}

/// What the log says of a reload that was taken.
const TAKEN: &str = "the configuration was read again";
/// What it says of one that was not.
const REFUSED: &str = "nothing is changed";
