//! One timeline for everything that waits.
//!
//! Owns [`Instant`]. Never reads a clock: the driver passes the instant in.

use core::time::Duration;

/// Milliseconds since the Unix epoch on a timeline that never runs backwards while a process
/// lives: the wall clock at start plus monotonic time since. A stored deadline therefore keeps
/// its meaning across a restart, and a clock step during a run changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The instant `ms` milliseconds after the Unix epoch.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This instant moved later by `wait`, held at the end of the timeline.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// This instant moved later by `seconds`.
    #[must_use]
    pub fn after_secs(self, seconds: u32) -> Self {
        Self(self.0.saturating_add(u64::from(seconds) * 1000))
    }

    /// Time from `earlier` to this instant; zero where `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}
