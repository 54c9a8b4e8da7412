//! A scripted run is stopped at every step the disk takes: every write, every sync, every file
//! made. What is found again is what was acknowledged, and at most more of what was asked for.

use std::collections::BTreeMap;

use forebay_store::{
    Batch, CommitError, Options, Outcome, Place, QueueId, RotateError, SimDisk, Store, TableId,
    UserFlag,
};

const QUEUES: usize = 3;
const TABLE: TableId = TableId(1);

fn options() -> Options {
    Options {
        segment_size: 16 * 512,
        transaction_max: 4096,
        frame_target: 1024,
        checkpoint_after: 6 * 512,
        checkpoint_step: 300,
        compact_after: 8 * 512,
        backups: 2,
        recent_max: 4096,
        low_water: 0,
        store_id: Some(*b"crash test store"),
        ..Options::default()
    }
}

/// What the store holds: the pending messages of each queue and the rows of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    queues: Vec<BTreeMap<u64, (u16, Vec<u8>)>>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn observe(store: &mut Store<SimDisk>) -> Model {
    let mut model = Model::default();
    for number in 0..QUEUES {
        let mut found = BTreeMap::new();
        if let Some(queue) = store.queue(name(number).as_bytes()) {
            store
                .load(queue, Place::Inflight)
                .expect("every message is readable");
            let info = store.queue_info(queue).expect("the queue is there");
            for rowid in info.first_pending..info.next_rowid {
                if let Some(message) = store.by_rowid(queue, rowid) {
                    let content = store.content(queue, rowid).expect("readable");
                    found.insert(rowid, (message.packet_id, content.bytes.to_vec()));
                }
            }
            store.close_queue(queue);
        }
        model.queues.push(found);
    }
    model.rows = store
        .scan(TABLE)
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    model
}

