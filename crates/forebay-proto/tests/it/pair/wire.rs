//! What is true of the packets on the wire, whatever is cut or crashes.
//!
//! Owns the observer of both directions: acknowledgements in order, no more in flight than was
//! granted, DUP and the same identifier exactly on what is sent again.

use forebay_proto::{ConnectionId, Packet, PacketId, Publish, QoS};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A QoS 1 or 2 message in an exchange, as its receiver sees it.
struct Exchange {
    payload: Vec<u8>,
    /// The last connection it was seen on.
    link: ConnectionId,
    /// Its last acknowledgement has reached the sender.
    over: bool,
}

/// One direction of one client's messages.
#[derive(Default)]
struct Flow {
    exchanges: BTreeMap<PacketId, Exchange>,
    /// What the receiver owes on this connection: PUBACK or PUBREC, and PUBCOMP.
    owed: VecDeque<PacketId>,
    owed_completions: VecDeque<PacketId>,
    /// How often each message was begun, and how often that could give rise to a new message.
    begun: BTreeMap<Vec<u8>, u32>,
    arrived: BTreeMap<Vec<u8>, u32>,
    /// Messages sent on this connection that are not answered to the end.
    open: BTreeSet<PacketId>,
}

impl Flow {
    fn session_lost(&mut self) {
        self.exchanges.clear();
    }

    fn connected(&mut self) {
        self.owed.clear();
        self.owed_completions.clear();
        self.open.clear();
    }

    /// A PUBLISH reached its receiver; `is_late` where the sender has given the connection up.
    fn publish(&mut self, publish: &Publish, link: ConnectionId, is_late: bool) {
        let Some(id) = publish.packet_id else { return };
        let payload = publish.payload.to_vec();
        let name = String::from_utf8_lossy(&publish.payload);
        if !is_late {
            self.owed.push_back(id);
            self.open.insert(id);
        }
        let arrived = self.arrived.entry(payload.clone()).or_default();
        *arrived += u32::from(publish.qos == QoS::AtLeastOnce);
        let known = self.exchanges.get_mut(&id);
        if let Some(known) = known.filter(|it| !it.over || it.payload == payload && publish.dup) {
            assert_eq!(known.payload, payload, "{id:?} is in use");
            assert!(publish.dup, "{name} was sent again without DUP");
            assert_ne!(known.link, link, "{name} came twice on one connection");
            (known.link, known.over) = (link, false);
            return;
        }
        let qos_2 = publish.qos == QoS::ExactlyOnce;
        *arrived += u32::from(qos_2);
        let mut others = self.exchanges.values();
        assert!(
            !qos_2 || !others.any(|it| it.payload == payload && !it.over),
            "{name} was sent again under another identifier"
        );
        *self.begun.entry(payload.clone()).or_default() += 1;
        let over = false;
        self.exchanges.insert(
            id,
            Exchange {
                payload,
                link,
                over,
            },
        );
    }

    /// PUBACK or PUBREC reached the sender.
    fn acknowledge(&mut self, id: PacketId, ends: bool, is_late: bool) {
        if !is_late {
            assert_eq!(self.owed.pop_front(), Some(id), "out of order");
        }
        if ends {
            self.end(id, is_late);
        }
    }

    fn release(&mut self, id: PacketId, is_late: bool) {
        if !is_late {
            self.owed_completions.push_back(id);
        }
    }

    fn complete(&mut self, id: PacketId, is_late: bool) {
        if !is_late {
            assert_eq!(self.owed_completions.pop_front(), Some(id), "out of order");
        }
        self.end(id, is_late);
    }

    fn end(&mut self, id: PacketId, is_late: bool) {
        if !is_late {
            self.open.remove(&id);
        }
        if let Some(it) = self.exchanges.get_mut(&id) {
            it.over = true;
        }
    }
}

/// The observer of every connection.
pub(super) struct Wire {
    up: Vec<Flow>,
    down: Vec<Flow>,
}

impl Wire {
    pub(super) fn new(ends: usize) -> Self {
        let flows = || (0..ends).map(|_| Flow::default()).collect();
        Self {
            up: flows(),
            down: flows(),
        }
    }

    pub(super) fn connected(&mut self, end: usize) {
        self.up[end].connected();
        self.down[end].connected();
    }

    /// A packet reached the broker, which granted `quota` messages in flight.
    pub(super) fn reached_broker(
        &mut self,
        end: usize,
        link: ConnectionId,
        packet: &Packet,
        quota: Option<u16>,
        is_late: bool,
    ) {
        let (up, down) = (&mut self.up[end], &mut self.down[end]);
        match packet {
            Packet::Publish(it) => {
                up.publish(it, link, is_late);
                let open = up.open.len();
                assert!(
                    quota.is_none_or(|it| open <= usize::from(it)),
                    "{open} in flight of {quota:?}"
                );
            }
            Packet::PubRel(it) => up.release(it.packet_id, is_late),
            Packet::PubAck(it) => down.acknowledge(it.packet_id, true, is_late),
            Packet::PubRec(it) => down.acknowledge(it.packet_id, false, is_late),
            Packet::PubComp(it) => down.complete(it.packet_id, is_late),
            _ => {}
        }
    }

    /// A packet reached a client that granted `quota` messages in flight.
    pub(super) fn reached_client(
        &mut self,
        end: usize,
        link: ConnectionId,
        packet: &Packet,
        quota: u16,
    ) {
        let (up, down) = (&mut self.up[end], &mut self.down[end]);
        match packet {
            Packet::Publish(it) => {
                down.publish(it, link, false);
                let open = down.open.len();
                assert!(open <= usize::from(quota), "{open} in flight of {quota}");
                self.is_not_made_up(end, &it.payload);
            }
            Packet::ConnAck(it) if !it.session_present => {
                up.session_lost();
                down.session_lost();
            }
            Packet::PubRel(it) => down.release(it.packet_id, false),
            Packet::PubAck(it) => up.acknowledge(it.packet_id, true, false),
            Packet::PubRec(it) => up.acknowledge(it.packet_id, false, false),
            Packet::PubComp(it) => up.complete(it.packet_id, false),
            _ => {}
        }
    }

    /// A message is begun as often as it came in, at most.
    fn is_not_made_up(&self, end: usize, payload: &[u8]) {
        let count = |counts: &BTreeMap<Vec<u8>, u32>| counts.get(payload).copied().unwrap_or(0);
        let arrived: u32 = self.up.iter().map(|it| count(&it.arrived)).sum();
        let begun = count(&self.down[end].begun);
        let name = String::from_utf8_lossy(payload);
        assert!(
            begun <= arrived,
            "{name} came in {arrived} times and was begun {begun} times"
        );
    }
}
