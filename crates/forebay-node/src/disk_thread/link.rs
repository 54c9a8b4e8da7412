//! What passes between a broker thread and its disk thread.
//!
//! Owns [`Link`], with the [`Job`]s one way and the [`Report`]s the other. Both go in batches:
//! one short lock and at most one wake-up for everything that has gathered.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use forebay_proto::{Op, Resumed, Seq, SessionId, Stored};
use forebay_store::Poisoned;

use crate::metrics::StoreNumbers;

/// What the disk thread is to do, in this order.
#[derive(Debug)]
pub(crate) enum Job {
    /// Make the operations durable as one group.
    Commit {
        /// Its place in the order.
        seq: Seq,
        /// The operations.
        ops: Vec<Op>,
    },
    /// Load a session's queues once everything before is durable.
    Resume {
        /// Whose queues.
        session: SessionId,
        /// Handed back.
        epoch: u64,
        /// The most OUT messages without a packet identifier.
        window: u16,
    },
    /// Load the next queued messages.
    Promote {
        /// Whose queue.
        session: SessionId,
        /// Handed back.
        epoch: u64,
        /// How many.
        count: u16,
    },
}

impl Job {
    /// The number of a commit.
    pub(crate) fn seq(&self) -> Option<Seq> {
        match self {
            Self::Commit { seq, .. } => Some(*seq),
            Self::Resume { .. } | Self::Promote { .. } => None,
        }
    }
}

/// What the disk thread has done, in order.
#[derive(Debug)]
pub(crate) enum Report {
    /// Every commit up to this one is durable.
    Durable(Seq),
    /// The answer to [`Job::Resume`].
    Resumed {
        /// Whose queues.
        session: SessionId,
        /// As it was handed in.
        epoch: u64,
        /// The queues, or `None` where they could not be loaded.
        resumed: Option<Resumed>,
    },
    /// The answer to [`Job::Promote`].
    Promoted {
        /// Whose queue.
        session: SessionId,
        /// As it was handed in.
        epoch: u64,
        /// The messages, in order.
        messages: Vec<Stored>,
    },
    /// Whether the store has no room for new messages.
    Full(bool),
}

/// The way there and back.
#[derive(Debug, Default)]
pub(crate) struct Link {
    inbox: Mutex<Inbox>,
    outbox: Mutex<Outbox>,
}

#[derive(Debug, Default)]
struct Inbox {
    jobs: Vec<Job>,
    /// Wakes the disk thread where it waits.
    bell: Option<Waker>,
    stop: bool,
}

#[derive(Debug, Default)]
struct Outbox {
    reports: Vec<Report>,
    failed: Option<Poisoned>,
    numbers: StoreNumbers,
    waker: Option<Waker>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in between leaves both boxes whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the disk thread finds in its inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Jobs.
    Jobs,
    /// Nothing for the time being; the bell rings when that changes.
    Nothing,
    /// Nothing, and nothing will come.
    Stop,
}

impl Link {
    /// Hands jobs over, and leaves `jobs` empty.
    pub(crate) fn send(&self, jobs: &mut Vec<Job>) {
        let mut inbox = lock(&self.inbox);
        if inbox.jobs.is_empty() {
            std::mem::swap(&mut inbox.jobs, jobs);
        } else {
            inbox.jobs.append(jobs);
        }
        let bell = inbox.bell.take();
        drop(inbox);
        if let Some(bell) = bell {
            bell.wake();
        }
    }

    /// Has the disk thread end once it has done what it was handed.
    pub(crate) fn stop(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.stop = true;
        let bell = inbox.bell.take();
        drop(inbox);
        if let Some(bell) = bell {
            bell.wake();
        }
    }

    /// Takes everything that waits into `jobs`, which is empty. Where nothing waits, `bell` is
    /// rung once that changes.
    pub(super) fn take_jobs(&self, jobs: &mut Vec<Job>, bell: &Waker) -> Found {
        let mut inbox = lock(&self.inbox);
        if !inbox.jobs.is_empty() {
            std::mem::swap(&mut inbox.jobs, jobs);
            return Found::Jobs;
        }
        if inbox.stop {
            return Found::Stop;
        }
        if inbox.bell.is_none() {
            inbox.bell = Some(bell.clone());
        }
        Found::Nothing
    }

    /// Hands reports back, leaves `reports` empty, and shows the figures.
    pub(super) fn report(&self, reports: &mut Vec<Report>, numbers: &StoreNumbers) {
        let mut outbox = lock(&self.outbox);
        outbox.numbers = *numbers;
        if outbox.reports.is_empty() {
            std::mem::swap(&mut outbox.reports, reports);
        } else {
            outbox.reports.append(reports);
        }
        let waker = outbox.waker.take();
        drop(outbox);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Says that the store is lost. Reports that were not taken are void.
    pub(super) fn fail(&self, error: Poisoned) {
        let mut outbox = lock(&self.outbox);
        outbox.reports.clear();
        outbox.failed = Some(error);
        let waker = outbox.waker.take();
        drop(outbox);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes everything reported since the last call; `waker` is woken when more comes.
    ///
    /// # Errors
    /// What failed, when the store is lost.
    pub(crate) fn take_reports(&self, waker: &Waker) -> Result<Vec<Report>, Poisoned> {
        let mut outbox = lock(&self.outbox);
        if let Some(error) = outbox.failed.take() {
            return Err(error);
        }
        match &mut outbox.waker {
            Some(known) => known.clone_from(waker),
            None => outbox.waker = Some(waker.clone()),
        }
        Ok(std::mem::take(&mut outbox.reports))
    }

    /// The figures of the disk thread.
    pub(crate) fn numbers(&self) -> StoreNumbers {
        lock(&self.outbox).numbers
    }
}

#[cfg(test)]
mod tests;
