use super::*;

#[test]
fn a_range_of_rowids_may_be_open_at_either_end() {
    assert_eq!(rowids("1..9"), Ok((Some(1), Some(9))));
    assert_eq!(rowids("1.."), Ok((Some(1), None)));
    assert_eq!(rowids("..9"), Ok((None, Some(9))));
    assert_eq!(rowids("7"), Ok((Some(7), Some(7))));
    for text in ["a..b", "1..=2", "-1", "1...2"] {
        assert!(rowids(text).is_err(), "{text}");
    }
}

#[test]
fn a_state_that_there_is_not_is_refused_with_those_there_are() {
    assert_eq!(state("wait_for_pubcomp"), Ok("wait_for_pubcomp".to_owned()));
    assert!(state("waiting").is_err_and(|text| text.contains("wait_for_puback")));
}
