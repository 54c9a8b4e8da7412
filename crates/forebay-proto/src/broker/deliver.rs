//! A message on its way to its subscribers.

use alloc::vec::Vec;
use bytes::Bytes;

use crate::{
    broker::{
        Broker, DropReason, Op, Stored,
        commit::{ENTRY_BYTES, Effect},
        persist,
    },
    id::{ConnectionId, PacketId, Rowid, SessionId},
    message::Message,
    packet::{Packet, QoS, Version, encoded_len},
    session::{Direction, Handshake, Mark, Origin, Outcome},
    subscription::Match,
    time::Instant,
};

/// Where the content of a message is in the open commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Nowhere yet; it is stored with the first entry.
    New,
    /// An IN message of this session has it.
    Of(SessionId, Rowid),
    /// The last operation that names content named it.
    Named,
}

impl Broker {
    /// Hands `message` to everyone it reaches, and keeps it where it is retained. `stored` is the
    /// IN message that has its content already.
    pub(super) fn route(
        &mut self,
        origin: Origin,
        message: &Message,
        found: &[Match],
        stored: Option<(SessionId, Rowid)>,
        now: Instant,
    ) {
        let topic = message.topic();
        if message.retain() {
            let grows = !message.payload().is_empty() && !self.retained.contains(&topic);
            let full = self.retained.len() as u64 >= self.config.limits.max_retained;
            // A client's message was judged when it came.
            if origin == Origin::Broker && grows && full {
                self.stats.count_drop(DropReason::Full);
            } else {
                self.retain(&topic, message);
            }
        }
        let mut content = stored.map_or(Content::New, |(it, rowid)| Content::Of(it, rowid));
        for found in found {
            let mark = Mark {
                qos: message.qos().min(found.qos),
                // [MQTT-3.3.1-12], [MQTT-3.3.1-13]
                retain: message.retain() && found.retain_as_published,
                dup: false,
                origin,
                state: Handshake::Queued,
            };
            let note = persist::note(&found.identifiers);
            // Whoever released it had its PUBREC, so it is too late to refuse.
            if let Some((it, rowid)) = stored
                && self.ops_bytes > self.config.limits.max_message_commit_bytes
            {
                self.flush_commit();
                content = Content::Of(it, rowid);
            }
            self.deliver(found.session, message, mark, note, &mut content, now);
        }
    }

    /// Hands a retained message to one session.
    pub(super) fn deliver_retained(
        &mut self,
        session: SessionId,
        message: &Message,
        qos: QoS,
        identifier: Option<u32>,
        now: Instant,
    ) {
        let mark = Mark {
            qos: message.qos().min(qos),
            retain: true,
            dup: false,
            origin: Origin::Broker,
            state: Handshake::Queued,
        };
        let note = persist::note(identifier.as_slice());
        self.deliver(session, message, mark, note, &mut Content::New, now);
    }

    fn deliver(
        &mut self,
        session: SessionId,
        message: &Message,
        mark: Mark,
        note: Bytes,
        content: &mut Content,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        let live = it.connection.filter(|_| it.out.is_live());
        if let Some(connection) = live
            && (mark.qos == QoS::AtMostOnce || it.out.may_send_now())
        {
            match self.packet(connection, message, mark, None, &note, now) {
                Ok(packet) if mark.qos == QoS::AtMostOnce => {
                    self.after_subscribe(connection, packet, now);
                }
                Ok(packet) => self.send_now(
                    session, connection, packet, mark, note, message, content, now,
                ),
                Err(drop) => self.stats.count_drop(drop),
            }
        } else if mark.qos == QoS::AtMostOnce {
            self.stats.count_drop(DropReason::Offline);
        } else if mark.origin == Origin::Broker
            && it.out.pending() >= self.config.limits.max_queued_messages
        {
            // Nobody else is there to be refused: a client's message was judged when it came.
            self.stats.count_drop(DropReason::Full);
        } else {
            let Some(it) = self.sessions.get_mut(&session) else {
                return;
            };
            let rowid = it.out.take_rowid();
            it.out.enqueue();
            self.append(session, rowid, mark, None, note, message, content, now);
            if live.is_some() {
                self.promote.insert(session);
            }
        }
    }

