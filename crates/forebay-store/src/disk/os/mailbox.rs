//! Where writes wait for a thread and their completions for the owner, and where the owner sleeps
//! until a completion or a call, for the drivers without an io_uring.

use std::{
    collections::VecDeque,
    fs::File,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Wake,
    time::Duration,
};

use crate::disk::{Done, Write};

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    /// Signalled for the threads: a write waits, or all is over.
    work: Condvar,
    /// Signalled for the owner: a write has ended, or someone calls.
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    writes: VecDeque<(Arc<File>, Write)>,
    done: VecDeque<Done>,
    woken: bool,
    closed: bool,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push_write(&self, file: Arc<File>, write: Write) {
        self.state().writes.push_back((file, write));
        self.work.notify_one();
    }

    /// Waits for a write; `None` once the mailbox is closed and empty.
    pub(super) fn pop_write(&self) -> Option<(Arc<File>, Write)> {
        let mut state = self.state();
        loop {
            if let Some(next) = state.writes.pop_front() {
                return Some(next);
            }
            if state.closed {
                return None;
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn push_done(&self, done: Done) {
        self.state().done.push_back(done);
        self.news.notify_one();
    }

    /// Takes a completion; with `wait`, sleeps until there is one.
    pub(super) fn pop_done(&self, wait: bool) -> Option<Done> {
        let mut state = self.state();
        while wait && state.done.is_empty() {
            state = self
                .news
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.done.pop_front()
    }

    /// Sleeps until there is a completion or a call, or the time is over.
    pub(super) fn park(&self, timeout: Option<Duration>) {
        let mut state = self.state();
        let idle = |state: &mut State| state.done.is_empty() && !state.woken;
        if let Some(timeout) = timeout {
            let waited = self.news.wait_timeout_while(state, timeout, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            let waited = self.news.wait_while(state, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.woken = false;
    }

    /// Lets the threads end once the writes that wait are made.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.work.notify_all();
    }
}

impl Wake for Mailbox {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.state().woken = true;
        self.news.notify_one();
    }
}
