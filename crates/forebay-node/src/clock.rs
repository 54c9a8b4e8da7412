//! The one clock of a role.
//!
//! Owns [`Clock`]: the wall clock at start plus monotonic time since, in milliseconds, which is
//! the timeline that every machine counts on. Never steps, whatever happens to the wall clock.

use std::time::{Duration, SystemTime};

use forebay_proto::Instant;

/// The wall clock at start plus monotonic time since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Where the timeline stood at `start`.
    origin: Instant,
    /// The same moment on tokio's clock, so that deadlines convert exactly.
    start: tokio::time::Instant,
}

impl Clock {
    /// A clock that starts at the wall clock's reading.
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            origin: Instant::default().after(wall),
            start: tokio::time::Instant::now(),
        }
    }

    /// The instant that is now.
    pub(crate) fn now(&self) -> Instant {
        self.origin.after(self.start.elapsed())
    }

    /// The moment on tokio's clock at which this clock has reached `instant`.
    pub(crate) fn deadline(&self, instant: Instant) -> tokio::time::Instant {
        // A deadline years away is as good as one a month away, and can't overflow.
        const FAR: Duration = Duration::from_hours(30 * 24);
        let wait = instant.since(self.origin);
        self.start
            .checked_add(wait)
            .unwrap_or_else(|| tokio::time::Instant::now() + FAR)
    }
}

#[cfg(test)]
mod tests;
