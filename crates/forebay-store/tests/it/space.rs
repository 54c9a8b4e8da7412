//! The disk that a store uses, whatever is done to its queues. Queue claim 23.

use std::collections::{BTreeMap, VecDeque};

use forebay_store::{Batch, Options, Outcome, Place, QueueId, SimDisk, Store, UserFlag};

const SEGMENT: u32 = 256 << 10;
const CONTENT: usize = 4000;
/// Segments beyond twice what lives: the one that is written to, the next one, what is written and
/// done with between two looks, and what dies only behind the checkpoint that is being written.
const SPARE: f64 = 5.0;

fn options() -> Options {
    Options {
        low_water: 0,
        segment_size: SEGMENT,
        transaction_max: 128 << 10,
        frame_target: 32 << 10,
        checkpoint_after: u64::from(SEGMENT),
        checkpoint_step: 16 << 10,
        compact_after: u64::from(SEGMENT / 2),
        recent_max: 32 << 10,
        ..Options::default()
    }
}

/// A store, and what must be in it.
struct Bed {
    disk: SimDisk,
    store: Store<SimDisk>,
    queues: Vec<QueueId>,
    /// Pending messages in each queue, with the number in their content.
    pending: Vec<VecDeque<(u64, u64)>>,
    /// How many queues have a content.
    live: BTreeMap<u64, usize>,
    published: u64,
    most: f64,
}

impl Bed {
    fn new(queues: usize) -> Self {
        let disk = SimDisk::new(1);
        let (mut store, _) = Store::open(disk.clone(), options()).expect("the store opens");
        let mut batch = Batch::new();
        let queues: Vec<_> = (0..queues)
            .map(|number| {
                let queue = store.next_queue_id();
                batch.create_queue(queue, format!("queue {number}"));
                queue
            })
            .collect();
        store.commit(&batch).expect("committed");
        for &queue in &queues {
            store.open_queue(queue);
        }
        Self {
            disk,
            store,
            pending: vec![VecDeque::new(); queues.len()],
            queues,
            live: BTreeMap::new(),
            published: 0,
            most: 0.0,
        }
    }

    /// One content for some queues.
    fn publish(&mut self, to: &[usize]) {
        let number = self.published;
        self.published += 1;
        let mut batch = Batch::new();
        batch.content(number, content(number));
        for &at in to {
            batch.append(self.queues[at], UserFlag::default(), 0, "", Place::Queued);
        }
        let committed = self.store.commit(&batch).expect("committed");
        for (&at, rowid) in to.iter().zip(committed.rowids) {
            self.pending[at].push_back((rowid, number));
        }
        self.live.insert(number, to.len());
        self.step();
    }

    /// The message at a place in a queue is done with.
    fn finish(&mut self, at: usize, place: usize) {
        let (rowid, number) = self.pending[at].remove(place).expect("a pending message");
        let mut batch = Batch::new();
        batch.finish(self.queues[at], rowid, Outcome::ACKED);
        self.store.commit(&batch).expect("committed");
        let count = self.live.get_mut(&number).expect("a live content");
        *count -= 1;
        if *count == 0 {
            self.live.remove(&number);
        }
        self.step();
    }

    fn step(&mut self) {
        self.store.poll(true).expect("written");
        let live = self.live.len() * CONTENT;
        let used = self.store.stats().segment_bytes as f64;
        // In segments beyond twice what lives.
        let beyond = (used - 2.0 * live as f64) / f64::from(SEGMENT);
        self.most = self.most.max(beyond);
    }

    /// Nothing is done for a while: writes end, and what they bring about.
    fn idle(&mut self) {
        while self.store.is_writing() {
            self.step();
        }
    }

    #[track_caller]
    fn judge(mut self, segments: f64) {
        assert!(
            self.most <= segments,
            "{:.2} segments beyond twice what lives",
            self.most
        );
        self.check_contents();
        self.store.sync().expect("synced");
        let disk = self.disk.restart();
        drop(self.store);
        (self.store, _) = Store::open(disk, options()).expect("the store opens again");
        for (at, &queue) in self.queues.iter().enumerate() {
            self.store.open_queue(queue);
            let loaded = self.store.load(queue, Place::Queued).expect("loaded");
            assert_eq!(loaded.queued, self.pending[at].len() as u64);
        }
        self.check_contents();
    }

    fn check_contents(&mut self) {
        for (at, &queue) in self.queues.iter().enumerate() {
            for &(rowid, number) in &self.pending[at] {
                let found = self.store.content(queue, rowid).expect("readable");
                assert_eq!(
                    (found.time, found.bytes.to_vec()),
                    (number, content(number))
                );
            }
        }
    }
}

fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(CONTENT / 8)
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn what_is_done_in_order_takes_no_space() {
    let mut bed = Bed::new(4);
    for round in 0..4000 {
        bed.publish(&[round % 4]);
        if round >= 100 {
            bed.finish((round - 100) % 4, 0);
        }
    }
    assert_eq!(
        bed.store.stats().compacted_bytes,
        0,
        "nothing has to be moved"
    );
    bed.judge(SPARE);
}

#[test]
fn one_stuck_message_in_each_queue_does_not_pin_the_disk() {
    let mut bed = Bed::new(20);
    for at in 0..20 {
        bed.publish(&[at]);
    }
    for round in 0..4000 {
        bed.publish(&[round % 20]);
        bed.finish(round % 20, 1);
    }
    let copied = bed.store.stats().compacted_bytes;
    assert!(copied > 0, "they were moved");
    let written = bed.published * CONTENT as u64;
    assert!(
        copied < written / 3,
        "{copied} bytes were copied of {written}"
    );
    bed.judge(SPARE);
}

#[test]
fn a_stuck_message_every_now_and_then_costs_its_own_space_only() {
    let mut bed = Bed::new(3);
    for round in 0..6000 {
        bed.publish(&[round % 3]);
        if round % 10 != 0 {
            let last = bed.pending[round % 3].len() - 1;
            bed.finish(round % 3, last);
        }
    }
    bed.judge(SPARE);
}

#[test]
fn messages_that_are_done_in_any_order_take_twice_the_space_of_the_others() {
    let mut bed = Bed::new(5);
    let mut numbers = Numbers(7);
    for round in 0..6000 {
        bed.publish(&[round % 5]);
        if round >= 600 {
            let at = round % 5;
            let place = numbers.below(bed.pending[at].len());
            bed.finish(at, place);
        }
    }
    bed.judge(SPARE);
}

#[test]
fn one_slow_subscriber_of_many_keeps_only_what_it_waits_for() {
    let mut bed = Bed::new(100);
    let all: Vec<_> = (0..100).collect();
    for round in 0..400 {
        bed.publish(&all);
        for at in 1..100 {
            bed.finish(at, 0);
        }
        // The slow one takes a message out of its middle now and then.
        if round % 3 == 0 {
            let place = bed.pending[0].len() / 2;
            bed.finish(0, place);
        }
    }
    bed.judge(SPARE);
}

#[test]
fn after_a_burst_the_space_comes_back_without_new_messages() {
    let mut bed = Bed::new(4);
    for _ in 0..3 {
        for round in 0..1000 {
            bed.publish(&[round % 4]);
        }
        // All but one message of each queue.
        for at in 0..4 {
            while bed.pending[at].len() > 1 {
                bed.finish(at, 1);
            }
        }
        bed.idle();
        let used = bed.store.stats().segment_bytes;
        assert!(
            used <= 5 * u64::from(SEGMENT),
            "{used} bytes for {} messages",
            bed.live.len()
        );
    }
    bed.judge(SPARE);
}
