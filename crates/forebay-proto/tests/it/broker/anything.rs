//! Whatever clients send, in whatever order, and however late the disk is: no panic, bounded
//! outputs, and every packet that leaves is one its client can read.

mod event;
mod peer;

use bytes::BytesMut;
use forebay_proto::{Access, Config, ConnectionId, Limits, Version, encode};
use proptest::{collection::vec, prelude::ProptestConfig, proptest, sample::Index};
use std::collections::{BTreeMap, BTreeSet};

use crate::bed::Bed;
use event::{Event, event, met};
use peer::Peer;

#[derive(Default)]
struct World {
    peers: BTreeMap<ConnectionId, Peer>,
}

const LIMITS: fn() -> Limits = || Limits {
    max_connections: 6,
    max_sessions: 5,
    receive_maximum: 3,
    topic_alias_maximum: 2,
    max_inflight: 3,
    max_queued_messages: 6,
    max_unreleased_bytes: 300,
    max_subscriptions: 4,
    max_topic_levels: 4,
    max_retained: 2,
    max_early_bytes: 400,
    max_commit_bytes: 128,
    max_session_expiry_secs: 100_000,
    ..Limits::default()
};

impl World {
    fn send(&mut self, bed: &mut Bed, at: ConnectionId, bytes: &[u8]) {
        let Some(peer) = self.peers.get_mut(&at) else {
            return;
        };
        let mut buf = BytesMut::from(bytes);
        while bed.closed(at).is_none() {
            match peer.decoder.decode(&mut buf) {
                Ok(Some(packet)) => {
                    peer.said(&packet);
                    bed.send(at, packet);
                }
                Ok(None) => return,
                Err(error) => {
                    peer.version = error.version.unwrap_or(Version::V3_1_1);
                    bed.malformed(at, &error);
                    return;
                }
            }
        }
    }

    /// Judges what left.
    fn look(&mut self, bed: &mut Bed) {
        assert_eq!(bed.broker.outputs(), 0);
        let mut gone = BTreeSet::new();
        for (at, peer) in &mut self.peers {
            let packets = bed.take(*at);
            assert!(packets.len() < 200, "{} packets at once", packets.len());
            for packet in packets {
                peer.judge(&packet);
            }
            if bed.closed(*at).is_some() {
                gone.insert(*at);
            }
        }
        self.peers.retain(|at, _| !gone.contains(at));
        let stats = bed.broker.stats();
        // One that took its leave is forgotten before it is closed.
        assert!(stats.connections <= self.peers.len() as u64);
        assert_eq!(stats.sessions, bed.broker.sessions().count() as u64);
        assert!(stats.sessions <= 5 && stats.retained <= 6 && stats.subscriptions <= 20);
    }
}

fn run(events: Vec<Event>) {
    let mut bed = Bed::with(Config {
        limits: LIMITS(),
        access: Access::default(),
        instance: 7,
    });
    let mut world = World::default();
    bed.auto_sync = false;
    for event in events {
        let pick = |world: &World, at: Index| {
            let count = world.peers.len();
            (count > 0).then(|| *world.peers.keys().nth(at.index(count)).unwrap())
        };
        match event {
            Event::Open(version, packet) => {
                let at = bed.open();
                world.peers.insert(at, Peer::new(version));
                let mut bytes = Vec::new();
                if encode(&met(packet), version, &mut bytes).is_ok() {
                    world.send(&mut bed, at, &bytes);
                }
            }
            Event::Packet(at, packets, change) => {
                let Some(at) = pick(&world, at) else { continue };
                let version = world.peers[&at].version;
                let [old, new] = *packets;
                let packet = met(if version == Version::V5 { new } else { old });
                let mut bytes = Vec::new();
                if encode(&packet, version, &mut bytes).is_err() {
                    continue;
                }
                if let Some((at, byte)) = change {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                world.send(&mut bed, at, &bytes);
            }
            Event::Cut(at) => {
                let Some(at) = pick(&world, at) else { continue };
                bed.cut(at);
                world.peers.remove(&at);
            }
            Event::Pass(ms) => bed.advance(ms),
            Event::Disk(steps) => {
                for _ in 0..steps {
                    bed.disk_step();
                    world.look(&mut bed);
                }
            }
            Event::Full(full) => bed.broker.handle_storage_full(full),
            Event::Crash => {
                world.peers.clear();
                bed.crash();
            }
        }
        world.look(&mut bed);
    }
    bed.sync();
    world.look(&mut bed);
    for at in world.peers.keys() {
        bed.cut(*at);
    }
    bed.sync();
    // What the machine counts is what is on disk, and another start comes to the same.
    let stats = bed.broker.stats();
    assert_eq!(stats.connections, 0);
    assert_eq!(stats.queued, bed.stored_out() as u64);
    bed.crash();
    bed.sync();
    let again = bed.broker.stats();
    assert_eq!(
        (
            stats.sessions,
            stats.subscriptions,
            stats.retained,
            stats.queued
        ),
        (
            again.sessions,
            again.subscriptions,
            again.retained,
            again.queued
        )
    );
    // Sessions end in time, with all they had; then nothing waits for any time any more.
    bed.advance(100_001 * 1000);
    bed.sync();
    assert_eq!(bed.broker.sessions().count(), 0);
    assert_eq!(bed.stored_messages(), 0);
    assert_eq!(bed.broker.poll_timeout(), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_clients_send_harms_the_broker_or_another_client(
        events in vec(event(), 1..150),
    ) {
        run(events);
    }
}
