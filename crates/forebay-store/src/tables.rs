//! Small keyed state, in memory as a whole.

use std::{collections::BTreeMap, ops::Bound};

use bytes::Bytes;

use crate::types::TableId;

#[derive(Debug, Default)]
pub(crate) struct Tables {
    rows: BTreeMap<u8, BTreeMap<Bytes, Bytes>>,
}

impl Tables {
    pub(crate) fn put(&mut self, table: TableId, key: Bytes, value: Bytes) {
        self.rows.entry(table.0).or_default().insert(key, value);
    }

    pub(crate) fn delete(&mut self, table: TableId, key: &[u8]) {
        if let Some(rows) = self.rows.get_mut(&table.0) {
            rows.remove(key);
        }
    }

    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<&Bytes> {
        self.rows.get(&table.0)?.get(key)
    }

    pub(crate) fn scan(&self, table: TableId) -> impl DoubleEndedIterator<Item = (&Bytes, &Bytes)> {
        self.rows.get(&table.0).into_iter().flatten()
    }

    /// Every row of every table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TableId, &Bytes, &Bytes)> {
        self.rows.iter().flat_map(|(&table, rows)| {
            rows.iter()
                .map(move |(key, value)| (TableId(table), key, value))
        })
    }

    /// The first row after a place, over all tables in order.
    pub(crate) fn next(
        &self,
        after: Option<&(TableId, Bytes)>,
    ) -> Option<(TableId, &Bytes, &Bytes)> {
        if let Some((table, key)) = after {
            let rest = (Bound::Excluded(key), Bound::Unbounded);
            let row = self
                .rows
                .get(&table.0)
                .and_then(|rows| rows.range::<Bytes, _>(rest).next());
            if let Some((key, value)) = row {
                return Some((*table, key, value));
            }
        }
        let tables = after.map_or(Bound::Unbounded, |(table, _)| Bound::Excluded(table.0));
        self.rows
            .range((tables, Bound::Unbounded))
            .find_map(|(&table, rows)| {
                rows.iter()
                    .next()
                    .map(|(key, value)| (TableId(table), key, value))
            })
    }
}
