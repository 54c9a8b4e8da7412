use super::*;

#[test]
fn a_time_is_read_in_either_form() {
    for (text, nanos) in [
        ("0", 0),
        ("1767225600", 1_767_225_600_000_000_000),
        ("1.5", 1_500_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T01:00:00.25+01:00", 250_000_000),
        ("2026-01-01T00:00:00Z", 1_767_225_600_000_000_000),
    ] {
        assert_eq!(parse(text), Ok(nanos), "{text}");
    }
    for text in [
        "",
        "x",
        "-1",
        ".5",
        "1.0000000001",
        "1960-01-01T00:00:00Z",
        "99999999999",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_time_is_printed_so_that_it_can_be_read() {
    assert_eq!(show(1_500_000_000), "1970-01-01T00:00:01.500Z");
    assert_eq!(show(1_500_000_001), "1970-01-01T00:00:01.500000001Z");
    for nanos in [0, 1, 1_767_225_600_123_456_789, u64::MAX] {
        assert_eq!(parse(&show(nanos)), Ok(nanos));
    }
}
