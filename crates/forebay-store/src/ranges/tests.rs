use super::Ranges;

#[test]
fn rowids_pushed_in_order_are_found_again() {
    let mut ranges = Ranges::default();
    for rowid in [3, 4, 7, 9, 10, 11] {
        ranges.push(rowid);
    }
    assert_eq!(ranges.iter().collect::<Vec<_>>(), [3..5, 7..8, 9..12]);
    let found: Vec<u64> = (0..20).filter(|&rowid| ranges.contains(rowid)).collect();
    assert_eq!(found, [3, 4, 7, 9, 10, 11]);
    assert!(Ranges::one(5..5).is_empty());
}
