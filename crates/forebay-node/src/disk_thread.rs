//! The thread that owns the store.
//!
//! Owns [`DiskThread`] and the [`Link`] to it. Takes everything that waits, commits it, keeps the
//! store's writes in flight, and reports what has become durable, in order. A load sees exactly
//! the commits before it and is answered once they are durable. After a failed write it says so
//! once and does nothing more: the store is poisoned. Never sees a connection or a packet.

mod link;
mod worker;

use std::{io, sync::Arc, thread::JoinHandle};

use forebay_store::{Disk, Poisoned, Store};

pub(crate) use link::{Job, Link, Report};
use worker::Worker;

use crate::broker::Queues;

/// A running disk thread.
#[derive(Debug)]
pub(crate) struct DiskThread {
    thread: JoinHandle<Result<(), Poisoned>>,
    link: Arc<Link>,
}

impl DiskThread {
    /// Starts the thread. `margin` is how many bytes of commits may be on their way when the
    /// store runs full: they still find room.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start<D: Disk>(
        store: Store<D>,
        queues: Queues,
        link: Arc<Link>,
        margin: usize,
    ) -> io::Result<Self> {
        let theirs = Arc::clone(&link);
        let thread = std::thread::Builder::new()
            .name("forebay-disk".into())
            .spawn(move || {
                let result = Worker::new(store, queues, &theirs, margin).run();
                if let Err(poisoned) = &result {
                    tracing::error!(reason = %poisoned.reason, "the store is lost");
                    theirs.fail(poisoned.clone());
                }
                result
            })?;
        Ok(Self { thread, link })
    }

    /// Ends the thread once everything it was handed is durable.
    ///
    /// # Errors
    /// What failed, when the store is lost.
    pub(crate) fn stop(self) -> Result<(), Poisoned> {
        self.link.stop();
        self.thread.join().unwrap_or_else(|_| {
            Err(Poisoned {
                reason: "the disk thread ended in a panic".into(),
            })
        })
    }
}
