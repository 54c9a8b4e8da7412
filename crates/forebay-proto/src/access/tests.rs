use alloc::{format, string::String};

use super::{Acl, AclFault, Who};
use crate::limits::ACL_RULES_MAX;

fn acl(text: &str) -> Acl {
    Acl::parse(text.as_bytes()).expect("a good list")
}

const fn who<'a>(user: &'a str, client_id: &'a str) -> Who<'a> {
    Who {
        user: Some(user),
        client_id,
    }
}

const fn nobody(client_id: &str) -> Who<'_> {
    Who {
        user: None,
        client_id,
    }
}

const LIST: &str = "\
# what anyone may
topic read public/#
topic deny public/secret

user ann
topic write plant/+/temp
topic readwrite  notes/a note/with spaces
topic plain
topic deny plant/9/temp
topic read $SYS/#

user bob
topic read plant/#

pattern readwrite homes/%u/#
pattern write devices/%c/status
pattern deny homes/%u/attic
";

#[test]
fn rights_are_those_of_the_lines_under_a_name_and_of_the_patterns() {
    let acl = acl(LIST);
    // (who, topic, may publish, may receive)
    let cases = [
        (nobody("c"), "public/news", false, true),
        (nobody("c"), "public", false, true),
        (nobody("c"), "public/secret", false, false),
        (nobody("c"), "plant/1/temp", false, false),
        (nobody("c"), "devices/c/status", true, false),
        (nobody("c"), "homes//x", false, false),
        (who("ann", "c"), "public/news", false, false),
        (who("ann", "c"), "plant/1/temp", true, false),
        (who("ann", "c"), "plant/9/temp", false, false),
        (who("ann", "c"), "plant/1/2/temp", false, false),
        (who("ann", "c"), "notes/a note/with spaces", true, true),
        (who("ann", "c"), "plain", true, true),
        (who("ann", "c"), "homes/ann/door", true, true),
        (who("ann", "c"), "homes/bob/door", false, false),
        (who("ann", "c"), "homes/ann/attic", false, false),
        (who("ann", "c"), "$SYS/broker/uptime", false, true),
        (who("bob", "c"), "plant/9/temp", false, true),
        (who("bob", "c"), "$SYS/broker/uptime", false, false),
        (who("eve", "c"), "plant/1/temp", false, false),
        (who("eve", "c"), "homes/eve/x", true, true),
    ];
    for (who, topic, publish, receive) in cases {
        assert_eq!(acl.may_publish(who, topic), publish, "{who:?} {topic}");
        assert_eq!(acl.may_receive(who, topic), receive, "{who:?} {topic}");
    }
}

#[test]
fn a_list_without_rules_allows_nothing() {
    for text in ["", "# nothing\n\n", "user ann\n"] {
        let acl = acl(text);
        assert!(acl.is_empty());
        assert!(!acl.may_publish(who("ann", "c"), "a"));
        assert!(!acl.may_receive(nobody("c"), "a"));
        assert!(!acl.may_subscribe(nobody("c"), "#"));
    }
}

#[test]
fn a_denial_wins_over_every_grant_wherever_it_stands() {
    for text in [
        "topic a/b\ntopic deny a/#\n",
        "topic deny a/#\ntopic a/b\n",
        "topic a/b\npattern deny a/+\n",
        "pattern a/b\ntopic deny a/b\n",
        "pattern a/%c\npattern deny +/b\n",
    ] {
        let acl = acl(text);
        assert!(!acl.may_publish(nobody("b"), "a/b"), "{text}");
        assert!(!acl.may_receive(nobody("b"), "a/b"), "{text}");
        assert!(!acl.may_subscribe(nobody("b"), "a/b"), "{text}");
    }
}

