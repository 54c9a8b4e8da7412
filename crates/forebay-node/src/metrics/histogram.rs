//! A histogram of durations.
//!
//! Owns [`Histogram`]. Units: seconds at the edges, nanoseconds inside.

use std::time::Duration;

/// The upper bound of the first bucket, nanoseconds; each next one is twice as high.
const FIRST: u64 = 10_000;

/// The upper bounds of the buckets, nanoseconds: 10 µs doubled until 5 s is passed.
const BOUNDS: [u64; 20] = [
    FIRST,
    FIRST << 1,
    FIRST << 2,
    FIRST << 3,
    FIRST << 4,
    FIRST << 5,
    FIRST << 6,
    FIRST << 7,
    FIRST << 8,
    FIRST << 9,
    FIRST << 10,
    FIRST << 11,
    FIRST << 12,
    FIRST << 13,
    FIRST << 14,
    FIRST << 15,
    FIRST << 16,
    FIRST << 17,
    FIRST << 18,
    FIRST << 19,
];

/// How often durations fell into each bucket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Histogram {
    counts: [u64; BOUNDS.len()],
    beyond: u64,
    sum_ns: u64,
}

impl Histogram {
    /// Counts one duration.
    pub(crate) fn observe(&mut self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < ns);
        *self.counts.get_mut(bucket).unwrap_or(&mut self.beyond) += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// The sum of all durations, seconds.
    pub(crate) fn sum(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// How many durations there were.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// Each bucket's upper bound in seconds and its own count, the unbounded one last.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS
            .iter()
            .map(|ns| *ns as f64 / 1e9)
            .chain([f64::INFINITY]);
        bounds
            .zip(self.counts.iter().copied().chain([self.beyond]))
            .collect()
    }
}

#[cfg(test)]
mod tests;
