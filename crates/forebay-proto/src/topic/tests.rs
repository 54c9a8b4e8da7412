use super::*;
use alloc::{string::String, vec::Vec};

fn text(text: &str) -> Text {
    Text::try_from(String::from(text)).unwrap()
}

fn filter(filter: &str) -> TopicFilter {
    TopicFilter::new(text(filter)).unwrap()
}

fn name(name: &str) -> TopicName {
    TopicName::new(text(name)).unwrap()
}

#[test]
fn a_name_has_a_character_and_no_wildcard() {
    for good in ["a", "/", "//", " ", "a/b", "$SYS/x", "$share/g/a", "ä/é"] {
        assert!(TopicName::new(text(good)).is_some(), "{good}");
    }
    for bad in ["", "+", "#", "a/+", "a+", "a/b#", "a/#/b"] {
        assert!(TopicName::new(text(bad)).is_none(), "{bad}");
    }
}

#[test]
fn a_wildcard_has_a_level_to_itself_and_the_hash_is_last() {
    for good in [
        "a", "/", "#", "+", "a/#", "+/+", "/+", "+/", "a/+/b", "a/+/#", "+/#", "$SYS/#",
    ] {
        assert!(TopicFilter::new(text(good)).is_ok(), "{good}");
    }
    for bad in [
        "a#", "#a", "a/#b", "#/a", "a/#/", "##", "a+", "+a", "a/b+/c", "++", "+#",
    ] {
        assert_eq!(
            TopicFilter::new(text(bad)),
            Err(TopicFilterError::Wildcard),
            "{bad}"
        );
    }
    assert_eq!(TopicFilter::new(Text::EMPTY), Err(TopicFilterError::Empty));
}

#[test]
fn a_shared_filter_splits_into_share_name_and_filter() {
    let shared = filter("$share/group/a/+/#");
    assert_eq!(shared.share_name(), Some("group"));
    assert_eq!(shared.filter(), "a/+/#");
    assert_eq!(shared.as_str(), "$share/group/a/+/#");
    assert_eq!(shared.levels().collect::<Vec<_>>(), [&b"a"[..], b"+", b"#"]);
    assert!(shared.is_shared() && shared.has_wildcard());
    assert_eq!(filter("$share/g//a").filter(), "/a");

    let plain = filter("$shared/group/a");
    assert_eq!(plain.share_name(), None);
    assert_eq!(plain.filter(), "$shared/group/a");
    assert!(!plain.is_shared() && !plain.has_wildcard());
    assert_eq!(filter("$share").share_name(), None);
}

#[test]
fn a_malformed_share_is_refused() {
    for bad in [
        "$share/",
        "$share/g",
        "$share//a",
        "$share/+/a",
        "$share/g#/a",
        "$share/a+b/a",
    ] {
        assert_eq!(
            TopicFilter::new(text(bad)),
            Err(TopicFilterError::Share),
            "{bad}"
        );
    }
    assert_eq!(
        TopicFilter::new(text("$share/g/")),
        Err(TopicFilterError::Empty)
    );
    assert_eq!(
        TopicFilter::new(text("$share/g/a#")),
        Err(TopicFilterError::Wildcard)
    );
}

#[test]
fn filters_match_names_as_chapter_4_7_has_it() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "sport/tennis/player1/#",
            &[
                "sport/tennis/player1",
                "sport/tennis/player1/ranking",
                "sport/tennis/player1/a/b",
            ],
            &[
                "sport/tennis/player11",
                "sport/tennis",
                "sport/tennis/player2/a",
            ],
        ),
        (
            "sport/#",
            &["sport", "sport/", "sport/a"],
            &["sports", "/sport"],
        ),
        ("#", &["a", "/", "a/b", "/a"], &["$SYS", "$SYS/a"]),
        (
            "sport/tennis/+",
            &["sport/tennis/a", "sport/tennis/"],
            &["sport/tennis", "sport/tennis/a/b"],
        ),
        ("sport/+", &["sport/", "sport/a"], &["sport"]),
        ("+", &["a"], &["/a", "a/b", "$a"]),
        ("+/+", &["/finance", "a/b", "/"], &["$SYS/a", "a"]),
        ("/+", &["/finance", "/"], &["finance"]),
        (
            "+/tennis/#",
            &["a/tennis", "a/tennis/b"],
            &["$SYS/tennis", "tennis"],
        ),
        (
            "+/monitor/Clients",
            &["a/monitor/Clients"],
            &["$SYS/monitor/Clients"],
        ),
        ("$SYS/#", &["$SYS", "$SYS/a"], &["SYS/a"]),
        (
            "$SYS/monitor/+",
            &["$SYS/monitor/Clients"],
            &["$SYS/monitor"],
        ),
        (
            "a/b",
            &["a/b"],
            &["a", "a/b/", "a/b/c", "A/b", "/a/b", "a//b"],
        ),
        ("/", &["/"], &["a", "//"]),
        ("$share/g/a/+", &["a/b"], &["$share/g/a/b", "a"]),
        ("$share/g/#", &["a"], &["$SYS/a"]),
    ];
    for (pattern, yes, no) in table {
        for topic in *yes {
            assert!(
                filter(pattern).matches(&name(topic)),
                "{pattern} must match {topic}"
            );
        }
        for topic in *no {
            assert!(
                !filter(pattern).matches(&name(topic)),
                "{pattern} must not match {topic}"
            );
        }
    }
}

#[test]
fn levels_may_be_empty() {
    assert_eq!(
        name("/a/").levels().collect::<Vec<_>>(),
        [&b""[..], b"a", b""]
    );
    assert_eq!(name("a").levels().count(), 1);
    assert!(name("$SYS/a").is_dollar() && !name("a/$SYS").is_dollar());
}
