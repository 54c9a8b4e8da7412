//! A link against a broker that the test plays on a real socket.

use tokio::net::TcpListener;

use super::*;

fn config(version: Version) -> ClientConfig {
    ClientConfig::new(version, Text::from_static("c").expect("text"))
}

fn message(payload: &'static str, qos: QoS) -> Publish {
    Publish {
        dup: false,
        qos,
        retain: false,
        topic: Text::from_static("t").expect("text"),
        packet_id: None,
        properties: Properties::EMPTY,
        payload: payload.as_bytes().into(),
    }
}

/// Opens a link to a broker that answers the CONNECT with `connack`.
async fn open(version: Version, connack: &[u8]) -> (Result<Link, OpenError>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let broker = async {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        let mut head = [0; 2];
        socket.read_exact(&mut head).await.expect("a CONNECT");
        let mut rest = vec![0; usize::from(head[1])];
        socket.read_exact(&mut rest).await.expect("a CONNECT");
        socket.write_all(connack).await.expect("a CONNACK");
        socket
    };
    let (link, socket) = tokio::join!(Link::open(address, config(version)), broker);
    (link.map(|(link, _)| link), socket)
}

async fn expect(socket: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    socket.read_exact(&mut got).await.expect("bytes");
    assert_eq!(got, bytes);
}

#[tokio::test]
async fn a_publish_is_answered_over_a_socket() {
    let (link, mut socket) = open(Version::V5, b"\x20\x03\x00\x00\x00").await;
    let mut link = link.expect("a link");
    let token = link.publish(message("hi", QoS::AtLeastOnce)).expect("room");
    let broker = async {
        expect(&mut socket, b"\x32\x08\x00\x01t\x00\x01\x00hi").await;
        // A reason byte without properties, split in two.
        socket.write_all(b"\x40\x03\x00").await.expect("written");
        tokio::task::yield_now().await;
        socket.write_all(b"\x01\x87").await.expect("written");
    };
    let (event, ()) = tokio::join!(link.next(), broker);
    let verdict = Verdict::Refused {
        reason: ReasonCode::NOT_AUTHORIZED,
        text: None,
    };
    assert_eq!(event, ClientEvent::Published { token, verdict });
    link.disconnect();
    let broker = async {
        expect(&mut socket, b"\xE0\x00").await;
        assert_eq!(socket.read(&mut [0]).await.expect("the end"), 0);
        drop(socket);
    };
    let (event, ()) = tokio::join!(link.next(), broker);
    assert_eq!(event, ClientEvent::Closed(Ending::Asked));
}

#[tokio::test]
async fn a_refused_client_is_told_why() {
    let (link, _socket) = open(Version::V3_1_1, b"\x20\x02\x00\x05").await;
    let error = link.expect_err("refused");
    assert_eq!(error.to_string(), "refused: not_authorized (0x87)");
}

#[tokio::test]
async fn a_cut_ends_what_is_in_flight_and_then_the_link() {
    let (link, socket) = open(Version::V3_1_1, b"\x20\x02\x00\x00").await;
    let mut link = link.expect("a link");
    let token = link.publish(message("hi", QoS::ExactlyOnce)).expect("room");
    drop(socket);
    let verdict = Verdict::LinkLost;
    assert_eq!(link.next().await, ClientEvent::Published { token, verdict });
    for _ in 0..2 {
        assert_eq!(link.next().await, ClientEvent::Closed(Ending::Lost));
    }
}

#[tokio::test]
async fn what_is_no_packet_ends_the_link_and_the_broker_is_told() {
    let (link, mut socket) = open(Version::V5, b"\x20\x03\x00\x00\x00\x00\x00").await;
    let mut link = link.expect("a link");
    let broker = async {
        expect(&mut socket, b"\xE0\x01\x81").await;
        drop(socket);
    };
    let (event, ()) = tokio::join!(link.next(), broker);
    let ClientEvent::Closed(ending) = event else {
        panic!("{event:?}")
    };
    let error = LostError::of(ending).expect("an error").to_string();
    assert!(
        error.starts_with("the broker broke the protocol: "),
        "{error}"
    );
}

#[tokio::test]
async fn nobody_there_is_told_as_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let error = Link::open(address, config(Version::V5))
        .await
        .expect_err("nobody");
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
}
