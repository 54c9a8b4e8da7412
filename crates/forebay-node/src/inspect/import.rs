//! Messages from elsewhere into the queues of a store that no broker runs on.
//!
//! Owns what makes them deliverable: a session, both its queues, and a step of the handshake that
//! a broker goes on from.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use bytes::Bytes;
use forebay_proto::{
    Direction, Instant, Message, Parts, QoS, Table, Text, TopicName, message_properties,
    session_row,
};
use forebay_store::{
    Batch, CommitError, Direction as Way, List, Origin, OsDisk, Place, Poisoned, QueueId, State,
    Store, TableId, UserFlag, now_ns,
};
use thiserror::Error;

use super::{error::InspectError, look};
use crate::kept;

/// Bytes of one transaction, about.
const BATCH: usize = 1 << 20;
/// A session that is made lives until its client ends it.
const FOREVER: u32 = u32::MAX;

/// A message to be put into a queue.
#[derive(Clone, Debug, Default)]
pub struct ImportRow {
    /// The name of the queue, `<client id>-IN` or `<client id>-OUT`.
    pub queue: Vec<u8>,
    /// When it came, nanoseconds since 1970; now if it is not said.
    pub time: Option<u64>,
    /// Its flag: QoS, retain, dup, origin and the step of the handshake count.
    pub flag: u16,
    /// Its packet identifier.
    pub packet_id: Option<u16>,
    /// The identifiers of the subscriptions that it matched.
    pub subscription_identifiers: Vec<u32>,
    /// Topic Name.
    pub topic: String,
    /// QoS as published.
    pub published_qos: u8,
    /// RETAIN as published.
    pub published_retain: bool,
    /// When it loses its meaning, nanoseconds since 1970.
    pub expires_at: Option<u64>,
    /// Its properties as they are sent.
    pub properties: Vec<u8>,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Why a message can't be put into a queue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rejected {
    /// No session has a queue of this name.
    #[error("the queue is named neither <client id>-IN nor <client id>-OUT")]
    NoSession,
    /// MQTT doesn't allow the client identifier.
    #[error("the client identifier is none that MQTT allows")]
    ClientId,
    /// MQTT doesn't allow the topic.
    #[error("the topic is none that MQTT allows")]
    Topic,
    /// MQTT doesn't allow the properties.
    #[error("the properties are none that a message may have")]
    Properties,
    /// Queues hold messages of QoS 1 and 2, and IN queues of QoS 2 alone.
    #[error("no queue of this kind holds messages of QoS {0}")]
    QoS(u8),
    /// What a client sent is known by its packet identifier.
    #[error("a message of an IN queue needs a packet identifier")]
    NoPacketId,
    /// Subscription identifiers are between 1 and 268,435,455.
    #[error("a subscription identifier is out of range")]
    SubscriptionIdentifier,
}

/// Why an import was not finished. What was committed before stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The message can't be put into its queue: correct it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The store doesn't take it: make room, or the message smaller.
    #[error("the store took no more")]
    Commit(#[from] CommitError),
    /// A write failed: look at the disk.
    #[error("a write failed")]
    Poisoned(#[from] Poisoned),
}

/// What was imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Messages that are pending now.
    pub messages: u64,
    /// Those of them whose delivery begins anew, since their packet identifier is in use or their
    /// step is none that a delivery can go on from.
    pub begun_anew: u64,
    /// Messages that were there already: a client names what it sent by packet identifier.
    pub known: u64,
    /// Queues that were made.
    pub queues: u64,
    /// Sessions that were made.
    pub sessions: u64,
}

/// A store that messages are put into.
pub struct Import {
    store: Store<OsDisk>,
    batch: Batch,
    batch_len: usize,
    targets: BTreeMap<Vec<u8>, Target>,
    imported: Imported,
}

struct Target {
    queue: QueueId,
    direction: Direction,
    packet_ids: BTreeSet<u16>,
}

