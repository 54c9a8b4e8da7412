//! The tables that hold nothing but numbers.
//!
//! Owns the bounds of each number, and those between them.

use forebay_node::{Limits, broker::Keeping};
use toml::Spanned;

use super::{
    judge::{Judge, number},
    raw,
    validated::{Broker, Line, Origin, Sourced},
};

/// The largest number that TOML has.
const MOST: u64 = i64::MAX as u64;
const MIB: u32 = 1 << 20;

/// The numbers of a table.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<T> {
    /// What the broker is given.
    pub(crate) values: T,
    /// The same, with their origin.
    pub(super) lines: Vec<Line>,
}

macro_rules! numbers {
    (
        $(#[doc = $about:literal])+
        $name:ident: $table:ident => $values:ident {
            $($field:ident: $type:ty, $least:expr, $most:expr;)+
        }
    ) => {
        impl Judge<'_> {
            $(#[doc = $about])+
            pub(super) fn $name(&mut self, raw: &raw::$table) -> Numbers<$values> {
                let mut values = $values::default();
                let mut lines = Vec::new();
                $(
                    let name = stringify!($field);
                    let picked: Sourced<$type> = self.pick(
                        None,
                        (raw::$table::TABLE.name, name, &raw.$field),
                        values.$field,
                        |&value| number(value, $least, $most),
                    );
                    values.$field = picked.value;
                    lines.push(Line {
                        key: format!("{}.{name}", raw::$table::TABLE.name),
                        value: picked.value.into(),
                        origin: picked.origin,
                    });
                )+
                Numbers { values, lines }
            }
        }
    };
}

numbers! {
    /// How the store is kept.
    store: Store => Keeping {
        segment_size: u32, 4 * MIB, 1024 * MIB;
        low_water: u64, 0, MOST;
        checkpoint_after: u64, 1 << 20, MOST;
        rotate_after: u32, 0, u32::MAX;
        backups: u32, 0, u32::MAX;
    }
}

numbers! {
    /// What clients may take.
    limits: Limits => Limits {
        max_connections: u32, 1, u32::MAX;
        max_sessions: u32, 1, u32::MAX;
        max_packet_size: u32, 128, 8_388_608;
        receive_maximum: u16, 1, u16::MAX;
        topic_alias_maximum: u16, 0, u16::MAX;
        max_inflight: u16, 1, u16::MAX;
        max_queued_messages: u64, 1, MOST;
        max_unreleased_bytes: u64, 1, MOST;
        max_subscriptions: u32, 1, u32::MAX;
        max_topic_levels: u16, 1, u16::MAX;
        max_retained: u64, 0, MOST;
        max_early_bytes: u32, 1, u32::MAX;
        connect_timeout_secs: u32, 1, 86_400;
        max_session_expiry_secs: u32, 0, u32::MAX;
    }
}

impl Judge<'_> {
    /// That segments are whole, and take the largest packet with what is written beside it.
    pub(super) fn sizes(&mut self, raw: &raw::Broker, broker: &Broker) {
        let segment = broker.store.values.segment_size;
        let packet = broker.limits.values.max_packet_size;
        let span = raw.store.segment_size.as_ref().map(Spanned::span);
        let key = format!("{}.segment_size", raw::Store::TABLE.name);
        if !segment.is_multiple_of(MIB) {
            let what = format!("{segment} is not a multiple of {MIB}");
            let near = segment.div_ceil(MIB) * MIB;
            self.add(span, key, what, format!("use {near}"));
        } else if segment / 2 < packet {
            let of_packet = broker.limits.lines.iter();
            let of_packet = of_packet.filter(|line| line.key.ends_with(".max_packet_size"));
            let is_default = of_packet.clone().all(|line| line.origin == Origin::Default);
            let default = if is_default { " by default" } else { "" };
            let what = format!(
                "{segment} is less than twice broker.limits.max_packet_size, which is {packet}{default}"
            );
            let cure = format!(
                "use {} or more, or set max_packet_size to {} or less",
                packet.div_ceil(MIB) * 2 * MIB,
                segment / 2
            );
            self.add(span, key, what, cure);
        }
    }
}
