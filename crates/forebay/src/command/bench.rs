//! `forebay bench`: loads a broker and judges it.

use std::time::Duration;

use forebay_node::bench::{
    self, BenchError, HEADER_BYTES, Histogram, Load, Progress, QoS, ReasonCode, Report, Version,
};
use serde_json::{Value, json};

use crate::{
    cli,
    exit::{Exit, Failure, chain},
    output,
};

/// Measures as the flags ask.
///
/// # Errors
/// [`Exit::Refused`] where a message was lost, doubled, reordered or refused,
/// [`Exit::Unavailable`] where the broker can't be reached or closed a connection.
pub(crate) fn run(flags: &cli::Bench) -> Result<(), Failure> {
    super::log_as(None)?;
    let load = load(flags)?;
    let report = bench::run(load, |progress| {
        if !flags.quiet {
            tell(&progress);
        }
    });
    let report = report.map_err(|error| {
        let exit = match &error {
            BenchError::Refused { .. } => Exit::Refused,
            BenchError::System { .. } => Exit::Internal,
            BenchError::Unreachable { .. } | BenchError::Lost { .. } | _ => Exit::Unavailable,
        };
        Failure::new(exit, chain(&error))
    })?;
    if flags.json {
        output::json(&object(flags, &report))?;
    } else {
        output::line(&text(flags, &report))?;
    }
    if report.is_flawless() {
        Ok(())
    } else {
        Err(Failure::told(Exit::Refused))
    }
}

fn load(flags: &cli::Bench) -> Result<Load, Failure> {
    let size = flags.size as usize;
    if size < HEADER_BYTES {
        let text = format!("--size: a payload carries {HEADER_BYTES} bytes of bookkeeping");
        return Err(Failure::new(Exit::Usage, text));
    }
    if flags.messages / u64::from(flags.publishers) >= u64::from(u32::MAX) {
        return Err(Failure::new(
            Exit::Usage,
            "--messages: too many for one publisher",
        ));
    }
    Ok(Load {
        peer: flags.peer.clone(),
        version: match flags.version {
            cli::Version::V3 => Version::V3_1,
            cli::Version::V4 => Version::V3_1_1,
            cli::Version::V5 => Version::V5,
        },
        publishers: flags.publishers as usize,
        subscribers: flags.subscribers as usize,
        shared_topic: flags.topics == cli::Topics::Shared,
        qos: QoS::new(flags.qos).unwrap_or_default(),
        size,
        messages: flags.messages,
        window: flags.window,
        rate: flags.rate,
        persistent: flags.persistent,
        patience: Duration::from_secs(flags.patience),
    })
}

fn tell(progress: &Progress) {
    let Progress {
        elapsed,
        published,
        acknowledged,
        received,
        expected,
    } = progress;
    eprintln!(
        "{:4.0} s  published {published}  acknowledged {acknowledged}  received {received} of \
         {expected}",
        elapsed.as_secs_f64()
    );
}

/// Messages a second.
fn rate(count: u64, time: Duration) -> f64 {
    if time.is_zero() {
        0.0
    } else {
        count as f64 / time.as_secs_f64()
    }
}

fn text(flags: &cli::Bench, report: &Report) -> String {
    let Report {
        published,
        acknowledged,
        refused,
        received,
        expected,
        ..
    } = report;
    let mut lines = vec![format!(
        "{} publishers, {} subscribers, QoS {}, {} bytes, window {}",
        flags.publishers, flags.subscribers, flags.qos, flags.size, flags.window
    )];
    lines.push(format!(
        "acknowledged {:>10.0}/s   {acknowledged} of {published} in {:.3} s",
        rate(*acknowledged, report.publishing),
        report.publishing.as_secs_f64()
    ));
    if *expected > 0 {
        lines.push(format!(
            "received     {:>10.0}/s   {received} of {expected} in {:.3} s",
            rate(*received, report.elapsed),
            report.elapsed.as_secs_f64()
        ));
    }
    let shown = [
        ("to acknowledgement", &report.ack_latency),
        ("to subscriber", &report.delivery_latency),
    ];
    for (name, latency) in shown.into_iter().filter(|(_, latency)| latency.count() > 0) {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        lines.push(format!(
            "{name:<18} p50 {:.3} ms  p90 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}",
            ms(latency.quantile(0.5)),
            ms(latency.quantile(0.9)),
            ms(latency.quantile(0.99)),
            ms(latency.quantile(0.999)),
            ms(latency.max())
        ));
    }
    let Report {
        lost,
        doubled,
        reordered,
        foreign,
        ..
    } = report;
    let why = report
        .refusal
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    lines.push(format!(
        "lost {lost}, doubled {doubled}, reordered {reordered}, foreign {foreign}, refused \
         {refused}{why}"
    ));
    if let Some(cpu) = report.own_cpu {
        lines.push(format!("own processor time {:.3} s", cpu.as_secs_f64()));
    }
    lines.join("\n")
}

fn object(flags: &cli::Bench, report: &Report) -> Value {
    json!({
        "publishers": flags.publishers,
        "subscribers": flags.subscribers,
        "qos": flags.qos,
        "size": flags.size,
        "window": flags.window,
        "persistent": flags.persistent,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "publishing_s": report.publishing.as_secs_f64(),
        "published": report.published,
        "acknowledged": report.acknowledged,
        "acknowledged_per_s": rate(report.acknowledged, report.publishing),
        "expected": report.expected,
        "received": report.received,
        "received_per_s": rate(report.received, report.elapsed),
        "refused": report.refused,
        "refusal": report.refusal.map(ReasonCode::name),
        "lost": report.lost,
        "doubled": report.doubled,
        "reordered": report.reordered,
        "foreign": report.foreign,
        "ack_latency_ns": latency(&report.ack_latency),
        "delivery_latency_ns": latency(&report.delivery_latency),
        "own_cpu_s": report.own_cpu.map(|cpu| cpu.as_secs_f64()),
        "flawless": report.is_flawless(),
    })
}

fn latency(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.count(),
        "p50": histogram.quantile(0.5),
        "p90": histogram.quantile(0.9),
        "p99": histogram.quantile(0.99),
        "p999": histogram.quantile(0.999),
        "max": histogram.max(),
    })
}
