//! The table of the broker's metrics.
//!
//! Owns [`TABLE`]: name, unit, labels, meaning and where the number is found, once; what is
//! served ([`text`]) and what is documented ([`document`]) both come from it.

use std::fmt::{self, Write};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, text::encode},
    metrics::{MetricType, exemplar::Exemplar},
    registry::{Registry, Unit},
};

use super::{Histogram, Numbers};

/// The value of a metric at a scrape.
enum Value<'a> {
    Counter(u64),
    Gauge(u64),
    /// A counter for each value of one label.
    Counters(&'static str, Vec<(&'static str, u64)>),
    Seconds(&'a Histogram),
}

struct Metric {
    /// Without unit and `_total`.
    name: &'static str,
    unit: Option<Unit>,
    help: &'static str,
    read: fn(&Numbers) -> Value<'_>,
}

fn by_qos(counts: &[u64; 3]) -> Value<'static> {
    Value::Counters("qos", ["0", "1", "2"].into_iter().zip(*counts).collect())
}

const fn metric(name: &'static str, help: &'static str, read: fn(&Numbers) -> Value<'_>) -> Metric {
    Metric {
        name,
        unit: None,
        help,
        read,
    }
}

const fn bytes(name: &'static str, help: &'static str, read: fn(&Numbers) -> Value<'_>) -> Metric {
    Metric {
        name,
        unit: Some(Unit::Bytes),
        help,
        read,
    }
}

const fn seconds(
    name: &'static str,
    help: &'static str,
    read: fn(&Numbers) -> Value<'_>,
) -> Metric {
    Metric {
        name,
        unit: Some(Unit::Seconds),
        help,
        read,
    }
}

#[rustfmt::skip]
static TABLE: &[Metric] = &[
    metric("forebay_broker_connections", "Open connections.",
        |n| Value::Gauge(n.connections)),
    metric("forebay_broker_connections_opened", "Connections accepted.",
        |n| Value::Counter(n.opened)),
    metric("forebay_broker_connections_refused", "Connections refused because the limit was reached.",
        |n| Value::Counter(n.refused)),
    metric("forebay_broker_connections_stalled", "Connections closed because the peer did not read.",
        |n| Value::Counter(n.stalled)),
    metric("forebay_broker_connections_turned_away", "Connections that did not get through TLS, WebSocket or the PROXY header.",
        |n| Value::Counter(n.turned_away)),
    metric("forebay_broker_logins_busy", "Logins refused because too many waited to be checked.",
        |n| Value::Counter(n.logins_busy)),
    metric("forebay_broker_sessions", "Sessions known, connected or not.",
        |n| Value::Gauge(n.machine.sessions)),
    metric("forebay_broker_subscriptions", "Subscriptions held.",
        |n| Value::Gauge(n.machine.subscriptions)),
    metric("forebay_broker_retained_messages", "Retained messages held.",
        |n| Value::Gauge(n.machine.retained)),
    metric("forebay_broker_queued_messages", "Messages in queues that are not done with.",
        |n| Value::Gauge(n.machine.queued)),
    metric("forebay_broker_messages_received", "PUBLISH packets received, resent ones included.",
        |n| by_qos(&n.received)),
    metric("forebay_broker_messages_sent", "PUBLISH packets sent, resent ones included.",
        |n| by_qos(&n.sent)),
    metric("forebay_broker_acknowledgements_sent", "Acknowledgements of received messages sent.",
        |n| Value::Counters("packet", vec![
            ("puback", n.acknowledged.puback),
            ("pubrec", n.acknowledged.pubrec),
            ("pubcomp", n.acknowledged.pubcomp),
        ])),
    metric("forebay_broker_drops", "Messages that were not delivered, by reason.",
        |n| Value::Counters("reason", vec![
            ("expired", n.machine.dropped_expired),
            ("too_large", n.machine.dropped_too_large),
            ("offline", n.machine.dropped_offline),
            ("full", n.machine.dropped_full),
            ("unreadable", n.machine.unreadable),
            ("refused", n.machine.refused),
            ("slow_reader", n.slow_reader),
        ])),
    metric("forebay_broker_denied", "What was asked for and is not allowed, by kind.",
        |n| Value::Counters("kind", vec![
            ("connect", n.machine.denied.connect),
            ("publish", n.machine.denied.publish),
            ("subscribe", n.machine.denied.subscribe),
            ("delivery", n.machine.denied.delivery),
            ("will", n.machine.denied.will),
        ])),
    metric("forebay_broker_wills", "Wills published.",
        |n| Value::Counter(n.machine.wills)),
    metric("forebay_broker_acknowledgements_ignored", "Acknowledgements received that answer nothing.",
        |n| Value::Counter(n.machine.acks_ignored)),
    bytes("forebay_broker_received", "Bytes received from clients.",
        |n| Value::Counter(n.received_bytes)),
    bytes("forebay_broker_sent", "Bytes sent to clients.",
        |n| Value::Counter(n.sent_bytes)),
    metric("forebay_broker_read_pauses", "How often reading from a connection was paused because the disk was behind.",
        |n| Value::Counter(n.pauses)),
    metric("forebay_store_commits", "Commits made durable.",
        |n| Value::Counter(n.store.commits)),
    metric("forebay_store_frames", "Frames written to the log.",
        |n| Value::Counter(n.store.frames)),
    bytes("forebay_store_written", "Bytes written to the log.",
        |n| Value::Counter(n.store.bytes)),
    metric("forebay_store_checkpoints", "Checkpoints completed.",
        |n| Value::Counter(n.store.checkpoints)),
    bytes("forebay_store_compacted", "Bytes written again so that old segments of the log die.",
        |n| Value::Counter(n.store.compacted)),
    bytes("forebay_store_disk", "Bytes of the log's files.",
        |n| Value::Gauge(n.store.disk)),
    seconds("forebay_store_sync", "From handing in a write to its durability.",
        |n| Value::Seconds(&n.store.sync)),
    metric("forebay_store_lag_commits", "Commits that are not durable yet.",
        |n| Value::Gauge(n.lag_commits)),
    bytes("forebay_store_lag", "Bytes of the commits that are not durable yet.",
        |n| Value::Gauge(n.lag_bytes)),
    metric("forebay_store_full", "1 while the store takes no new message for want of space.",
        |n| Value::Gauge(u64::from(n.full))),
];