fn name(number: usize) -> String {
    format!("queue/{number}")
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A run: what the store should hold after each transaction, and how many were acknowledged.
struct Run {
    states: Vec<Model>,
    acknowledged: usize,
    /// Whether the oldest messages stay while those behind them go, so that segments have to be
    /// emptied.
    keeps_oldest: bool,
    compactions: u64,
}

/// Goes on with `steps` transactions on an open store whose state is the last of `run`.
fn work(store: &mut Store<SimDisk>, run: &mut Run, random: &mut Random, steps: usize) -> bool {
    let mut waiting = Vec::new();
    for _ in 0..steps {
        let mut model = run.states.last().cloned().expect("there is a first state");
        let batch = transaction(store, &mut model, random, run.keeps_oldest);
        run.compactions = run.compactions.max(store.stats().compactions);
        let committed = match store.commit(&batch) {
            Ok(committed) => committed,
            Err(CommitError::Poisoned(_) | CommitError::Io(_)) => return false,
            Err(other) => panic!("{other}"),
        };
        if run.keeps_oldest && random.below(20) == 0 {
            match store.rotate() {
                Ok(()) | Err(RotateError::Commit(CommitError::Io(_))) => {}
                Err(RotateError::Poisoned(_) | RotateError::Commit(CommitError::Poisoned(_))) => {
                    return false;
                }
                Err(other) => panic!("{other}"),
            }
        }
        run.states.push(model);
        waiting.push((committed.seq, run.states.len() - 1));
        let polled = match random.below(3) {
            0 => store.submit().map(|()| None),
            1 => store.poll(false).map(Some),
            _ => store.poll(true).map(Some),
        };
        match polled {
            Ok(durable) => {
                for (seq, state) in &waiting {
                    if durable.is_some_and(|durable| *seq <= durable) {
                        run.acknowledged = *state;
                    }
                }
            }
            Err(_) => return false,
        }
    }
    match store.sync() {
        Ok(_) => {
            run.acknowledged = run.states.len() - 1;
            true
        }
        Err(_) => false,
    }
}

fn transaction(
    store: &mut Store<SimDisk>,
    model: &mut Model,
    random: &mut Random,
    keeps_oldest: bool,
) -> Batch {
    let mut batch = Batch::new();
    let ids: Vec<Option<QueueId>> = (0..QUEUES)
        .map(|n| store.queue(name(n).as_bytes()))
        .collect();
    if let Some(number) = ids.iter().position(Option::is_none) {
        batch.create_queue(store.next_queue_id(), name(number));
        return batch;
    }
    let ids: Vec<QueueId> = ids.into_iter().flatten().collect();
    match random.below(8) {
        0..=3 => {
            let content = vec![random.below(256) as u8; random.below(400) as usize];
            batch.content(7, content.clone());
            for number in 0..QUEUES {
                if random.below(2) == 0 {
                    let id = random.below(4) as u16;
                    let rowid = store.queue_info(ids[number]).expect("there").next_rowid;
                    batch.append(ids[number], UserFlag::default(), id, "note", Place::ByRule);
                    model.queues[number].insert(rowid, (id, content.clone()));
                }
            }
        }
        4 | 5 => {
            for number in 0..QUEUES {
                let keep = random.below(3) as usize + usize::from(keeps_oldest);
                let pending = &mut model.queues[number];
                while pending.len() > keep {
                    let last = keeps_oldest.then(|| pending.pop_last());
                    let (rowid, _) = last
                        .unwrap_or_else(|| pending.pop_first())
                        .expect("not empty");
                    batch.finish(ids[number], rowid, Outcome::ACKED);
                }
            }
        }
        6 => {
            let number = random.below(QUEUES as u64) as usize;
            if let Some((rowid, message)) = model.queues[number].iter_mut().next_back() {
                message.0 = 99;
                batch.set_flag(ids[number], *rowid, UserFlag::default(), 99);
            }
        }
        _ => {
            let key = vec![b'k', random.below(5) as u8];
            if random.below(3) == 0 {
                batch.delete(TABLE, key.clone());
                model.rows.remove(&key);
            } else {
                let value = vec![random.below(256) as u8; random.below(60) as usize];
                batch.put(TABLE, key.clone(), value.clone());
                model.rows.insert(key, value);
            }
        }
    }
    batch
}

/// Opens what survived and says which state of the run it is in.
fn judge(disk: SimDisk, run: &Run, what: &str) -> Option<(Store<SimDisk>, usize)> {
    let crashed = disk.clone();
    let mut store = match Store::open(disk, options()) {
        Ok((store, _)) => store,
        Err(_) if crashed.is_crashed() => return None,
        Err(error) => panic!("{what}: {error}"),
    };
    let found = observe(&mut store);
    if crashed.is_crashed() {
        return None;
    }
    let state = (run.acknowledged..run.states.len()).find(|&at| run.states[at] == found);
    let state = state.unwrap_or_else(|| {
        panic!(
            "{what}: {} acknowledged of {}, found {found:?}",
            run.acknowledged,
            run.states.len()
        )
    });
    Some((store, state))
}

fn begin(keeps_oldest: bool) -> Run {
    let empty = Model {
        queues: vec![BTreeMap::new(); QUEUES],
        ..Model::default()
    };
    Run {
        states: vec![empty],
        acknowledged: 0,
        keeps_oldest,
        compactions: 0,
    }
}

/// Runs the script of a seed until the disk's step `stop`; `None` once the script ends before.
fn crash_at(seed: u64, stop: u64, keeps_oldest: bool) -> Option<u64> {
    let what = format!("seed {seed}, step {stop}");
    let mut random = Random(seed);
    let mut disk = SimDisk::new(seed);
    let mut run = begin(keeps_oldest);
    disk.crash_at(stop);
    let crashed_once = match Store::open(disk.clone(), options()) {
        Ok((mut store, _)) => !work(&mut store, &mut run, &mut random, 60),
        Err(_) => true,
    };
    if !crashed_once {
        return None;
    }
    // Each restart goes on from what was found and is stopped again, often while it recovers.
    for _ in 0..3 {
        disk = disk.restart();
        disk.crash_at(disk.steps() + 1 + random.below(12));
        let Some((mut store, state)) = judge(disk.clone(), &run, &what) else {
            continue;
        };
        run.states.truncate(state + 1);
        run.acknowledged = state;
        work(&mut store, &mut run, &mut random, 4);
    }
    disk = disk.restart();
    let (mut store, state) = judge(disk, &run, &what).expect("nothing crashes any more");
    run.states.truncate(state + 1);
    run.acknowledged = state;
    assert!(
        work(&mut store, &mut run, &mut random, 20),
        "{what}: it works again"
    );
    Some(run.compactions)
}

#[test]
fn a_crash_at_every_step_leaves_what_was_acknowledged_and_at_most_a_suffix_more() {
    // queue claims 6, 8, 9, 19, 20, 22, 23
    let seeds = match std::env::var("FOREBAY_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("FOREBAY_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 1..5,
    };
    println!("seeds {seeds:?}");
    for seed in seeds {
        for keeps_oldest in [false, true] {
            let (mut stop, mut compactions) = (1, 0);
            while let Some(more) = crash_at(seed, stop, keeps_oldest) {
                stop += 1;
                compactions = more.max(compactions);
            }
            println!("seed {seed}: {stop} steps, {compactions} compactions");
            assert!(stop > 60, "the script takes the disk through many steps");
            assert!(compactions > 0 || !keeps_oldest, "segments are emptied");
        }
    }
}

#[test]
fn a_checkpoint_and_recycled_segments_lose_nothing_over_many_restarts() {
    // queue claims 3, 22, 23
    let (mut disk, mut run, mut random) = (SimDisk::new(9), begin(false), Random(9));
    for round in 0..40 {
        let (mut store, state) = judge(disk.clone(), &run, &format!("round {round}")).unwrap();
        assert_eq!(state, run.states.len() - 1);
        assert!(work(&mut store, &mut run, &mut random, 30));
        store.checkpoint().expect("the disk is sound");
        assert!(store.stats().checkpoints > 0);
        run.states.drain(..run.states.len() - 1);
        run.acknowledged = 0;
        disk = disk.restart();
    }
    let bytes: usize = disk.files().values().map(Vec::len).sum();
    assert!(
        bytes < 40 * 16 * 512,
        "dead segments are used again: {bytes} bytes"
    );
}
