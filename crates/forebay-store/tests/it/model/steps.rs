//! What may be done to a store, at random.

use forebay_store::Place;
use proptest::prelude::*;

use super::NAMES;

#[derive(Clone, Debug)]
pub(super) enum Op {
    Create(u8),
    Drop(u8),
    Content(u16, u8),
    ContentOf(u8, u8),
    Append(u8, u16, u16, Place),
    SetFlag(u8, u8, u16, u16),
    Finish(u8, u8),
    FinishMissing(u8),
    Put(u8, u8, u8),
    Delete(u8, u8),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Commit(Vec<Op>),
    SaveFlag(u8, u8, u16, u16),
    Open(u8),
    Close(u8),
    Load(u8, Place),
    SetMax(u8, u32),
    Promote(u8, u8),
    Quarantine(u8, u8),
    Content(u8, u8),
    Submit,
    Poll(bool),
    Sync,
    Checkpoint,
    /// Everything is synced and the store is opened again.
    Restart,
    /// The process ends; what it had begun to write still gets to the disk.
    Kill,
    /// The machine ends; of the writes in flight any part gets to the disk.
    Crash,
    CrashIn(u8),
    FailReads(bool),
    /// Room for so many segments more.
    Capacity(u8),
    /// What is pending and what is not is looked at.
    Inspect(u8),
    /// Another opens the store for reading.
    Read,
}

pub(super) fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        4 => Just(Place::ByRule),
        1 => Just(Place::Inflight),
        1 => Just(Place::Queued),
    ]
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let queue = || 0..NAMES;
    prop_oneof![
        3 => queue().prop_map(Op::Create),
        1 => queue().prop_map(Op::Drop),
        8 => (0..300u16, any::<u8>()).prop_map(|(len, byte)| Op::Content(len, byte)),
        1 => (queue(), any::<u8>()).prop_map(|(q, m)| Op::ContentOf(q, m)),
        16 => (queue(), any::<u16>(), 0..5u16, place())
            .prop_map(|(q, flag, id, place)| Op::Append(q, flag, id, place)),
        4 => (queue(), any::<u8>(), any::<u16>(), 0..5u16)
            .prop_map(|(q, m, flag, id)| Op::SetFlag(q, m, flag, id)),
        8 => (queue(), any::<u8>()).prop_map(|(q, m)| Op::Finish(q, m)),
        1 => queue().prop_map(Op::FinishMissing),
        2 => (0..4u8, 0..6u8, any::<u8>()).prop_map(|(t, k, v)| Op::Put(t, k, v)),
        1 => (0..3u8, 0..6u8).prop_map(|(t, k)| Op::Delete(t, k)),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let queue = || 0..NAMES;
    prop_oneof![
        24 => prop::collection::vec(op(), 1..7).prop_map(Step::Commit),
        3 => (queue(), any::<u8>(), any::<u16>(), 0..5u16)
            .prop_map(|(q, m, flag, id)| Step::SaveFlag(q, m, flag, id)),
        5 => queue().prop_map(Step::Open),
        2 => queue().prop_map(Step::Close),
        7 => (queue(), place()).prop_map(|(q, place)| Step::Load(q, place)),
        3 => (queue(), 0..4u32).prop_map(|(q, max)| Step::SetMax(q, max)),
        6 => (queue(), any::<u8>()).prop_map(|(q, m)| Step::Promote(q, m)),
        2 => (queue(), any::<u8>()).prop_map(|(q, m)| Step::Quarantine(q, m)),
        3 => (queue(), any::<u8>()).prop_map(|(q, m)| Step::Content(q, m)),
        4 => Just(Step::Submit),
        6 => any::<bool>().prop_map(Step::Poll),
        2 => Just(Step::Sync),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Restart),
        1 => Just(Step::Kill),
        2 => Just(Step::Crash),
        2 => any::<u8>().prop_map(Step::CrashIn),
        2 => any::<bool>().prop_map(Step::FailReads),
        1 => (0..4u8).prop_map(Step::Capacity),
        1 => queue().prop_map(Step::Inspect),
        1 => Just(Step::Read),
    ]
}
