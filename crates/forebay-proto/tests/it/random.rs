//! A generator whose seed replays a run.

/// Numbers that a seed fixes.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds begin far apart.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    /// Whether an event that happens once in `times` happens.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Runs `run` for `count` seeds, or as many as `FOREBAY_SEEDS` says, or for the one in
/// `FOREBAY_SEED`, and names the one that fails.
pub(crate) fn seeds(count: u64, run: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number = |name| {
        let value = std::env::var(name).ok()?;
        Some(value.parse::<u64>().expect("seeds are numbers"))
    };
    let seeds = match number("FOREBAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FOREBAY_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed)) {
            println!("replay with FOREBAY_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
