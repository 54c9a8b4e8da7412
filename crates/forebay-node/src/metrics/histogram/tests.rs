use std::time::Duration;

use super::Histogram;

#[test]
fn every_duration_is_counted_once_in_the_first_bucket_that_holds_it() {
    let mut histogram = Histogram::default();
    for ns in [0, 10_000, 10_001, 1_000_000, 4_000_000_000, 60_000_000_000] {
        histogram.observe(Duration::from_nanos(ns));
    }
    let buckets = histogram.buckets();
    assert_eq!(histogram.count(), 6);
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 6);
    assert_eq!(buckets[0], (0.000_01, 2));
    assert_eq!(buckets[1], (0.000_02, 1));
    assert_eq!(buckets.last().map(|(_, count)| *count), Some(1));
    assert!((histogram.sum() - 64.001_020_001).abs() < 1e-9);
}
