use forebay_proto::Seq;

use super::Backlog;

#[test]
fn reading_pauses_beyond_the_limit_and_goes_on_at_half_of_it() {
    let mut backlog = Backlog::new(100);
    backlog.add(Seq(4), 60);
    backlog.add(Seq(5), 40);
    assert!(!backlog.is_full());
    backlog.add(Seq(9), 30);
    assert!(backlog.is_full());
    assert!(
        !backlog.durable(Seq(4)),
        "70 bytes are left, more than half"
    );
    assert!(backlog.is_full());
    assert!(backlog.durable(Seq(5)), "30 bytes are left");
    assert!(!backlog.is_full());
    assert_eq!((backlog.bytes(), backlog.commits()), (30, 4));
}

#[test]
fn a_hand_over_counts_until_its_last_commit_is_durable() {
    let mut backlog = Backlog::new(100);
    backlog.add(Seq(10), 50);
    backlog.durable(Seq(9));
    assert_eq!(
        (backlog.bytes(), backlog.commits(), backlog.is_empty()),
        (50, 1, false)
    );
    backlog.durable(Seq(10));
    assert_eq!(
        (backlog.bytes(), backlog.commits(), backlog.is_empty()),
        (0, 0, true)
    );
}