    /// QoS 0 waits for nothing but the SUBACK it may be the answer to: the retained messages of a
    /// new subscription follow it.
    fn after_subscribe(&mut self, connection: ConnectionId, packet: Packet, now: Instant) {
        let retained = matches!(&packet, Packet::Publish(it) if it.retain);
        if retained {
            self.after_commit(Effect::Transmit(connection, packet), now);
        } else {
            self.run(Effect::Transmit(connection, packet), now);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one message in all its parts")]
    fn send_now(
        &mut self,
        session: SessionId,
        connection: ConnectionId,
        packet: Packet,
        mark: Mark,
        note: Bytes,
        message: &Message,
        content: &mut Content,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let rowid = it.out.take_rowid();
        let (id, mark) = it.out.send(rowid, mark);
        self.append(session, rowid, mark, Some(id), note, message, content, now);
        self.after_commit(Effect::Transmit(connection, with_id(packet, id)), now);
    }

    #[expect(clippy::too_many_arguments, reason = "one message in all its parts")]
    fn append(
        &mut self,
        session: SessionId,
        rowid: Rowid,
        mark: Mark,
        packet_id: Option<PacketId>,
        note: Bytes,
        message: &Message,
        content: &mut Content,
        now: Instant,
    ) {
        match core::mem::replace(content, Content::Named) {
            Content::New => self.op(Op::Content {
                time: now,
                bytes: message.encoded().clone(),
            }),
            Content::Of(session, rowid) => self.op(Op::ContentOf { session, rowid }),
            Content::Named => {}
        }
        let direction = Direction::Out;
        self.op(Op::Append {
            session,
            direction,
            rowid,
            mark,
            packet_id,
            note,
        });
    }

    /// Takes messages that were queued, in order, to be sent now.
    pub fn handle_promoted(
        &mut self,
        session: SessionId,
        epoch: u64,
        stored: Vec<Stored>,
        now: Instant,
    ) {
        if self
            .sessions
            .get(&session)
            .is_some_and(|it| it.epoch == epoch)
        {
            self.deliver_promoted(session, stored, now);
            self.cut_large_commit();
        }
    }

    pub(super) fn deliver_promoted(
        &mut self,
        session: SessionId,
        stored: Vec<Stored>,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let Some(connection) = it.connection else {
            return;
        };
        it.out.promoted(stored.len());
        self.promote.insert(session);
        for it in stored {
            self.deliver_stored(session, connection, &it, now);
        }
    }

    /// Marks a queued message as sent, and sends it once that is durable.
    ///
    /// Spec: [MQTT-4.3.2-2], [MQTT-4.3.3-2]
    fn deliver_stored(
        &mut self,
        session: SessionId,
        connection: ConnectionId,
        stored: &Stored,
        now: Instant,
    ) {
        let Some(message) = &stored.message else {
            // It stays on disk, named by the store; those behind it go on.
            self.stats.count_drop(DropReason::Unreadable);
            return;
        };
        let packet = if self.may_receive(session, message.topic().as_str()) {
            self.packet(connection, message, stored.mark, None, &stored.note, now)
        } else {
            Err(DropReason::Denied)
        };
        match packet {
            Ok(packet) => {
                let Some(it) = self.sessions.get_mut(&session) else {
                    return;
                };
                let (id, mark) = it.out.send(stored.rowid, stored.mark);
                self.op(Op::SetMark {
                    session,
                    direction: Direction::Out,
                    rowid: stored.rowid,
                    mark,
                    packet_id: Some(id),
                });
                self.after_commit(Effect::Transmit(connection, with_id(packet, id)), now);
            }
            // The next connection has it.
            Err(DropReason::Offline) => {}
            Err(drop) => {
                self.stats.count_drop(drop);
                self.finish(session, stored.rowid, drop.outcome());
            }
        }
    }

    /// The PUBLISH that carries `message` to `connection`. With an identifier it is sent again,
    /// whatever its expiry.
    pub(super) fn packet(
        &self,
        connection: ConnectionId,
        message: &Message,
        mark: Mark,
        id: Option<PacketId>,
        note: &Bytes,
        now: Instant,
    ) -> Result<Packet, DropReason> {
        if id.is_none() && message.is_expired(now) {
            return Err(DropReason::Expired);
        }
        let Some(peer) = self.connections.get(&connection) else {
            return Err(DropReason::Offline);
        };
        let v5 = peer.version == Version::V5;
        let packet = Packet::Publish(persist::publish(message, mark, id, v5.then_some(note), now));
        let fits = peer.max_packet_size == u32::MAX
            || encoded_len(&packet, peer.version) + id_len(mark, id)
                <= peer.max_packet_size as usize;
        if fits {
            Ok(packet)
        } else {
            Err(DropReason::TooLarge)
        }
    }

    pub(super) fn finish(&mut self, session: SessionId, rowid: Rowid, outcome: Outcome) {
        let direction = Direction::Out;
        self.op(Op::Finish {
            session,
            direction,
            rowid,
            outcome,
        });
    }

    /// A QoS 2 message was released: to its subscribers and out of the IN queue, in one commit.
    pub(super) fn release(
        &mut self,
        session: SessionId,
        rowid: Rowid,
        message: Option<&Message>,
        now: Instant,
    ) {
        match message {
            Some(message) => {
                let stored = Some((session, rowid));
                let found = self.receivers(message.topic().as_str(), Some(session));
                self.route(Origin::Client, message, &found, stored, now);
                let outcome = Outcome::Acked;
                self.op(Op::Finish {
                    session,
                    direction: Direction::In,
                    rowid,
                    outcome,
                });
            }
            // What could not be read stays in the store, pending, for its repair.
            None => self.stats.count_drop(DropReason::Unreadable),
        }
    }

    /// Whether a queue that the message goes to is at its bound.
    pub(super) fn a_queue_is_full(&self, found: &[Match]) -> bool {
        let bound = self.config.limits.max_queued_messages;
        found.iter().any(|it| {
            let session = self.sessions.get(&it.session);
            it.qos != QoS::AtMostOnce && session.is_some_and(|it| it.out.pending() >= bound)
        })
    }
}

/// About how large the commit of a message to all it reaches is.
pub(super) fn commit_bytes(message: &Message, found: &[Match]) -> usize {
    let encoded = message.encoded().len();
    let retained = if message.retain() { encoded } else { 0 };
    let entries = found
        .iter()
        .map(|it| ENTRY_BYTES + size_of::<u32>() * it.identifiers.len());
    encoded + retained + entries.sum::<usize>()
}

fn with_id(mut packet: Packet, id: PacketId) -> Packet {
    if let Packet::Publish(publish) = &mut packet {
        publish.packet_id = Some(id);
    }
    packet
}

/// Bytes that a packet identifier still to come will take.
fn id_len(mark: Mark, id: Option<PacketId>) -> usize {
    if mark.qos == QoS::AtMostOnce || id.is_some() {
        0
    } else {
        2
    }
}
