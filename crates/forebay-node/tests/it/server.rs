//! A broker on a thread of this process.

use std::{net::SocketAddr, path::Path, sync::mpsc, thread::JoinHandle};

use forebay_node::broker::{Config, Ready, RunError, run_on};
use forebay_store::{Disk, OsDisk, OsOptions};

pub(crate) struct Server {
    pub(crate) ready: Ready,
    thread: JoinHandle<Result<(), RunError>>,
}

pub(crate) fn config(dir: &Path) -> Config {
    Config::new(dir.to_owned(), vec!["127.0.0.1:0".parse().unwrap()])
}

/// The real disk in `dir`.
pub(crate) fn real(dir: &Path) -> OsDisk {
    OsDisk::open(dir, OsOptions::default()).unwrap()
}

impl Server {
    /// A broker with the usual configuration on the real disk.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::start_on(real(dir), config(dir))
    }

    pub(crate) fn start_on<D: Disk>(disk: D, config: Config) -> Self {
        Self::try_start(disk, config).unwrap()
    }

    /// A broker, or why it did not start.
    pub(crate) fn try_start<D: Disk>(disk: D, config: Config) -> Result<Self, RunError> {
        let (say, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            run_on(disk, &config, |ready| say.send(ready.clone()).unwrap())
        });
        match told.recv() {
            Ok(ready) => Ok(Self { ready, thread }),
            Err(_) => Err(thread.join().unwrap().unwrap_err()),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.ready.listen[0]
    }

    /// Stops in good order.
    pub(crate) fn stop(self) {
        self.ready.stop.stop();
        self.join().unwrap();
    }

    /// Waits until it ends by itself.
    pub(crate) fn join(self) -> Result<(), RunError> {
        self.thread.join().unwrap()
    }
}
