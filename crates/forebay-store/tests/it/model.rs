//! The queues of a store beside a model of maps and lists, in random steps with faults, restarts
//! and crashes, compared after every step (queue claims 1 to 12, 20, 21, 22).
//!
//! A run that fails prints its steps, shrunk, and leaves its seed in `proptest-regressions`, from
//! where it is run first the next time. `PROPTEST_CASES` asks for more.

use std::collections::{BTreeMap, VecDeque};

use forebay_store::{
    Access, Batch, CommitError, Disk, FileName, List, LoadError, Options, Place, Poisoned,
    PromoteError, QueueId, Seq, SimDisk, Store,
};
use proptest::prelude::*;

use self::{
    batch::Refusal,
    kept::{Kept, View},
    steps::{Op, Step, step},
};

mod batch;
mod compare;
mod kept;
mod steps;

const SEGMENT: u32 = 8 * 512;
const NAMES: u8 = 3;

/// The store, the model, and what of the model may be found after a crash.
struct Run {
    disk: SimDisk,
    options: Options,
    store: Store<SimDisk>,
    kept: Kept,
    views: BTreeMap<QueueId, View>,
    /// States of the disk from the last acknowledged one on, each with its transaction.
    history: VecDeque<(u64, Kept)>,
    reads_fail: bool,
    full: bool,
}

impl Run {
    fn new(seed: u64, recent_max: usize, in_flight: usize) -> Self {
        let disk = SimDisk::new(seed).with_max_in_flight(in_flight);
        let options = Options {
            segment_size: SEGMENT,
            transaction_max: 3500,
            frame_target: 1024,
            checkpoint_after: 6 * 512,
            checkpoint_step: 300,
            compact_after: 2 * 512,
            recent_max,
            low_water: 0,
            ..Options::default()
        };
        let (store, _) = Store::open(disk.clone(), options.clone()).expect("a new store");
        Self {
            disk,
            options,
            store,
            kept: Kept::default(),
            views: BTreeMap::new(),
            history: VecDeque::from([(0, Kept::default())]),
            reads_fail: false,
            full: false,
        }
    }

    fn view(&mut self, queue: QueueId) -> &mut View {
        self.views.entry(queue).or_default()
    }

