use super::*;

#[test]
fn every_value_is_in_a_bucket_that_is_3_percent_wide_at_most() {
    for magnitude in 0..64 {
        for step in 0..100_u64 {
            let value = (1_u64 << magnitude)
                | (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1 >> (63 - magnitude));
            let top = upper(bucket(value));
            assert!(top >= value, "{value} above {top}");
            assert!(top - value <= value / 32, "{value} in a bucket up to {top}");
            assert!(bucket(value) < BUCKETS);
        }
    }
}

#[test]
fn quantiles_are_those_of_the_values() {
    let mut histogram = Histogram::new();
    assert_eq!(histogram.quantile(0.5), 0);
    for value in 1..=1000 {
        histogram.record(value * 1000);
    }
    for (share, value) in [
        (0.0, 1_000),
        (0.5, 500_000),
        (0.99, 990_000),
        (1.0, 1_000_000),
    ] {
        let got = histogram.quantile(share);
        assert!(got >= value && got <= value + value / 32, "{share}: {got}");
    }
    assert_eq!((histogram.count(), histogram.max()), (1000, 1_000_000));
}
