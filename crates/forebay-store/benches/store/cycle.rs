//! The life of messages: appended, flag saved, finished, each step once the one before is durable.

use std::{collections::VecDeque, path::Path, time::Instant};

use bytes::Bytes;
use forebay_store::{
    Batch, Direction, Options, Origin, OsDisk, OsOptions, Outcome, Place, QueueId, Rowid, Seq,
    State, Store, UserFlag,
};

use super::{
    PAYLOAD, QUEUES, Run,
    raw::noise,
    report::{cpu_secs, waited_secs},
};

/// Bytes of log after which segments are used again and none is made.
const WARM: u64 = 384 << 20;

pub(crate) struct Cycle {
    store: Store<OsDisk>,
    queues: Vec<QueueId>,
    payload: Bytes,
    /// The queue of the next message.
    next: usize,
    in_flight: usize,
    batch: Batch,
    appended: VecDeque<Step>,
    flagged: VecDeque<Step>,
    spare: Vec<Vec<(QueueId, Rowid)>>,
    durable: Seq,
}

/// Messages that one commit brought to where they are.
struct Step {
    seq: Seq,
    messages: Vec<(QueueId, Rowid)>,
}

pub(crate) fn open(dir: &Path, in_flight: usize) -> Store<OsDisk> {
    let disk = OsOptions {
        max_in_flight: in_flight.max(OsOptions::default().max_in_flight),
        ..OsOptions::default()
    };
    let options = Options {
        writes_in_flight: in_flight,
        ..Options::default()
    };
    Store::open(OsDisk::open(dir, disk).unwrap(), options)
        .unwrap()
        .0
}

pub(crate) fn make_queues(store: &mut Store<OsDisk>, count: usize) -> Vec<QueueId> {
    let mut batch = Batch::new();
    let queues = (0..count).map(|i| {
        let queue = store.next_queue_id();
        batch.create_queue(queue, format!("client-{i:06}-OUT"));
        queue
    });
    let queues = queues.collect();
    store.commit(&batch).unwrap();
    store.sync().unwrap();
    queues
}

pub(crate) fn flag(state: State) -> UserFlag {
    UserFlag::default()
        .with_qos(1)
        .with_direction(Direction::Out)
        .with_origin(Origin::Client)
        .with_state(state)
}

impl Cycle {
    pub(crate) fn new(dir: &Path, in_flight: usize) -> Self {
        let mut store = open(dir, in_flight);
        let queues = make_queues(&mut store, QUEUES);
        for &queue in &queues {
            store.open_queue(queue);
        }
        let mut cycle = Self {
            store,
            queues,
            payload: noise(PAYLOAD).into(),
            next: 0,
            in_flight,
            batch: Batch::new(),
            appended: VecDeque::new(),
            flagged: VecDeque::new(),
            spare: Vec::new(),
            durable: Seq::default(),
        };
        while cycle.store.stats().frame_bytes < WARM {
            cycle.run(4096, 1, 16);
        }
        cycle
    }

    /// Bytes of the frame that one full commit comes to.
    pub(crate) fn frame_len(&mut self, messages: usize) -> usize {
        let run = self.run(messages, 1, 8);
        (run.bytes / run.writes) as usize / 4096 * 4096
    }

    /// Commits so many times; each appends `messages` that go to `fan_out` queues each, saves the
    /// flags of as many, and finishes as many. Messages of before are finished first.
    pub(crate) fn run(&mut self, messages: usize, fan_out: usize, commits: u64) -> Run {
        // Steps wait until the write before them must be durable, and then are as large as it.
        let lag = self.in_flight + 1;
        for _ in 0..=(2 * lag) {
            self.commit(messages, fan_out, lag);
        }
        let (stats, allocated) = (self.store.stats(), super::ALLOCATOR.stats());
        let (begun, cpu, waited) = (Instant::now(), cpu_secs(), waited_secs());
        for _ in 0..commits {
            self.commit(messages, fan_out, lag);
        }
        self.durable = self.store.sync().unwrap();
        let (secs, cpu_secs) = (begun.elapsed().as_secs_f64(), cpu_secs() - cpu);
        let waited_secs = waited_secs() - waited;
        let (after, allocated_after) = (self.store.stats(), super::ALLOCATOR.stats());
        self.finish_all();
        Run {
            writes: commits,
            secs,
            cpu_secs,
            waited_secs,
            bytes: after.frame_bytes - stats.frame_bytes,
            allocations: (allocated_after.allocations - allocated.allocations) as u64,
        }
    }

    fn commit(&mut self, messages: usize, fan_out: usize, lag: usize) {
        self.batch.clear();
        let mut appends = self.spare.pop().unwrap_or_default();
        for _ in 0..messages {
            // The time would be taken once for what is read from a socket at once.
            self.batch.content(1, self.payload.clone());
            for _ in 0..fan_out {
                let queue = self.queues[self.next];
                self.next = (self.next + 1) % self.queues.len();
                let state = State::WaitForPubrec;
                self.batch
                    .append(queue, flag(state), 7, Bytes::new(), Place::ByRule);
                appends.push((queue, 0));
            }
        }
        let flags = self.take(lag, false);
        for &(queue, rowid) in &flags {
            let state = State::WaitForPubcomp;
            self.batch.set_flag(queue, rowid, flag(state), 7);
        }
        let finishes = self.take(lag, true);
        for &(queue, rowid) in &finishes {
            self.batch.finish(queue, rowid, Outcome::ACKED);
        }
        let committed = self.store.commit(&self.batch).unwrap();
        for (message, rowid) in appends.iter_mut().zip(&committed.rowids) {
            message.1 = *rowid;
        }
        let seq = committed.seq;
        self.appended.push_back(Step {
            seq,
            messages: appends,
        });
        self.flagged.push_back(Step {
            seq,
            messages: flags,
        });
        self.give_back(finishes);
        self.store.submit().unwrap();
        while self.store.staged_bytes() > 0 {
            self.durable = self.store.poll(true).unwrap();
        }
    }

    /// The oldest messages that wait for a step, once there are enough steps behind them.
    fn take(&mut self, lag: usize, flagged: bool) -> Vec<(QueueId, Rowid)> {
        let waiting = if flagged {
            &mut self.flagged
        } else {
            &mut self.appended
        };
        if waiting.len() < lag {
            return self.spare.pop().unwrap_or_default();
        }
        let step = waiting.pop_front().unwrap();
        if self.durable < step.seq {
            self.durable = self.store.poll(false).unwrap();
        }
        assert!(step.seq <= self.durable, "a step before its time");
        step.messages
    }

    fn give_back(&mut self, mut messages: Vec<(QueueId, Rowid)>) {
        messages.clear();
        self.spare.push(messages);
    }

    fn finish_all(&mut self) {
        while let Some(step) = self
            .appended
            .pop_front()
            .or_else(|| self.flagged.pop_front())
        {
            self.batch.clear();
            for &(queue, rowid) in &step.messages {
                self.batch.finish(queue, rowid, Outcome::ACKED);
            }
            self.store.commit(&self.batch).unwrap();
            self.give_back(step.messages);
        }
        self.durable = self.store.sync().unwrap();
        assert_eq!(self.store.stats().pending, 0);
    }
}