impl Import {
    /// Takes the store in `dir` for this process alone, and makes it where there is none.
    ///
    /// # Errors
    /// When a broker has it, or it can't be opened.
    pub fn open(dir: &Path) -> Result<Self, InspectError> {
        let store = look::own(dir, true)?;
        Ok(Self {
            store,
            batch: Batch::new(),
            batch_len: 0,
            targets: BTreeMap::new(),
            imported: Imported::default(),
        })
    }

    /// Looks whether a message could be put into its queue, as far as that can be told from it.
    ///
    /// # Errors
    /// Why not.
    pub fn judge(row: &ImportRow) -> Result<(), Rejected> {
        let (_, direction) = owner(&row.queue)?;
        flag(row, direction)?;
        note(row)?;
        content(row).map(|_| ())
    }

    /// Puts a message behind those that its queue has. Durable after [`Import::finish`].
    ///
    /// # Errors
    /// When it can't be, or what came before it can't be written.
    pub fn put(&mut self, row: &ImportRow) -> Result<(), ImportError> {
        let (_, direction) = owner(&row.queue)?;
        let (mut flag, mut packet_id) = flag(row, direction)?;
        let (note, content) = (note(row)?, content(row)?);
        let store_len = content.len() + note.len() + 64;
        if !self.targets.contains_key(&row.queue) {
            let target = self.target(&row.queue, direction)?;
            self.targets.insert(row.queue.clone(), target);
        }
        let Some(target) = self.targets.get_mut(&row.queue) else {
            return Err(Rejected::NoSession.into());
        };
        debug_assert_eq!(target.direction, direction);
        if packet_id != 0 && !target.packet_ids.insert(packet_id) {
            if direction == Direction::In {
                // That is how its client names it: it is the same one.
                self.imported.known += 1;
                return Ok(());
            }
            (flag, packet_id) = (anew(flag), 0);
        }
        if flag.bits() >> 12 != row.flag >> 12 {
            self.imported.begun_anew += 1;
        }
        let time = row.time.unwrap_or_else(now_ns);
        self.batch.content(time, content).append(
            target.queue,
            flag,
            packet_id,
            note,
            Place::Queued,
        );
        self.imported.messages += 1;
        self.batch_len += store_len;
        if self.batch_len >= BATCH {
            self.commit()?;
        }
        Ok(())
    }

    /// Waits until everything is on disk, and says what was done.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn finish(mut self) -> Result<Imported, ImportError> {
        self.commit()?;
        self.store.sync()?;
        Ok(self.imported)
    }

    fn commit(&mut self) -> Result<(), ImportError> {
        if !self.batch.is_empty() {
            self.store.commit(&self.batch)?;
            self.store.submit()?;
            // As much is on its way as the disk takes at once.
            self.store.poll(false)?;
            if self.store.staged_bytes() > 8 * BATCH {
                self.store.sync()?;
            }
        }
        self.batch.clear();
        self.batch_len = 0;
        Ok(())
    }

    /// The queue of a name, made with its session where it is missing.
    fn target(&mut self, name: &[u8], direction: Direction) -> Result<Target, ImportError> {
        // What is missing is made in a transaction of its own, before the first message.
        self.commit()?;
        let (client_id, _) = owner(name)?;
        let client_id = client_id.to_bytes();
        let sessions = TableId(Table::Sessions as u8);
        let mut batch = Batch::new();
        for direction in [Direction::In, Direction::Out] {
            let name = kept::queue_name(&client_id, direction);
            if self.store.queue(&name).is_none() {
                batch.create_queue(self.store.next_queue_id(), name);
                self.imported.queues += 1;
            }
        }
        if self.store.get(sessions, &client_id).is_none() {
            let now = Instant::from_millis(now_ns() / 1_000_000);
            batch.put(sessions, client_id, session_row(FOREVER, Some(now)));
            self.imported.sessions += 1;
        }
        if !batch.is_empty() {
            self.store.commit(&batch)?;
        }
        let Some(queue) = self.store.queue(name) else {
            return Err(Rejected::NoSession.into());
        };
        // What can't be loaded keeps its place; identifiers of others are known.
        let _ = self.store.load(queue, Place::Queued);
        let with_ids = self.store.list(queue, List::Queued, ..);
        let ids = with_ids.filter_map(|rowid| self.store.message(queue, rowid));
        let packet_ids = ids.map(|it| it.packet_id).filter(|&id| id != 0).collect();
        self.store.close_queue(queue);
        Ok(Target {
            queue,
            direction,
            packet_ids,
        })
    }
}

