//! A connection that subscribes.
//!
//! Owns the acknowledgements of a subscriber: as many at once as messages came at once.

use std::{net::SocketAddr, rc::Rc};

use forebay_proto::{Packet, PacketId, Properties, Publish, QoS, Subscribe, SubscriptionOptions};

use super::{
    BenchError, Load, Shared,
    connection::{Connection, Login, text},
    judge::Judge,
};

/// The client identifier of subscriber `index`.
pub(super) fn name(run: &str, index: usize) -> String {
    format!("{run}-s{index}")
}

/// Connects subscriber `index` and subscribes.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else comes ends the run"
)]
pub(super) async fn open(
    address: SocketAddr,
    load: Load,
    run: String,
    index: usize,
) -> Result<Connection, BenchError> {
    let mut login = Login::passing(name(&run, index), load.version);
    if load.persistent {
        // MQTT 5 begins a session anew and keeps it; below, the two exclude each other.
        login.keep = true;
        login.clean = load.version == super::Version::V5;
    }
    let mut connection = Connection::open(address, &login).await?;
    let options = SubscriptionOptions {
        qos: load.qos,
        ..SubscriptionOptions::default()
    };
    let topic = super::topic(&run, Judge::topic_of(&load, index));
    let Some(packet_id) = PacketId::new(1) else {
        return Ok(connection);
    };
    connection.push(&Packet::Subscribe(Subscribe {
        packet_id,
        properties: Properties::EMPTY,
        filters: vec![(text(&topic), options)],
    }))?;
    match connection.answer().await? {
        Packet::SubAck(suback) => match suback.reasons.iter().find(|reason| reason.is_error()) {
            Some(reason) => Err(connection.refused(*reason)),
            None => Ok(connection),
        },
        other => Err(connection.unexpected(&other)),
    }
}

/// Receives until it is aborted.
pub(super) async fn run(shared: Rc<Shared>, index: usize, mut connection: Connection) {
    loop {
        let received = match connection.wait().await {
            Ok(()) => receive(&shared, index, &mut connection),
            Err(error) => Err(error),
        };
        if let Err(error) = received {
            return shared.fail(error);
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else comes ends the run"
)]
fn receive(shared: &Shared, index: usize, connection: &mut Connection) -> Result<(), BenchError> {
    let now = shared.now();
    let mut last = None;
    let mut judge = shared.judge.borrow_mut();
    while let Some(packet) = connection.packet()? {
        match packet {
            Packet::Publish(publish) => {
                acknowledge(connection, &publish)?;
                let publisher = judge.arrived(index, &publish.payload, now);
                if publisher != last {
                    wake(shared, last);
                    last = publisher;
                }
            }
            Packet::PubRel(ack) => connection.acknowledge(Packet::PubComp, ack.packet_id)?,
            other => return Err(connection.unexpected(&other)),
        }
    }
    let complete = judge.received() >= judge.expected();
    drop(judge);
    if last.is_some() {
        shared.last_message.set(now);
        wake(shared, last);
        if complete {
            shared.news.notify_one();
        }
    }
    connection.flush()
}

fn acknowledge(connection: &mut Connection, publish: &Publish) -> Result<(), BenchError> {
    match (publish.qos, publish.packet_id) {
        (QoS::AtLeastOnce, Some(id)) => connection.acknowledge(Packet::PubAck, id),
        (QoS::ExactlyOnce, Some(id)) => connection.acknowledge(Packet::PubRec, id),
        _ => Ok(()),
    }
}

/// Tells a publisher of QoS 0 that its messages are read.
fn wake(shared: &Shared, publisher: Option<usize>) {
    if shared.load.qos == QoS::AtMostOnce
        && let Some(read) = publisher.and_then(|publisher| shared.read.get(publisher))
    {
        read.notify_one();
    }
}
