use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Entry, Index};
use crate::{flag::UserFlag, record::ContentRef};

fn entry(n: u32) -> Entry {
    Entry::new(
        ContentRef {
            segment: 1,
            offset: n,
            len: n,
        },
        UserFlag::from_bits(1),
        0,
    )
}

fn memory(index: &Index) -> usize {
    index.dense.capacity() * 16 + index.sparse_len() * 40
}

// Queue claim "a queued message costs at most 16 bytes".
#[test]
fn a_long_queue_costs_little_more_than_16_bytes_a_message() {
    let mut index = Index::default();
    for rowid in 1..=1_000_000 {
        index.insert(rowid, entry(rowid as u32));
    }
    assert!(memory(&index) < 24 << 20, "{}", memory(&index));
}

#[test]
fn a_stuck_message_does_not_keep_millions_finished_behind_it_in_memory() {
    let mut index = Index::default();
    for rowid in 1..=2_000_000 {
        index.insert(rowid, entry(1));
        if rowid > 10 && rowid - 10 != 5 {
            index.remove(rowid - 10).unwrap();
        }
    }
    assert_eq!(index.range(..).next().map(|(rowid, _)| rowid), Some(5));
    assert!(memory(&index) < 10_000, "{}", memory(&index));
}

#[test]
fn memory_comes_back_when_a_long_queue_drains() {
    let mut index = Index::default();
    (1..=100_000).for_each(|rowid| index.insert(rowid, entry(1)));
    for rowid in 1..=99_990 {
        index.remove(rowid).unwrap();
    }
    assert!(memory(&index) < 2_000, "{}", memory(&index));
}

proptest! {
    #[test]
    fn it_behaves_as_a_map(ops in prop::collection::vec((0..4_u8, 1..400_u64, 0..2000_u64), 1..400)) {
        let mut index = Index::default();
        let mut model = BTreeMap::new();
        let mut next = 1000;
        for (i, (op, at, far)) in ops.into_iter().enumerate() {
            let value = entry(i as u32);
            match op {
                // Append, with now and then a gap.
                0 => {
                    next += if at < 20 { far } else { 1 };
                    index.insert(next, value);
                    model.insert(next, value);
                }
                // Anywhere, old ones too.
                1 => {
                    index.insert(at * 5, value);
                    model.insert(at * 5, value);
                }
                // Remove what is there, from either end.
                _ => {
                    let at = at as usize % model.len().max(1);
                    let key = if op == 2 { model.keys().nth(at) } else { model.keys().nth_back(at) };
                    if let Some(key) = key.copied() {
                        prop_assert_eq!(index.remove(key), model.remove(&key));
                        prop_assert_eq!(index.remove(key), None);
                    }
                }
            }
            prop_assert_eq!(index.len(), model.len());
            prop_assert!(index.dense.len() <= 64 || index.holes as usize * 2 <= index.dense.len() + 64);
        }
        let all: Vec<_> = index.range(..).map(|(k, v)| (k, *v)).collect();
        prop_assert_eq!(&all, &model.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>());
        let back: Vec<_> = index.range(500..1500).rev().map(|(k, _)| k).collect();
        prop_assert_eq!(back, model.range(500..1500).rev().map(|(k, _)| *k).collect::<Vec<_>>());
        for key in 0..3000 {
            prop_assert_eq!(index.get(key), model.get(&key));
            prop_assert_eq!(index.get_mut(key).is_some(), model.contains_key(&key));
        }
    }
}