/// The metrics in the text format of OpenMetrics.
pub(crate) fn text(numbers: Numbers) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(numbers)));
    let mut text = String::new();
    // Writing to a string fails only where the encoder has nothing to write.
    if encode(&mut text, &registry).is_err() {
        text.clear();
    }
    text
}

/// The page `docs/metrics.md`.
pub fn document() -> String {
    let none = Numbers::default();
    let mut page = String::from(
        "# Metrics of the broker\n\n\
         Generated from the table that is served; a test compares this page with it.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for metric in TABLE {
        let unit = metric
            .unit
            .as_ref()
            .map(|unit| format!("_{}", unit.as_str()));
        let unit = unit.unwrap_or_default();
        let (kind, total, labels) = match (metric.read)(&none) {
            Value::Counter(_) => ("counter", "_total", String::new()),
            Value::Gauge(_) => ("gauge", "", String::new()),
            Value::Seconds(_) => ("histogram", "", String::new()),
            Value::Counters(label, values) => {
                let values: Vec<_> = values
                    .iter()
                    .map(|(value, _)| format!("`{value}`"))
                    .collect();
                (
                    "counter",
                    "_total",
                    format!("`{label}`: {}", values.join(", ")),
                )
            }
        };
        let (name, help) = (metric.name, metric.help);
        // Writing to a string can't fail.
        let _ = writeln!(
            page,
            "| `{name}{unit}{total}` | {kind} | {labels} | {help} |"
        );
    }
    page
}

#[derive(Debug)]
struct Scrape(Numbers);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        const NO_EXEMPLAR: Option<&Exemplar<[(&str, &str); 0], f64>> = None;
        for metric in TABLE {
            let value = (metric.read)(&self.0);
            let kind = match value {
                Value::Counter(_) | Value::Counters(..) => MetricType::Counter,
                Value::Gauge(_) => MetricType::Gauge,
                Value::Seconds(_) => MetricType::Histogram,
            };
            let mut entry =
                encoder.encode_descriptor(metric.name, metric.help, metric.unit.as_ref(), kind)?;
            match value {
                Value::Counter(count) => entry.encode_counter(&count, NO_EXEMPLAR)?,
                Value::Gauge(value) => entry.encode_gauge(&value)?,
                Value::Seconds(histogram) => entry.encode_histogram::<[(&str, &str); 0]>(
                    histogram.sum(),
                    histogram.count(),
                    &histogram.buckets(),
                    None,
                )?,
                Value::Counters(label, counts) => {
                    for (value, count) in counts {
                        entry
                            .encode_family(&[(label, value)])?
                            .encode_counter(&count, NO_EXEMPLAR)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
