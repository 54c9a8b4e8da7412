//! The figures as a table and as JSON.

use std::fmt::Write as _;

use rustix::time::{ClockId, clock_gettime};

use super::{IN_FLIGHT, PAYLOAD, Run, restart::Memory};

/// Rounds of one batch size.
#[derive(Default)]
pub(crate) struct Row {
    /// By [`IN_FLIGHT`]: the bare loop and the store.
    pub(crate) sides: [Vec<(Run, Run)>; IN_FLIGHT.len()],
    pub(crate) plain: Vec<Run>,
}

#[derive(Default)]
pub(crate) struct Report {
    notes: Vec<String>,
    figures: Vec<Figure>,
}

struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}
use Target::{AtLeast, AtMost};

impl Report {
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn add(&mut self, name: impl Into<String>, value: f64, unit: &'static str) -> &mut Figure {
        let figure = Figure {
            name: name.into(),
            value,
            unit,
            target: None,
        };
        self.figures.push(figure);
        self.figures.last_mut().unwrap()
    }

    pub(crate) fn cycle(&mut self, batch: usize, row: &Row) {
        let messages = |run: &Run| run.writes as f64 * batch as f64;
        let thousands = |run: &Run| messages(run) / run.secs / 1e3;
        let plain = median(row.plain.iter().map(thousands));
        self.add(
            format!("batch {batch}: write + fdatasync"),
            plain,
            "k msg/s",
        );
        for (in_flight, rounds) in IN_FLIGHT.iter().zip(&row.sides) {
            let name = |what| format!("batch {batch}, {in_flight} in flight: {what}");
            let bare = median(rounds.iter().map(|(bare, _)| thousands(bare)));
            self.add(name("bare loop"), bare, "k msg/s");
            let rate = median(rounds.iter().map(|(_, store)| thousands(store)));
            self.add(name("store"), rate, "k msg/s");
            let ratio = |(bare, store): &(Run, Run)| thousands(store) / thousands(bare);
            self.add(
                name("store / bare loop"),
                median(rounds.iter().map(ratio)),
                "",
            )
            .target = Some(AtLeast(0.80));
            let cpu = |run: &Run| run.cpu_secs * 1e6 / messages(run);
            let store_cpu = median(rounds.iter().map(|(_, store)| cpu(store)));
            self.add(name("CPU"), store_cpu, "µs/msg").target =
                (batch == 256).then_some(AtMost(0.6));
            let busy = |run: &Run| 100.0 * run.waited_secs / run.secs;
            let busy = median(rounds.iter().map(|(_, store)| busy(store)));
            self.add(name("others had the cores"), busy, "% of time");
            let bare_cpu = median(rounds.iter().map(|(bare, _)| cpu(bare)));
            self.add(name("CPU of the bare loop"), bare_cpu, "µs/msg");
            let bytes = |run: &Run| run.bytes as f64 / messages(run) / PAYLOAD as f64;
            let bytes = median(rounds.iter().map(|(_, store)| bytes(store)));
            self.add(name("written / payload"), bytes, "").target =
                (batch >= 256).then_some(AtMost(1.3));
            let allocations = |run: &Run| run.allocations as f64 / messages(run);
            let allocations = median(rounds.iter().map(|(_, store)| allocations(store)));
            self.add(name("allocations"), allocations, "/msg");
        }
    }

    /// Rounds of one queue a message and of many, both with [`IN_FLIGHT`]'s last.
    pub(crate) fn fan_out(&mut self, batch: usize, queues: usize, rounds: &[(Run, Run)]) {
        let entries = |run: &Run| run.writes as f64 * (batch * queues) as f64;
        let rate = rounds
            .iter()
            .map(|(_, wide)| entries(wide) / wide.secs / 1e6);
        self.add(
            format!("fan-out {queues}: queue entries"),
            median(rate),
            "M/s",
        );
        let cpu = rounds
            .iter()
            .map(|(_, wide)| wide.cpu_secs * 1e6 / entries(wide));
        self.add(format!("fan-out {queues}: CPU"), median(cpu), "µs/entry");
        let extra = rounds.iter().map(|(narrow, wide)| {
            let one = narrow.bytes as f64 / (narrow.writes as f64 * 256.0);
            let all = wide.bytes as f64 / (wide.writes as f64 * batch as f64);
            (all - one) / (queues - 1) as f64
        });
        self.add(
            format!("fan-out {queues}: per extra queue"),
            median(extra),
            "bytes",
        )
        .target = Some(AtMost(60.0));
    }

