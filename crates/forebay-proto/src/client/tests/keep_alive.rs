//! Time: connect timeout, pings, silence.

use super::*;

fn at(seconds: u32) -> Instant {
    NOW.after_secs(seconds)
}

#[test]
fn a_server_that_does_not_answer_the_connect_is_given_up() {
    let mut client = Client::new(config());
    client.handle_connected(NOW);
    outputs(&mut client);
    assert_eq!(client.poll_timeout(), Some(at(10)));
    client.handle_timeout(at(9));
    assert_eq!(outputs(&mut client), []);
    client.handle_timeout(at(10));
    let ended = ClientOutput::Event(ClientEvent::Closed(Ending::TimedOut));
    assert_eq!(outputs(&mut client), [ClientOutput::Close, ended]);
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn a_quiet_connection_is_pinged_and_an_answer_keeps_it() {
    let mut client = connected(
        ClientConfig {
            keep_alive_secs: 60,
            ..config()
        },
        &[],
    );
    assert_eq!(client.poll_timeout(), Some(at(60)));
    client.handle_timeout(at(60));
    assert_eq!(packets(&mut client), [Packet::PingReq]);
    assert_eq!(client.poll_timeout(), Some(at(70)));
    client.handle_packet(Packet::PingResp, at(61));
    assert_eq!(client.poll_timeout(), Some(at(120)));
}

#[test]
fn a_ping_without_an_answer_ends_the_connection() {
    let mut client = connected(
        ClientConfig {
            keep_alive_secs: 60,
            ..config()
        },
        &[],
    );
    client.handle_timeout(at(60));
    client.handle_timeout(at(70));
    let ended = ClientOutput::Event(ClientEvent::Closed(Ending::TimedOut));
    assert_eq!(outputs(&mut client).last(), Some(&ended));
}

#[test]
fn talking_into_a_dead_link_is_no_sign_of_life() {
    let mut client = connected(
        ClientConfig {
            keep_alive_secs: 60,
            ..config()
        },
        &[],
    );
    for second in 1..60 {
        client
            .publish(message(QoS::AtMostOnce, "m"), at(second))
            .expect("room");
    }
    outputs(&mut client);
    client.handle_timeout(at(60));
    assert_eq!(packets(&mut client), [Packet::PingReq]);
}

#[test]
fn the_servers_keep_alive_holds() {
    let asked = ClientConfig {
        keep_alive_secs: 60,
        ..config()
    };
    assert_eq!(
        connected(asked, &[Property::ServerKeepAlive(5)]).poll_timeout(),
        Some(at(5))
    );
    let off = ClientConfig {
        keep_alive_secs: 0,
        ..config()
    };
    assert_eq!(connected(off, &[]).poll_timeout(), None);
}
