//! The judge, and a measurement against a broker that the test plays.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use super::{judge::header, *};

fn load(publishers: usize, subscribers: usize, messages: u64) -> Load {
    Load {
        peer: String::new(),
        version: Version::V5,
        publishers,
        subscribers,
        shared_topic: false,
        qos: QoS::AtLeastOnce,
        size: HEADER_BYTES,
        messages,
        window: 10,
        rate: None,
        persistent: false,
        patience: Duration::from_secs(1),
    }
}

#[test]
fn a_loss_a_double_and_a_change_of_order_are_told_apart() {
    let mut judge = Judge::new(&load(1, 1, 5));
    for number in [0, 2, 1, 2, 4] {
        judge.arrived(0, &header(0, number, 0), 10);
    }
    assert_eq!((judge.expected(), judge.received()), (5, 4));
    assert_eq!(
        (judge.doubled(), judge.reordered(), judge.foreign()),
        (1, 1, 0)
    );
}

#[test]
fn what_nobody_sent_is_foreign() {
    let mut judge = Judge::new(&load(2, 2, 10));
    judge.arrived(0, b"short", 0);
    judge.arrived(0, &header(7, 0, 0), 0);
    judge.arrived(0, &header(0, 5, 0), 0);
    judge.arrived(0, &header(1, 0, 0), 0);
    assert_eq!((judge.foreign(), judge.received()), (4, 0));
}

#[test]
fn everyone_has_a_counterpart_whatever_the_numbers() {
    for (publishers, subscribers, shared_topic, expected) in [
        (3, 3, false, 30),
        (3, 3, true, 90),
        (4, 2, false, 30),
        (2, 4, false, 60),
        (1, 7, false, 210),
        (7, 1, true, 30),
        (3, 0, false, 0),
    ] {
        let load = Load {
            shared_topic,
            ..load(publishers, subscribers, 30)
        };
        let judge = Judge::new(&load);
        assert_eq!(judge.expected(), expected, "{publishers} to {subscribers}");
        let shares: u64 = (0..publishers)
            .map(|index| judge.quota(index) * judge.audience(index))
            .sum();
        assert_eq!(shares, expected, "{publishers} to {subscribers}");
    }
}

fn packet(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).ok()?;
    assert!(head[1] < 128, "a long packet");
    let mut body = vec![0; usize::from(head[1])];
    socket.read_exact(&mut body).ok()?;
    Some((head[0], body))
}

/// A broker for one subscriber and one publisher that acknowledges every QoS 1 message, and sends
/// on as many copies as `copies` says.
fn play(copies: impl Fn(u32) -> usize + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        let (mut subscriber, _) = listener.accept().expect("a subscriber");
        packet(&mut subscriber).expect("CONNECT");
        subscriber
            .write_all(b"\x20\x03\x00\x00\x00")
            .expect("CONNACK");
        packet(&mut subscriber).expect("SUBSCRIBE");
        subscriber
            .write_all(b"\x90\x04\x00\x01\x00\x01")
            .expect("SUBACK");
        let (mut publisher, _) = listener.accept().expect("a publisher");
        packet(&mut publisher).expect("CONNECT");
        // Receive Maximum 3.
        publisher
            .write_all(b"\x20\x06\x00\x00\x03\x21\x00\x03")
            .expect("CONNACK");
        let mut number = 0;
        while let Some((first, body)) = packet(&mut publisher) {
            assert_eq!(first, 0x32);
            let id = 2 + usize::from(body[1]);
            for _ in 0..copies(number) {
                let copy = [&[first, body.len() as u8], body.as_slice()].concat();
                subscriber.write_all(&copy).expect("PUBLISH");
                assert_eq!(packet(&mut subscriber).expect("PUBACK").0, 0x40);
            }
            publisher
                .write_all(&[0x40, 2, body[id], body[id + 1]])
                .expect("PUBACK");
            number += 1;
        }
    });
    address
}

fn measured(copies: impl Fn(u32) -> usize + Send + 'static) -> Report {
    let load = Load {
        peer: play(copies),
        ..load(1, 1, 100)
    };
    run(load, |_| {}).expect("a report")
}

#[test]
fn a_good_broker_is_found_good() {
    let report = measured(|_| 1);
    assert!(report.is_flawless(), "{report:?}");
    assert_eq!(
        (report.published, report.acknowledged, report.received),
        (100, 100, 100)
    );
    assert_eq!(
        (report.ack_latency.count(), report.delivery_latency.count()),
        (100, 100)
    );
    assert!(report.elapsed > Duration::ZERO);
}

#[test]
fn a_broker_that_loses_is_found_out() {
    let report = measured(|number| usize::from(number != 50));
    assert!(!report.is_flawless());
    assert_eq!((report.lost, report.doubled, report.reordered), (1, 0, 0));
}

#[test]
fn a_broker_that_doubles_is_found_out() {
    let report = measured(|number| 1 + usize::from(number == 50));
    assert!(!report.is_flawless());
    assert_eq!((report.lost, report.doubled, report.reordered), (0, 1, 0));
}

#[test]
fn a_broker_that_is_not_there_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let error = run(
        Load {
            peer,
            ..load(1, 1, 1)
        },
        |_| {},
    )
    .expect_err("nobody");
    assert!(matches!(error, BenchError::Unreachable { .. }), "{error}");
}