    /// Seconds to open, cold; to open and load, cold; to open and load, with files in memory.
    pub(crate) fn restart(&mut self, name: &str, times: [f64; 3], target: f64) {
        let name = |what| format!("1,000,000 {name}: {what}");
        self.add(name("open"), times[0], "s");
        self.add(name("open + load"), times[1], "s").target = Some(AtMost(target));
        self.add(name("open + load, files in memory"), times[2], "s");
    }

    pub(crate) fn windows(&mut self, window: u32, secs: f64) {
        let name = format!("1,000,000 pending: open + load, {window} inflight");
        self.add(name, secs, "s").target = Some(AtMost(0.5));
    }

    pub(crate) fn memory(&mut self, messages: usize, base: Memory, full: Memory, live: f64) {
        let mib = f64::from(1 << 20);
        self.add(
            "1,000,000 queued: heap of a store without",
            base.heap as f64 / mib,
            "MiB",
        );
        let heap = (full.heap - base.heap) as f64;
        self.add("1,000,000 queued: heap beyond", heap / mib, "MiB")
            .target = Some(AtMost(24.0));
        self.add(
            "1,000,000 queued: heap each, loaded",
            heap / messages as f64,
            "bytes",
        )
        .target = Some(AtMost(16.0));
        self.add("1,000,000 queued: heap each, appended", live, "bytes")
            .target = Some(AtMost(16.0));
        let resident = (full.resident - base.resident) as f64;
        self.add("1,000,000 queued: VmRSS beyond", resident / mib, "MiB")
            .target = Some(AtMost(24.0));
    }

    pub(crate) fn misses(&self) -> usize {
        self.figures.iter().filter(|figure| !figure.holds()).count()
    }

    pub(crate) fn print(&self) {
        println!("{}", self.notes.join("; "));
        for figure in &self.figures {
            let target = match figure.target {
                Some(AtLeast(bound)) => format!("≥ {bound}"),
                Some(AtMost(bound)) => format!("≤ {bound}"),
                None => String::new(),
            };
            let miss = if figure.holds() { "" } else { "MISSED" };
            println!(
                "{:<48} {:>12.3} {:<9} {target:<7} {miss}",
                figure.name, figure.value, figure.unit
            );
        }
    }

    pub(crate) fn json(&self) -> String {
        let mut json = format!("{{\n  \"notes\": {:?},\n  \"figures\": [\n", self.notes);
        for (i, figure) in self.figures.iter().enumerate() {
            let comma = if i + 1 < self.figures.len() { "," } else { "" };
            let target = match figure.target {
                Some(AtLeast(bound)) => format!(", \"at_least\": {bound}"),
                Some(AtMost(bound)) => format!(", \"at_most\": {bound}"),
                None => String::new(),
            };
            let _ = writeln!(
                json,
                "    {{\"name\": {:?}, \"value\": {}, \"unit\": {:?}{target}}}{comma}",
                figure.name, figure.value, figure.unit
            );
        }
        json.push_str("  ]\n}\n");
        json
    }
}

impl Figure {
    fn holds(&self) -> bool {
        match self.target {
            Some(AtLeast(bound)) => self.value >= bound,
            Some(AtMost(bound)) => self.value <= bound,
            None => true,
        }
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds that the process has computed, in all its threads and in the kernel.
pub(crate) fn cpu_secs() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds that this thread was ready to run and other programs had the cores.
pub(crate) fn waited_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = stat.split_whitespace().nth(1);
    waited.and_then(|ns| ns.parse().ok()).unwrap_or(0.0) / 1e9
}