fn owner(name: &[u8]) -> Result<(Text, Direction), Rejected> {
    let (client_id, direction) = kept::owner(name).ok_or(Rejected::NoSession)?;
    let text = Text::new(Bytes::copy_from_slice(client_id)).ok_or(Rejected::ClientId)?;
    if text.is_empty() {
        return Err(Rejected::ClientId);
    }
    Ok((text, direction))
}

/// The flag that a broker goes on from, and the packet identifier with it.
fn flag(row: &ImportRow, direction: Direction) -> Result<(UserFlag, u16), Rejected> {
    let given = UserFlag::from_bits(row.flag);
    let origin = match given.origin() {
        Origin::None => Origin::Client,
        origin @ (Origin::Client | Origin::Broker) => origin,
    };
    let flag = UserFlag::default()
        .with_pending(true)
        .with_qos(given.qos())
        .with_retain(given.retain())
        .with_dup(given.dup())
        .with_origin(origin)
        .with_state(given.state());
    let packet_id = row.packet_id.unwrap_or(0);
    match (direction, given.qos(), given.state()) {
        (Direction::In, 2, _) if packet_id == 0 => Err(Rejected::NoPacketId),
        (Direction::In, 2, _) => {
            let flag = flag
                .with_direction(Way::In)
                .with_state(State::WaitForPubrel);
            Ok((flag, packet_id))
        }
        (Direction::Out, 1, State::WaitForPuback)
        | (Direction::Out, 2, State::WaitForPubrec | State::WaitForPubcomp)
            if packet_id != 0 =>
        {
            Ok((flag.with_direction(Way::Out), packet_id))
        }
        (Direction::Out, 1 | 2, _) => Ok((anew(flag.with_direction(Way::Out)), 0)),
        (_, qos, _) => Err(Rejected::QoS(qos)),
    }
}

/// The flag of a message that was never sent.
fn anew(flag: UserFlag) -> UserFlag {
    flag.with_state(State::Queued).with_dup(false)
}

fn note(row: &ImportRow) -> Result<Vec<u8>, Rejected> {
    let ids = &row.subscription_identifiers;
    if ids.iter().any(|id| !(1..=268_435_455).contains(id)) {
        return Err(Rejected::SubscriptionIdentifier);
    }
    Ok(ids.iter().flat_map(|id| id.to_be_bytes()).collect())
}

fn content(row: &ImportRow) -> Result<Bytes, Rejected> {
    let topic = Text::new(Bytes::copy_from_slice(row.topic.as_bytes()));
    let topic = topic.and_then(TopicName::new).ok_or(Rejected::Topic)?;
    let qos = QoS::new(row.published_qos).ok_or(Rejected::QoS(row.published_qos))?;
    let properties = Bytes::copy_from_slice(&row.properties);
    let properties = message_properties(properties).ok_or(Rejected::Properties)?;
    let message = Message::new(&Parts {
        topic: topic.text(),
        qos,
        retain: row.published_retain,
        expires_at: row
            .expires_at
            .map(|at| Instant::from_millis(at / 1_000_000)),
        properties: &properties,
        payload: &Bytes::copy_from_slice(&row.payload),
    });
    Ok(message.encoded().clone())
}
