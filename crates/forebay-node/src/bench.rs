//! The load client: publishers and subscribers in one thread, and a judge of what arrives.
//!
//! Owns the run of a measurement: connecting, pacing, counting, and the [`Report`]. It speaks
//! through the codec, but keeps no session: packets are encoded from a template, acknowledged in
//! batches, and the clock is read once a batch, so that its own share of a small machine stays
//! small. Works against any broker of MQTT 5, 3.1.1 or 3.1. Units: nanoseconds, bytes.

mod connection;
mod histogram;
mod judge;
mod publisher;
mod report;
mod subscriber;
#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, RefCell},
    io,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

pub use forebay_proto::{QoS, ReasonCode, Version};
use tokio::{
    net::lookup_host,
    sync::{Notify, Semaphore},
    task::{JoinHandle, LocalSet, spawn_local},
    time::{MissedTickBehavior, interval},
};

use connection::{Connection, Login};
pub use histogram::Histogram;
use judge::Judge;
pub use report::{BenchError, HEADER_BYTES, Load, Progress, Report};

/// Connections that are opened at a time.
const OPENING: usize = 64;
/// How long doubles are waited for after the last message.
const SETTLE: Duration = Duration::from_millis(100);

/// Runs a measurement on this thread, telling how far it is once a second.
///
/// # Errors
/// [`BenchError`], where a connection can't be made or is lost.
pub fn run(load: Load, on_progress: impl FnMut(Progress)) -> Result<Report, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| BenchError::System { source })?;
    LocalSet::new().block_on(&runtime, measure(load, on_progress))
}

/// What publishers, subscribers and the coordinator share.
#[derive(Debug)]
struct Shared {
    load: Load,
    start: Cell<Instant>,
    published: Cell<u64>,
    acknowledged: Cell<u64>,
    refused: Cell<u64>,
    refusal: Cell<Option<ReasonCode>>,
    /// Nanoseconds from `start` to the last acknowledgement and to the last message.
    last_ack: Cell<u64>,
    last_message: Cell<u64>,
    ack_latency: RefCell<Histogram>,
    judge: RefCell<Judge>,
    failure: RefCell<Option<BenchError>>,
    /// Something may have come to its end.
    news: Notify,
    /// One for each publisher, told when its messages are read.
    read: Vec<Notify>,
}

impl Shared {
    /// Nanoseconds since the first message.
    fn now(&self) -> u64 {
        self.start.get().elapsed().as_nanos() as u64
    }

    fn fail(&self, error: BenchError) {
        self.failure.borrow_mut().get_or_insert(error);
        self.news.notify_one();
    }

    fn is_published(&self) -> bool {
        self.acknowledged.get() + self.refused.get() >= self.load.messages
    }

    fn is_done(&self) -> bool {
        self.is_published() && self.judge.borrow().received() >= self.expected()
    }

    /// Messages to receive. Refused ones are not known by number, so they are left out at the
    /// mean of their audience, which is exact where all have the same.
    fn expected(&self) -> u64 {
        let judge = self.judge.borrow();
        let refused = self.refused.get() * judge.expected() / self.load.messages.max(1);
        judge.expected() - refused
    }

    fn progress(&self) -> Progress {
        Progress {
            elapsed: self.start.get().elapsed(),
            published: self.published.get(),
            acknowledged: self.acknowledged.get(),
            received: self.judge.borrow().received(),
            expected: self.expected(),
        }
    }
}