    /// Takes a step and compares; a machine that went down meanwhile is started again.
    fn step(&mut self, step: Step) {
        self.take(step);
        if self.disk.is_crashed() {
            self.restart(true);
        }
        self.compare();
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Commit(ops) => self.commit(&ops),
            Step::SaveFlag(q, m, flag, id) => self.commit(&[Op::SetFlag(q, m, flag, id)]),
            Step::Open(q) => {
                if let Some(queue) = self.kept.queue(q) {
                    assert!(self.store.open_queue(queue));
                    self.view(queue).open = true;
                }
            }
            Step::Close(q) => {
                if let Some(queue) = self.kept.queue(q) {
                    self.store.close_queue(queue);
                    let view = self.view(queue);
                    *view = View {
                        max: view.max,
                        ..View::default()
                    };
                }
            }
            Step::Load(q, place) => {
                if let Some(queue) = self.kept.queue(q) {
                    self.load(queue, place);
                }
            }
            Step::SetMax(q, max) => {
                if let Some(queue) = self.kept.queue(q) {
                    self.store.set_max_inflight(queue, max);
                    self.view(queue).max = max;
                }
            }
            Step::Promote(q, m) => {
                if let Some(queue) = self.kept.queue(q) {
                    self.promote(queue, m);
                }
            }
            Step::Quarantine(q, m) => {
                let queue = self.kept.queue(q);
                let found = queue.and_then(|queue| Some((queue, self.kept.message(queue, m)?)));
                if let Some((queue, rowid)) = found {
                    let view = self.view(queue);
                    let queued = view.list_of(rowid) == Some(List::Queued);
                    let stepped = queued && view.skipped.insert(rowid);
                    assert_eq!(self.store.quarantine(queue, rowid), stepped);
                }
            }
            Step::Content(q, m) => {
                let queue = self.kept.queue(q);
                let found = queue.and_then(|queue| Some((queue, self.kept.message(queue, m)?)));
                if let Some((queue, rowid)) = found {
                    let content = self.store.content(queue, rowid);
                    let expected = &self.kept.queues[&queue].messages[&rowid].content;
                    match content {
                        Ok(found) => {
                            assert_eq!((found.time, &*found.bytes), (expected.0, &*expected.1));
                        }
                        Err(error) => assert!(self.reads_fail, "{error}"),
                    }
                }
            }
            Step::Submit => self.polled(|store| store.submit().map(|()| None)),
            Step::Poll(wait) => self.polled(|store| store.poll(wait).map(Some)),
            Step::Sync => {
                self.polled(|store| store.sync().map(Some));
                assert!(self.disk.is_crashed() || self.history.len() == 1);
            }
            Step::Checkpoint => self.polled(|store| store.checkpoint().map(|()| None)),
            Step::Restart => {
                self.polled(|store| store.sync().map(Some));
                if !self.disk.is_crashed() {
                    self.restart(false);
                }
            }
            Step::Kill => self.restart(false),
            Step::Crash => self.disk.crash(),
            Step::CrashIn(steps) => self.disk.crash_at(self.disk.steps() + 1 + u64::from(steps)),
            Step::FailReads(fail) => {
                self.reads_fail = fail;
                for number in 1..200 {
                    self.disk.fail_reads(FileName::Segment(number), fail);
                }
            }
            Step::Capacity(segments) => {
                let used: usize = self.disk.files().values().map(Vec::len).sum();
                self.full = segments < 3;
                let more = u64::from(segments) * u64::from(SEGMENT);
                let capacity = used as u64 + more;
                self.disk
                    .set_capacity(if self.full { capacity } else { 1 << 40 });
            }
            Step::Inspect(q) => {
                if let Some(queue) = self.kept.queue(q) {
                    self.inspect(queue);
                }
            }
            Step::Read => self.read(),
        }
    }

    /// Does what acknowledges, and notes what is acknowledged.
    fn polled(&mut self, poll: impl FnOnce(&mut Store<SimDisk>) -> Result<Option<Seq>, Poisoned>) {
        match poll(&mut self.store) {
            Ok(None) => {}
            Ok(Some(durable)) => {
                while self
                    .history
                    .get(1)
                    .is_some_and(|&(seq, _)| seq <= durable.get())
                {
                    self.history.pop_front();
                }
            }
            Err(error) => assert!(self.disk.is_crashed(), "{error}"),
        }
    }

    fn commit(&mut self, ops: &[Op]) {
        let (mut kept, mut views) = (self.kept.clone(), self.views.clone());
        let (mut batch, mut content, mut rowids) = (Batch::new(), None, Vec::new());
        let mut refusal = None;
        for op in ops {
            let made = self.apply(op, &mut batch, &mut kept, &mut views, &mut content);
            match made {
                Ok(rowid) => rowids.extend(rowid),
                Err(refused) => refusal = refusal.or(Some(refused)),
            }
            if refusal.is_some() {
                break;
            }
        }
        match self.store.commit(&batch) {
            Ok(committed) => {
                assert_eq!(refusal, None, "it should have been refused");
                assert_eq!(committed.rowids, rowids);
                self.history.push_back((committed.seq.get(), kept.clone()));
                (self.kept, self.views) = (kept, views);
            }
            Err(CommitError::Full) => assert!(self.full || self.disk.is_crashed()),
            Err(CommitError::Poisoned(_) | CommitError::Io(_)) => {
                assert!(self.disk.is_crashed());
            }
            Err(error) => assert_eq!(Refusal::of(&error), refusal, "{error}"),
        }
    }

    fn load(&mut self, queue: QueueId, place: Place) {
        let result = self.store.load(queue, place);
        let pending: Vec<u64> = self.kept.queues[&queue].messages.keys().copied().collect();
        let mut unread = Vec::new();
        let (reads_fail, crashed) = (self.reads_fail, self.disk.is_crashed());
        let view = self.views.entry(queue).or_default();
        view.open = true;
        view.skipped.clear();
        for rowid in pending {
            if view.list_of(rowid).is_some() {
                continue;
            }
            let overtakes = view.queued.first().is_some_and(|&first| first < rowid);
            let inflight = match place {
                Place::ByRule => view.has_room() && !overtakes,
                Place::Inflight => true,
                Place::Queued => false,
            };
            if !inflight {
                view.put(List::Queued, rowid);
            } else if self.store.list_of(queue, rowid).is_none() {
                unread.push(rowid);
            } else {
                view.put(List::Inflight, rowid);
            }
        }
        let range = unread.first().zip(unread.last()).map(|(&f, &l)| f..l + 1);
        view.failed.clone_from(&range);
        match (result, range) {
            (Ok(_), None) => {}
            (Err(LoadError::Incomplete { range: found, .. }), Some(range)) => {
                assert!(reads_fail || crashed, "everything can be read");
                assert_eq!(found, range);
            }
            (result, range) => panic!("{result:?} with {range:?} not read"),
        }
    }

    fn promote(&mut self, queue: QueueId, pick: u8) {
        let (reads_fail, kept) = (self.reads_fail, &self.kept);
        let view = self.views.entry(queue).or_default();
        let nth = usize::from(pick) % view.queued.len().max(1);
        let queued = view.queued.get(nth).copied();
        // Now and then one that is not queued.
        let rowid = queued.filter(|_| pick != 255).unwrap_or(u64::from(pick));
        let list = view.list_of(rowid);
        match self.store.promote(queue, rowid) {
            Ok(content) => {
                assert_eq!(list, Some(List::Queued));
                assert!(view.has_room());
                let expected = &kept.queues[&queue].messages[&rowid].content;
                assert_eq!(*content.bytes, *expected.1);
                view.remove(rowid);
                view.put(List::Inflight, rowid);
            }
            Err(PromoteError::NotQueued { rowid: named }) => {
                assert_eq!(named, rowid);
                assert_ne!(list, Some(List::Queued));
            }
            Err(PromoteError::WindowFull) => assert!(!view.has_room()),
            Err(error) => assert!(reads_fail || self.disk.is_crashed(), "{error}"),
        }
    }

    /// Opens the store again, after a crash of the machine or of the process alone.
    fn restart(&mut self, crash: bool) {
        let old = std::mem::replace(&mut self.disk, SimDisk::new(0));
        let in_flight = old.max_in_flight();
        self.disk = if crash {
            old.restart()
        } else {
            for number in 1..200 {
                old.fail_reads(FileName::Segment(number), false);
            }
            old
        };
        self.reads_fail = false;
        // The lock goes with the store that had it.
        let (parked, _) = Store::open(SimDisk::new(0), self.options.clone()).expect("a new store");
        drop(std::mem::replace(&mut self.store, parked));
        let mut rest = self.disk.clone();
        while rest.next_done(true).is_some() {}
        if self.disk.is_crashed() {
            self.disk = self.disk.restart();
        }
        loop {
            let disk = self.disk.with_max_in_flight(in_flight);
            match Store::open(disk, self.options.clone()) {
                Ok((mut store, recovery)) => {
                    assert_eq!(recovery.damage, []);
                    let found = Kept::of(&mut store);
                    let known = self.history.iter().any(|(_, kept)| *kept == found);
                    assert!(known, "found {found:#?} of {:#?}", self.history);
                    self.store = store;
                    self.history = VecDeque::from([(0, found.clone())]);
                    self.kept = found;
                    break;
                }
                Err(error) => assert!(self.disk.is_crashed(), "{error}"),
            }
            self.disk = self.disk.restart();
        }
        self.views.clear();
    }

    /// What is pending is found among what is done with, and nothing else changes.
    fn inspect(&mut self, queue: QueueId) {
        let found = match self.store.load_all(queue, ..) {
            Ok(found) => found,
            Err(error) => return assert!(self.disk.is_crashed(), "{error}"),
        };
        assert!(found.unread.is_empty() || self.reads_fail || self.disk.is_crashed());
        let rowids: Vec<u64> = found.messages.iter().map(|it| it.rowid).collect();
        assert!(rowids.is_sorted_by(|a, b| a < b));
        let mut pending = self.kept.queues[&queue].messages.iter();
        for it in found.messages {
            assert_eq!(it.flag.pending(), it.outcome.is_none());
            if it.flag.pending() {
                let (&rowid, expected) = pending.next().expect("no more are pending");
                assert_eq!((it.rowid, it.packet_id), (rowid, expected.packet_id));
                assert_eq!((it.flag, &*it.note), (expected.flag, &*expected.note));
                match self.store.inspected_content(&it) {
                    Ok(content) => assert_eq!(*content.bytes, *expected.content.1),
                    Err(error) => assert!(self.reads_fail || self.disk.is_crashed(), "{error}"),
                }
            }
        }
        assert_eq!(pending.next(), None, "all that is pending is found");
    }

    /// Another that only reads finds a state of the disk, and leaves it as it is.
    fn read(&mut self) {
        if self.reads_fail {
            return;
        }
        let options = Options {
            access: Access::Read,
            ..self.options.clone()
        };
        let before = self.disk.files();
        let (mut reader, recovery) = Store::open(self.disk.clone(), options).expect("it opens");
        assert_eq!(recovery.damage, []);
        let found = Kept::of(&mut reader);
        assert!(self.history.iter().any(|(_, kept)| *kept == found));
        assert_eq!(self.disk.files(), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_store_does_what_a_model_of_maps_and_lists_does(
        seed in any::<u64>(),
        recent_max in prop_oneof![Just(0usize), Just(4096)],
        in_flight in 1..5usize,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut run = Run::new(seed, recent_max, in_flight);
        for step in steps {
            run.step(step);
        }
    }
}