#[test]
fn wildcards_and_slashes_in_a_name_grant_nothing_and_a_dollar_opens_no_system_topic() {
    let acl =
        acl("pattern %u/#\npattern c/%c\npattern deny homes/%u\ntopic #\nuser x/y\ntopic #\n");
    for name in ["+", "#", "a/b", "a/#"] {
        assert!(!acl.may_publish(who(name, "c"), "a/b"), "{name}");
        assert!(!acl.may_publish(who("u", name), "c/a/b"), "{name}");
        assert!(!acl.may_subscribe(who(name, "c/d"), "#"), "{name}");
    }
    assert!(!acl.may_receive(who("$SYS", "c"), "$SYS/a"));
    assert!(!acl.may_receive(nobody("c"), "$SYS/a"));
    // A denial is spelled with the name as it is.
    assert!(!acl.may_publish(who("x/y", "c"), "homes/x/y"));
    assert!(acl.may_publish(who("x/y", "c"), "homes/x"));
}

#[test]
fn a_subscription_is_granted_where_something_of_it_may_be_read() {
    let acl = acl("\
topic read a/+/c
topic read d/#
topic write w/#
topic read $SYS/broker/#
topic deny d/no/#
topic deny a/x/c
pattern read p/%c
");
    let cases = [
        ("a/b/c", true),
        ("a/+/c", true),
        ("a/#", true),
        ("#", true),
        ("+/b/c", true),
        ("+/+/+", true),
        ("a/b", false),
        ("a/b/c/d", false),
        ("a/x/c", false),
        ("d", true),
        ("d/e/f", true),
        ("d/no/#", false),
        ("d/no/e", false),
        ("d/no", false),
        ("d/+/e", true),
        ("w/#", false),
        ("$SYS/#", true),
        ("$SYS/+/uptime", true),
        ("$SYS/other", false),
        ("p/me", true),
        ("p/you", false),
        ("p/+", true),
        ("x", false),
    ];
    for (filter, granted) in cases {
        assert_eq!(acl.may_subscribe(nobody("me"), filter), granted, "{filter}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line_and_cure() {
    let cases: [(&[u8], &str); 10] = [
        (
            b"topic read a\nallow b\n",
            "line 2: \"allow\" begins no rule; write user",
        ),
        (b"\n\nuser\n", "line 3: user needs something behind it"),
        (b"topic\n", "line 1: topic needs something behind it"),
        (
            b"topic reads a\n",
            "line 1: \"reads\" is no right; write read",
        ),
        (
            b"topic read a/#/b\n",
            "line 1: \"a/#/b\" is no topic filter",
        ),
        (b"topic read a+\n", "line 1: \"a+\" is no topic filter"),
        (
            b"topic $share/g/a\n",
            "line 1: \"$share/g/a\" is no topic filter",
        ),
        (
            b"# ok\npattern a%u\n",
            "line 2: \"a%u\": %u and %c stand alone",
        ),
        (
            b"pattern %cx/a\n",
            "line 1: \"%cx/a\": %u and %c stand alone",
        ),
        (b"topic a\ntopic \xff\n", "line 2: not UTF-8"),
    ];
    for (text, told) in cases {
        let error = format!("{}", Acl::parse(text).expect_err("a mistake"));
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn the_rules_of_a_user_are_bounded() {
    let mut text = String::from("user ann\n");
    text.extend((0..ACL_RULES_MAX).map(|number| format!("topic a/{number}\n")));
    assert_eq!(acl(&text).len(), ACL_RULES_MAX);
    text += "topic b\n";
    let error = Acl::parse(text.as_bytes()).expect_err("too many");
    assert_eq!(error.line, ACL_RULES_MAX + 2);
    assert_eq!(error.fault, AclFault::TooMany(ACL_RULES_MAX));
}

#[test]
fn line_ends_of_windows_and_a_missing_last_one_change_nothing() {
    let acl = acl("topic read a\r\nuser ann b\r\ntopic write c");
    assert!(acl.may_receive(nobody("c"), "a"));
    assert!(acl.may_publish(who("ann b", "c"), "c"));
}
