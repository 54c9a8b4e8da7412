//! What no output shows: that nothing is left behind in the machine.

use super::*;
use crate::{
    packet::Connect,
    property::{PropertiesBuilder, Property},
    text::Text,
};
use alloc::boxed::Box;

const LOCAL: Peer = Peer {
    loopback: true,
    anonymous: None,
    user: None,
};

/// Plays a disk that does everything at once.
fn drain(broker: &mut Broker, now: Instant) {
    while let Some(output) = broker.poll_output() {
        match output {
            Output::Commit { seq, .. } => broker.handle_durable(seq, now),
            Output::Resume { session, epoch, .. } => {
                broker.handle_resumed(session, epoch, Some(Resumed::default()), now);
            }
            Output::Promote { session, epoch, .. } => {
                broker.handle_promoted(session, epoch, Vec::new(), now);
            }
            Output::Transmit { .. } | Output::Close { .. } | Output::Authenticate { .. } => {}
        }
    }
}

fn connect(keep_alive_secs: u16) -> Packet {
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(100_000));
    Packet::Connect(Box::new(Connect {
        version: Version::V5,
        clean_start: false,
        keep_alive_secs,
        client_id: Text::from_static("c").unwrap_or_default(),
        will: None,
        username: None,
        password: None,
        properties: properties.build(),
    }))
}

#[test]
fn a_client_that_comes_and_goes_leaves_one_timer_not_one_each_time() {
    let mut broker = Broker::new(Config::default());
    for round in 0..100_u64 {
        let (connection, now) = (ConnectionId(round), Instant::from_millis(round));
        broker.handle_open(connection, LOCAL, now);
        broker.handle_packet(connection, connect(60_000), now);
        drain(&mut broker, now);
        assert_eq!(broker.timers.len(), 1, "the keep alive");
        broker.handle_closed(connection, now);
        drain(&mut broker, now);
        assert_eq!(broker.timers.len(), 1, "the end of the session");
    }
    let end = Instant::from_millis(99).after_secs(100_000);
    assert_eq!(broker.poll_timeout(), Some(end));
    broker.handle_timeout(end);
    drain(&mut broker, end);
    assert_eq!((broker.timers.len(), broker.sessions.len()), (0, 0));
}

#[test]
fn connections_that_never_say_anything_leave_nothing() {
    let mut broker = Broker::new(Config::default());
    let now = Instant::from_millis(0);
    for number in 0..100 {
        broker.handle_open(ConnectionId(number), LOCAL, now);
        broker.handle_closed(ConnectionId(number), now);
    }
    drain(&mut broker, now);
    assert_eq!((broker.timers.len(), broker.connections.len()), (0, 0));
}
