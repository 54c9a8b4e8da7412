use super::*;
use alloc::{format, string::String, vec};

fn at(qos: u8) -> Subscription {
    let options = SubscriptionOptions {
        qos: QoS::new(qos).unwrap(),
        ..Default::default()
    };
    Subscription {
        options,
        identifier: None,
    }
}

fn reached(tree: &SubscriptionTree, topic: &str) -> Vec<u64> {
    tree.matches(topic, None)
        .into_iter()
        .map(|it| it.session.0)
        .collect()
}

#[test]
fn wildcards_match_as_chapter_4_7_lists_them() {
    // (filter, topic, matches)
    let cases = [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        (
            "sport/tennis/player1/#",
            "sport/tennis/player1/ranking",
            true,
        ),
        (
            "sport/tennis/player1/#",
            "sport/tennis/player1/score/wimbledon",
            true,
        ),
        ("sport/#", "sport", true),
        ("#", "sport", true),
        ("#", "/", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+", "sport", true),
        ("+", "/finance", false),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("#", "$SYS/uptime", false),
        ("+/uptime", "$SYS/uptime", false),
        ("$SYS/#", "$SYS/uptime", true),
        ("$SYS/+", "$SYS/uptime", true),
        ("a/$SYS/#", "a/$SYS/b", true),
        ("a/+/c", "a/$SYS/c", true),
        ("a//b", "a//b", true),
        ("a/+/b", "a//b", true),
        ("Accounts", "ACCOUNTS", false),
    ];
    for (filter, topic, expected) in cases {
        let mut tree = SubscriptionTree::default();
        tree.insert(filter, SessionId(1), at(0));
        assert_eq!(
            !reached(&tree, topic).is_empty(),
            expected,
            "{filter} on {topic}"
        );
    }
}

#[test]
fn overlapping_subscriptions_give_one_match_with_the_highest_qos_and_every_identifier() {
    let mut tree = SubscriptionTree::default();
    tree.insert(
        "a/#",
        SessionId(1),
        Subscription {
            identifier: Some(7),
            ..at(0)
        },
    );
    tree.insert(
        "a/b",
        SessionId(1),
        Subscription {
            identifier: Some(9),
            ..at(2)
        },
    );
    tree.insert("a/+", SessionId(1), at(1));
    tree.insert("a/b", SessionId(2), at(1));
    let found = tree.matches("a/b", None);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].qos, QoS::ExactlyOnce);
    let mut identifiers = found[0].identifiers.clone();
    identifiers.sort_unstable();
    assert_eq!(identifiers, vec![7, 9]);
}

#[test]
fn a_no_local_subscription_passes_its_own_publisher_over() {
    let mut tree = SubscriptionTree::default();
    let mut own = at(1);
    own.options.no_local = true;
    tree.insert("a", SessionId(1), own);
    tree.insert("a", SessionId(2), own);
    let found = tree.matches("a", Some(SessionId(1)));
    assert_eq!(
        found.iter().map(|it| it.session.0).collect::<Vec<_>>(),
        vec![2]
    );
}

#[test]
fn removing_every_subscription_gives_every_node_back() {
    let mut tree = SubscriptionTree::default();
    let filters: Vec<String> = (0..50).map(|n| format!("a/{}/c/{n}", n % 7)).collect();
    for round in 0..3 {
        for filter in &filters {
            assert_eq!(
                tree.insert(filter, SessionId(1), at(0)),
                None,
                "round {round}"
            );
        }
        assert_eq!(tree.len(), 50);
        for filter in &filters {
            assert!(tree.remove(filter, SessionId(1)).is_some());
        }
        assert_eq!((tree.len(), tree.nodes.len() - tree.free.len()), (0, 1));
    }
    assert!(tree.nodes.len() < 120);
}

#[test]
fn a_subscription_with_the_same_filter_is_replaced() {
    let mut tree = SubscriptionTree::default();
    tree.insert("a/b", SessionId(1), at(0));
    assert_eq!(tree.insert("a/b", SessionId(1), at(2)), Some(at(0)));
    assert_eq!(tree.len(), 1);
    assert_eq!(tree.matches("a/b", None)[0].qos, QoS::ExactlyOnce);
    assert!(tree.remove("a/c", SessionId(1)).is_none());
    assert!(tree.remove("a/b", SessionId(2)).is_none());
}
