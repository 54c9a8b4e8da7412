//! Metrics and health over HTTP.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use tempfile::tempdir;

use crate::{
    client::Client,
    server::{Server, config, real},
};

/// The answer to a GET, head and body.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a metric, with its labels in the name.
pub(crate) fn value(address: SocketAddr, name: &str) -> u64 {
    let answer = get(address, "/metrics");
    let line = answer
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in {answer}"))
        .parse()
        .unwrap()
}

#[test]
fn what_happens_shows_in_the_metrics() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    let server = Server::start_on(real(dir.path()), config);
    let metrics = server.ready.metrics.unwrap();
    assert!(get(metrics, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(metrics, "/readyz").starts_with("HTTP/1.1 200"));
    assert!(get(metrics, "/metrics").contains("openmetrics-text"));

    let (mut client, _) = Client::connect(server.address(), "c", false);
    client.subscribe("t", 1);
    client.publish_acked("other", 1, b"x");
    assert_eq!(value(metrics, "forebay_broker_connections"), 1);
    assert_eq!(value(metrics, "forebay_broker_sessions"), 1);
    assert_eq!(value(metrics, "forebay_broker_subscriptions"), 1);
    assert_eq!(
        value(metrics, "forebay_broker_messages_received_total{qos=\"1\"}"),
        1
    );
    assert_eq!(
        value(
            metrics,
            "forebay_broker_acknowledgements_sent_total{packet=\"puback\"}"
        ),
        1
    );
    assert!(value(metrics, "forebay_store_commits_total") > 0);
    assert!(value(metrics, "forebay_store_written_bytes_total") > 0);
    server.stop();
}

#[test]
fn who_connects_to_the_metrics_and_says_nothing_keeps_nobody_out_for_long() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    config.limits.metrics_connections = 4;
    config.limits.metrics_idle = Duration::from_millis(200);
    let server = Server::start_on(real(dir.path()), config);
    let metrics = server.ready.metrics.unwrap();
    let mut silent = Vec::new();
    for begun in ["", "GET /metr", "GET /metrics HTTP/1.1\r\nHost:"].repeat(4) {
        let mut stream = TcpStream::connect(metrics).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        silent.push(stream);
    }
    assert!(get(metrics, "/healthz").starts_with("HTTP/1.1 200"));
    for mut stream in silent {
        match stream.read_to_end(&mut Vec::new()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    server.stop();
}
