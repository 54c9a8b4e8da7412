//! What a batch does to the model.

use std::collections::BTreeMap;

use forebay_store::{Batch, CommitError, List, Outcome, Place, QueueId, UserFlag};

use super::{
    Run,
    kept::{Fifo, Kept, Message, View, name, table},
    steps::Op,
};

/// Why a batch must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Exists,
    NoContent,
    NotPending,
    Reserved,
}

impl Refusal {
    pub(super) fn of(error: &CommitError) -> Option<Self> {
        use CommitError::{NoContent, NotPending, QueueExists, ReservedTable};
        let is = |known, refusal| if known { Some(refusal) } else { None };
        is(matches!(error, QueueExists { .. }), Self::Exists)
            .or(is(matches!(error, NoContent), Self::NoContent))
            .or(is(matches!(error, NotPending { .. }), Self::NotPending))
            .or(is(matches!(error, ReservedTable { .. }), Self::Reserved))
    }
}

impl Run {
    /// Applies one operation to a copy of the model; gives the rowid of an append.
    pub(super) fn apply(
        &mut self,
        op: &Op,
        batch: &mut Batch,
        kept: &mut Kept,
        views: &mut BTreeMap<QueueId, View>,
        content: &mut Option<(u64, Vec<u8>)>,
    ) -> Result<Option<u64>, Refusal> {
        match *op {
            Op::Create(q) => {
                let id = self.store.next_queue_id();
                batch.create_queue(id, name(q));
                if kept.queue(q).is_some() {
                    return Err(Refusal::Exists);
                }
                let fifo = Fifo {
                    name: name(q),
                    next: 1,
                    messages: BTreeMap::new(),
                };
                assert!(
                    kept.queues.insert(id, fifo).is_none(),
                    "a number is used again"
                );
            }
            Op::Drop(q) => {
                if let Some(queue) = kept.queue(q) {
                    batch.drop_queue(queue);
                    kept.queues.remove(&queue);
                    views.remove(&queue);
                }
            }
            Op::Content(len, byte) => {
                let bytes = vec![byte; usize::from(len)];
                batch.content(u64::from(byte), bytes.clone());
                *content = Some((u64::from(byte), bytes));
            }
            Op::ContentOf(q, m) => {
                let queue = kept.queue(q);
                let found = queue.and_then(|queue| Some((queue, kept.message(queue, m)?)));
                if let Some((queue, rowid)) = found {
                    batch.content_of(queue, rowid);
                    *content = Some(kept.queues[&queue].messages[&rowid].content.clone());
                }
            }
            Op::Append(q, flag, packet_id, place) => {
                let Some(queue) = kept.queue(q) else {
                    return Ok(None);
                };
                let note = vec![b'n'; usize::from(flag % 8)];
                let flag = UserFlag::from_bits(flag);
                batch.append(queue, flag, packet_id, note.clone(), place);
                let content = content.clone().ok_or(Refusal::NoContent)?;
                let fifo = kept.queues.get_mut(&queue).expect("it is there");
                let view = views.entry(queue).or_default();
                let rowid = fifo.next;
                let by_rule = view.has_room() && fifo.messages.len() == view.inflight.len();
                let list = match place {
                    Place::ByRule if by_rule => List::Inflight,
                    Place::Inflight => List::Inflight,
                    Place::ByRule | Place::Queued => List::Queued,
                };
                let flag = flag.with_pending(true);
                let message = Message {
                    flag,
                    packet_id,
                    note,
                    content,
                };
                fifo.messages.insert(rowid, message);
                fifo.next += 1;
                if view.open {
                    view.put(list, rowid);
                }
                return Ok(Some(rowid));
            }
            Op::SetFlag(q, m, flag, packet_id) => {
                let queue = kept.queue(q);
                let found = queue.and_then(|queue| Some((queue, kept.message(queue, m)?)));
                if let Some((queue, rowid)) = found {
                    let flag = UserFlag::from_bits(flag);
                    batch.set_flag(queue, rowid, flag, packet_id);
                    let messages = kept.queues.get_mut(&queue).map(|it| &mut it.messages);
                    let message = messages.and_then(|it| it.get_mut(&rowid));
                    let message = message.expect("it is pending");
                    (message.flag, message.packet_id) = (flag.with_pending(true), packet_id);
                }
            }
            Op::Finish(q, m) => {
                let queue = kept.queue(q);
                let found = queue.and_then(|queue| Some((queue, kept.message(queue, m)?)));
                if let Some((queue, rowid)) = found {
                    batch.finish(queue, rowid, Outcome::dropped(m));
                    let fifo = kept.queues.get_mut(&queue).expect("it is there");
                    fifo.messages.remove(&rowid);
                    views.entry(queue).or_default().remove(rowid);
                }
            }
            Op::FinishMissing(q) => {
                if let Some(queue) = kept.queue(q) {
                    batch.finish(queue, kept.queues[&queue].next, Outcome::ACKED);
                    return Err(Refusal::NotPending);
                }
            }
            Op::Put(number, key, value) => {
                let (key, value) = (vec![key], vec![value; usize::from(value)]);
                batch.put(table(number), key.clone(), value.clone());
                if number == 3 {
                    return Err(Refusal::Reserved);
                }
                kept.rows.insert((number, key), value);
            }
            Op::Delete(number, key) => {
                batch.delete(table(number), vec![key]);
                kept.rows.remove(&(number, vec![key]));
            }
        }
        Ok(None)
    }
}
