//! Random numbers from a seed that is printed, so that a failure can be replayed.

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// A generator that gives the same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }
}

/// The seed of this run: `FOREBAY_SEED`, or one from the clock.
pub(crate) fn seed() -> u64 {
    match std::env::var("FOREBAY_SEED") {
        Ok(text) => text.parse().expect("FOREBAY_SEED is a decimal number"),
        Err(_) => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |since| since.as_nanos() as u64),
    }
}