async fn measure(load: Load, mut on_progress: impl FnMut(Progress)) -> Result<Report, BenchError> {
    let address = resolve(&load.peer).await?;
    let run = run_name();
    let shared = Rc::new(Shared {
        start: Cell::new(Instant::now()),
        published: Cell::default(),
        acknowledged: Cell::default(),
        refused: Cell::default(),
        refusal: Cell::default(),
        last_ack: Cell::default(),
        last_message: Cell::default(),
        ack_latency: RefCell::new(Histogram::new()),
        judge: RefCell::new(Judge::new(&load)),
        failure: RefCell::new(None),
        news: Notify::new(),
        read: (0..load.publishers).map(|_| Notify::new()).collect(),
        load,
    });
    let load = &shared.load;
    let subscribers = open(load.subscribers, |index| {
        subscriber::open(address, load.clone(), run.clone(), index)
    })
    .await?;
    let publishers = open(load.publishers, |index| {
        let login = Login::passing(format!("{run}-p{index}"), load.version);
        async move { Connection::open(address, &login).await }
    })
    .await?;
    let cpu = own_cpu();
    shared.start.set(Instant::now());
    let mut tasks: Vec<JoinHandle<()>> = Vec::new();
    for (index, connection) in subscribers.into_iter().enumerate() {
        tasks.push(spawn_local(subscriber::run(
            Rc::clone(&shared),
            index,
            connection,
        )));
    }
    for (index, connection) in publishers.into_iter().enumerate() {
        let topic = topic(&run, Judge::topic_of(load, index));
        tasks.push(spawn_local(publisher::run(
            Rc::clone(&shared),
            index,
            topic,
            connection,
        )));
    }
    watch(&shared, &mut on_progress).await;
    let own_cpu = own_cpu()
        .zip(cpu)
        .map(|(after, before)| after.saturating_sub(before));
    tokio::time::sleep(SETTLE).await;
    tasks.iter().for_each(JoinHandle::abort);
    if load.persistent {
        forget(address, load, &run).await;
    }
    if let Some(error) = shared.failure.take() {
        return Err(error);
    }
    Ok(report(&shared, own_cpu))
}

/// Waits for the end, and tells how far it is.
async fn watch(shared: &Shared, on_progress: &mut impl FnMut(Progress)) {
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick.tick().await;
    let mut moved = (0, Instant::now());
    while shared.failure.borrow().is_none() && !shared.is_done() {
        tokio::select! {
            () = shared.news.notified() => {}
            _ = tick.tick() => {
                let progress = shared.progress();
                on_progress(progress);
                let sum = progress.published + progress.acknowledged + progress.received;
                if sum != moved.0 {
                    moved = (sum, Instant::now());
                } else if moved.1.elapsed() >= shared.load.patience {
                    return;
                }
            }
        }
    }
}

fn report(shared: &Shared, own_cpu: Option<Duration>) -> Report {
    let judge = shared.judge.borrow();
    let expected = shared.expected();
    let end = shared.last_ack.get().max(shared.last_message.get());
    Report {
        elapsed: Duration::from_nanos(end),
        publishing: Duration::from_nanos(shared.last_ack.get()),
        published: shared.published.get(),
        acknowledged: shared.acknowledged.get(),
        refused: shared.refused.get(),
        refusal: shared.refusal.get(),
        expected,
        received: judge.received(),
        lost: expected.saturating_sub(judge.received()),
        doubled: judge.doubled(),
        reordered: judge.reordered(),
        foreign: judge.foreign(),
        ack_latency: shared.ack_latency.borrow().clone(),
        delivery_latency: judge.latency().clone(),
        own_cpu,
    }
}

/// Opens `count` connections, some at a time.
async fn open<F>(count: usize, make: impl Fn(usize) -> F) -> Result<Vec<Connection>, BenchError>
where
    F: Future<Output = Result<Connection, BenchError>> + 'static,
{
    let turns = Rc::new(Semaphore::new(OPENING));
    let opening: Vec<_> = (0..count)
        .map(|index| {
            let (turns, connection) = (Rc::clone(&turns), make(index));
            spawn_local(async move {
                let _turn = turns.acquire().await;
                connection.await
            })
        })
        .collect();
    let mut connections = Vec::with_capacity(count);
    for task in opening {
        let connection = task.await.map_err(|error| BenchError::System {
            source: error.into(),
        })?;
        connections.push(connection?);
    }
    Ok(connections)
}

/// Ends the sessions that outlived their connections.
async fn forget(address: SocketAddr, load: &Load, run: &str) {
    let forgotten = open(load.subscribers, |index| {
        let login = Login::passing(subscriber::name(run, index), load.version);
        async move { Connection::open(address, &login).await }
    });
    if let Err(error) = forgotten.await {
        tracing::warn!(%error, "sessions of this run stay on the broker");
    }
}

async fn resolve(peer: &str) -> Result<SocketAddr, BenchError> {
    let unreachable = |source| BenchError::Unreachable {
        peer: peer.to_owned(),
        source,
    };
    let mut found = lookup_host(peer).await.map_err(unreachable)?;
    found
        .next()
        .ok_or_else(|| unreachable(io::ErrorKind::NotFound.into()))
}

/// A name that no other run has, short enough for every server.
fn run_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("fb{:07x}", random & 0x0FFF_FFFF)
}

fn topic(run: &str, number: usize) -> String {
    format!("bench/{run}/{number}")
}

/// Processor time of this thread.
fn own_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace()
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}
