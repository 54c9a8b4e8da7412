//! Latencies, counted in buckets that are 3 % wide.
//!
//! Owns [`Histogram`]. Units: nanoseconds.

/// Bits of a value that tell buckets of the same magnitude apart.
const FINE: u32 = 5;
const BUCKETS: usize = (64 << FINE) as usize;

/// How often each latency occurred.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            max: 0,
        }
    }

    pub(super) fn record(&mut self, nanos: u64) {
        if let Some(count) = self.counts.get_mut(bucket(nanos)) {
            *count += 1;
        }
        self.count += 1;
        self.max = self.max.max(nanos);
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The largest, nanoseconds.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The latency that `share` of all, 0 to 1, don't exceed, nanoseconds, at most 3 % too high;
    /// 0 where there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.count as f64).ceil().max(1.0);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen as f64 >= wanted {
                return upper(bucket).min(self.max);
            }
        }
        self.max
    }
}

/// The bucket of a value: its magnitude and the bits after its first.
fn bucket(value: u64) -> usize {
    let magnitude = value.max(1).ilog2();
    if magnitude < FINE {
        return value as usize;
    }
    let shift = magnitude - FINE;
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let fine = 1 << FINE;
    if bucket < 2 * fine {
        return bucket as u64;
    }
    let shift = (bucket >> FINE) - 1;
    let value = (bucket - (shift << FINE)) as u128;
    u64::try_from(((value + 1) << shift) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
