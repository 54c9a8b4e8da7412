//! How another thread wakes the one that sleeps in an io_uring, at the price of one atomic
//! operation while it is awake.
//!
//! Owns the state below and an eventfd that the ring watches. Never loses a wake-up: one that
//! comes between sleeps ends the next sleep at once.
//!
//! ```text
//!           begin_sleep            wake: writes the eventfd
//!   AWAKE ───────────────▶ ASLEEP ──────────────────────────▶ WOKEN
//!     │  ◀─────────────────────────── end_sleep ────────────────┘ ▲
//!     └─────────────────────────────── wake ──────────────────────┘
//! ```

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::Wake,
};

use rustix::event::{EventfdFlags, eventfd};

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const WOKEN: u8 = 2;

#[derive(Debug)]
pub(super) struct Signal {
    state: AtomicU8,
    event: OwnedFd,
}

impl Signal {
    pub(super) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            state: AtomicU8::new(AWAKE),
            event,
        })
    }

    pub(super) fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// Whether to sleep; if not, someone has called meanwhile, and that call is used up.
    pub(super) fn begin_sleep(&self) -> bool {
        let asleep = self
            .state
            .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if !asleep {
            self.end_sleep();
        }
        asleep
    }

    /// Uses up a call that ended the sleep, if there was one.
    pub(super) fn end_sleep(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == ASLEEP {
            // It can only fail with the counter at its end, and then the ring has been told.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}
