use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{FEW, PacketIds};

proptest! {
    #[test]
    fn they_behave_as_a_set(ops in prop::collection::vec((0..3_u8, 1..40_u16, 1..9_u64), 1..1200)) {
        let (mut ids, mut model) = (PacketIds::default(), BTreeSet::new());
        let mut most = 0;
        for (op, packet_id, rowid) in ops {
            if op == 0 && model.len() > FEW / 2 {
                ids.remove(packet_id, rowid);
                model.remove(&(packet_id, rowid));
            } else {
                ids.insert(packet_id, rowid);
                model.insert((packet_id, rowid));
            }
            most = most.max(model.len());
            let same: Vec<_> = model.iter().filter(|key| key.0 == packet_id).map(|key| key.1).collect();
            prop_assert_eq!(ids.with(packet_id).collect::<Vec<_>>(), same);
        }
        prop_assert!(ids.iter().eq(model.iter().map(|key| key.1)), "{} at most", most);
        while let Some((packet_id, rowid)) = model.pop_first() {
            prop_assert!(!ids.is_empty());
            ids.remove(packet_id, rowid);
        }
        prop_assert!(ids.is_empty());
    }
}
