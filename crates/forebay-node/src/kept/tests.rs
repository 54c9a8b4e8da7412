use super::*;

#[test]
fn a_queue_name_tells_its_owner_whatever_the_client_is_called() {
    for client_id in ["", "c", "-IN", "a-OUT", "a/../b", "\u{1F30A}\n"] {
        for direction in [Direction::In, Direction::Out] {
            let name = queue_name(client_id.as_bytes(), direction);
            assert_eq!(owner(&name), Some((client_id.as_bytes(), direction)));
        }
    }
    assert_eq!(owner(b"work"), None);
}

#[test]
fn an_outcome_is_called_what_it_was() {
    let named = |it| outcome_name(outcome(it));
    assert_eq!(named(Outcome::Acked), ("acked", None));
    assert_eq!(named(Outcome::Expired), ("expired", None));
    assert_eq!(named(Outcome::Refused), ("dropped", Some("refused")));
    assert_eq!(named(Outcome::TooLarge), ("dropped", Some("too_large")));
    assert_eq!(named(Outcome::QueueFull), ("dropped", Some("queue_full")));
    assert_eq!(named(Outcome::Unreadable), ("dropped", Some("unreadable")));
    assert_eq!(named(Outcome::Denied), ("dropped", Some("denied")));
}
