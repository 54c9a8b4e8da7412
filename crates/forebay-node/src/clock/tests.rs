use std::time::Duration;

use super::Clock;

#[test]
fn a_deadline_is_reached_exactly_when_the_clock_shows_it() {
    let clock = Clock::start();
    let wanted = clock.now().after(Duration::from_millis(1500));
    let wait = clock.deadline(wanted) - tokio::time::Instant::now();
    assert!(wait <= Duration::from_millis(1500), "{wait:?}");
    assert!(wait > Duration::from_secs(1), "{wait:?}");
}

#[test]
fn a_deadline_at_the_end_of_time_does_not_overflow() {
    let clock = Clock::start();
    let end = forebay_proto::Instant::from_millis(u64::MAX);
    assert!(clock.deadline(end) > tokio::time::Instant::now());
}
