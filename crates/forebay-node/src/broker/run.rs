//! From start to stop.
//!
//! Owns [`run`]: opens the store, restores the machine, listens, says that it is ready, and
//! blocks until it is stopped or the store is lost. A stop first makes durable and answers what
//! was received, then says goodbye to every client, then ends the disk thread.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io,
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
};

use forebay_store::{Disk, OsDisk, OsOptions, Poisoned};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, mpsc, oneshot},
    task::{JoinError, JoinHandle, LocalSet, spawn_local},
    time::{Instant, sleep_until, timeout},
};

use super::{
    config::Config,
    door::{At, Door},
    error::RunError,
    reload,
    restore::{self, Restored},
    shard::{Gate, Shard},
};
use crate::{
    auth::{Answers, LoginPool},
    clock::Clock,
    disk_thread::{DiskThread, Link},
    metrics,
    net::listener::{self, Listening},
};

/// Scrapes that may wait at once.
const SCRAPES: usize = 4;

/// Ends a running broker from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Has the broker stop in good order; [`run`] then returns.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// What a broker says once it serves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// Where it listens for MQTT over TCP, whatever lies between, in the order of the
    /// configuration.
    pub listen: Vec<SocketAddr>,
    /// Every way in: what speaks there ([`Listener::scheme`](super::Listener::scheme)), and where.
    pub doors: Vec<(&'static str, At)>,
    /// Where it serves metrics and health.
    pub metrics: Option<SocketAddr>,
    /// Stops it.
    pub stop: Stop,
}

/// Runs a broker on the directory of `config` until it gets SIGTERM or SIGINT, calling `on_ready`
/// once everything listens.
///
/// # Errors
/// [`RunError`], by what there is to do about it. After [`RunError::Poisoned`] the process must
/// end, and should say so with its exit code.
pub fn run(config: &Config, on_ready: impl FnOnce(&Ready)) -> Result<(), RunError> {
    let data_dir = |source| RunError::DataDir {
        path: config.dir.clone(),
        source,
    };
    let options = OsOptions {
        driver: config.driver,
        ..OsOptions::default()
    };
    let disk = OsDisk::open(&config.dir, options).map_err(data_dir)?;
    tracing::info!(dir = %config.dir.display(), driver = %disk.driver(), "store");
    for (driver, error) in disk.refused() {
        tracing::info!(%driver, %error, "a faster way to write is refused");
    }
    run_until(disk, config, true, on_ready)
}

/// Runs a broker on `disk` until it is stopped through [`Ready::stop`]; signals are left alone.
///
/// # Errors
/// Those of [`run`].
pub fn run_on<D: Disk>(
    disk: D,
    config: &Config,
    on_ready: impl FnOnce(&Ready),
) -> Result<(), RunError> {
    run_until(disk, config, false, on_ready)
}

/// SIGTERM, SIGINT and SIGHUP, taken from the moment of [`Signals::take`] on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Turns the first that ends a run into a stop, and every SIGHUP into a reload.
    fn heed(self, stop: Stop, shard: Rc<RefCell<Shard>>, reload: Option<reload::Reload>) {
        let (mut terminate, mut interrupt) = (self.terminate, self.interrupt);
        spawn_local(async move {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
                _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
            }
            stop.stop();
        });
        spawn_local(reload::reloading(shard, self.hangup, reload));
    }
}

fn run_until<D: Disk>(
    disk: D,
    config: &Config,
    heeds_signals: bool,
    on_ready: impl FnOnce(&Ready),
) -> Result<(), RunError> {
    let system = |source| RunError::System { source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system)?;
    let _entered = runtime.enter();
    let stop = Stop::default();
    // Taken before anyone can know that it runs: a signal from then on is a stop in good order.
    let signals = if heeds_signals {
        Some(Signals::take().map_err(system)?)
    } else {
        None
    };
    // Bound first: an address in use is told before a large store is read.
    let sockets = Sockets::bind(config)?;
    let clock = Clock::start();
    let packet_bytes = config.broker.limits.max_packet_size;
    let Restored {
        machine,
        store,
        queues,
    } = restore::open(disk, config, &clock)?;
    let link = Arc::new(Link::default());
    // What is on its way may be as much as the backlog, but not more than a store of small
    // segments can spare.
    let margin = config
        .limits
        .backlog_bytes
        .min(u64::from(config.store.segment_size / 8));
    let thread =
        DiskThread::start(store, queues, Arc::clone(&link), margin as usize).map_err(system)?;
    let (pool, answers) = LoginPool::start().map_err(system)?;
    let gate = Gate {
        users: Arc::clone(&config.users),
        pool,
    };
    let shard = Shard::new(machine, packet_bytes, clock, config.limits, link, gate);
    let shard = Rc::new(RefCell::new(shard));
    shard.borrow_mut().start();

    let local = LocalSet::new();
    let ended = local.block_on(&runtime, async {
        let turns = spawn_local(turns(Rc::clone(&shard)));
        if let Some(signals) = signals {
            signals.heed(stop.clone(), Rc::clone(&shard), config.reload.clone());
        }
        spawn_local(logins(Rc::clone(&shard), answers));
        let ready = sockets.ready(stop.clone());
        let accepting = sockets.serve(&shard);
        on_ready(&ready);
        tokio::select! {
            error = turns => Err(lost(error)),
            () = async {
                stop.0.notified().await;
                accepting.iter().for_each(JoinHandle::abort);
                wind_down(&shard).await;
            } => Ok(()),
        }
    });
    // The tasks hold sockets; no byte may leave after this.
    drop(local);
    drop(shard);
    let written = thread.stop();
    ended?;
    written.map_err(|source| RunError::Poisoned { source })
}

/// What the end of the turns means.
fn lost(ended: Result<Poisoned, JoinError>) -> RunError {
    match ended {
        Ok(source) => RunError::Poisoned { source },
        Err(panicked) => RunError::System {
            source: io::Error::other(panicked),
        },
    }
}

/// Takes turns until the store is lost.
async fn turns(shard: Rc<RefCell<Shard>>) -> Poisoned {
    let mut timer = std::pin::pin!(sleep_until(Instant::now()));
    poll_fn(|cx| shard.borrow_mut().poll_turn(timer.as_mut(), cx)).await
}

/// Hands what was found out about passwords to the machine.
async fn logins(shard: Rc<RefCell<Shard>>, mut answers: Answers) {
    while let Some((connection, login)) = answers.recv().await {
        shard.borrow_mut().authenticated(connection, login);
    }
}

/// Finishes what was received, then says goodbye.
async fn wind_down(shard: &RefCell<Shard>) {
    let (limits, settled) = {
        let mut shard = shard.borrow_mut();
        shard.stop_reading();
        (shard.limits, Rc::clone(&shard.settled))
    };
    let until = async |done: fn(&Shard) -> bool| {
        while !done(&shard.borrow()) {
            settled.notified().await;
        }
    };
    if timeout(limits.stop, until(Shard::is_durable))
        .await
        .is_err()
    {
        tracing::warn!("the disk is too slow: what is not acknowledged is left");
    }
    shard.borrow_mut().stop();
    if timeout(2 * limits.close, until(Shard::is_deserted))
        .await
        .is_err()
    {
        tracing::info!("some clients did not hang up");
    }
    if timeout(limits.stop, until(Shard::is_durable))
        .await
        .is_err()
    {
        tracing::warn!("the disk is too slow: the end of some sessions is left");
    }
}

/// Everything that listens.
struct Sockets {
    listen: Vec<(Listening, At, Rc<Door>)>,
    metrics: Option<(TcpListener, SocketAddr)>,
}

impl Sockets {
    fn bind(config: &Config) -> Result<Self, RunError> {
        let bind = |address: SocketAddr| {
            let bound = listener::bind(address).and_then(|bound| {
                let address = bound.local_addr()?;
                Ok((bound, address))
            });
            bound.map_err(|source| {
                if source.kind() == io::ErrorKind::AddrInUse {
                    RunError::AddressInUse {
                        address: At::Tcp(address),
                    }
                } else {
                    RunError::Listen {
                        address: At::Tcp(address),
                        source,
                    }
                }
            })
        };
        let greeting = Rc::new(Cell::new(0));
        let mut listen = Vec::new();
        for listener in &config.listeners {
            let tls = listener.load().map_err(|source| RunError::Tls { source })?;
            let (listening, at) = match &listener.at {
                At::Tcp(address) => {
                    let (listening, address) = bind(*address)?;
                    (Listening::Tcp(listening), At::Tcp(address))
                }
                At::Unix(path) => {
                    let bound = listener::bind_unix(path).map_err(|source| {
                        let address = listener.at.clone();
                        if source.kind() == io::ErrorKind::AddrInUse {
                            RunError::AddressInUse { address }
                        } else {
                            RunError::Listen { address, source }
                        }
                    })?;
                    (bound, listener.at.clone())
                }
            };
            let door = Door::new(listener.clone(), tls, Rc::clone(&greeting));
            listen.push((listening, at, Rc::new(door)));
        }
        Ok(Self {
            listen,
            metrics: config.metrics.map(bind).transpose()?,
        })
    }

    fn ready(&self, stop: Stop) -> Ready {
        let tcp = |at: &At| match at {
            At::Tcp(address) => Some(*address),
            At::Unix(_) => None,
        };
        let listen = self
            .listen
            .iter()
            .filter_map(|(_, at, _)| tcp(at))
            .collect();
        let doors = self.listen.iter();
        let doors = doors.map(|(_, at, door)| (door.listener.scheme(), at.clone()));
        let doors = doors.collect();
        let metrics = self.metrics.as_ref().map(|(_, address)| *address);
        Ready {
            listen,
            doors,
            metrics,
            stop,
        }
    }

    /// Serves from here on. The tasks that accept end when they are aborted.
    fn serve(self, shard: &Rc<RefCell<Shard>>) -> Vec<JoinHandle<()>> {
        if let Some((listener, _)) = self.metrics {
            let (requests, asked) = mpsc::channel(SCRAPES);
            spawn_local(scrapes(Rc::clone(shard), asked));
            let limits = shard.borrow().limits;
            let door =
                metrics::Door::new(listener, limits.metrics_connections, limits.metrics_idle);
            tokio::spawn(async move {
                if let Err(error) = metrics::serve(door, requests).await {
                    tracing::warn!(%error, "metrics are not served any more");
                }
            });
        }
        let accept = |(listening, _, door): (Listening, At, Rc<Door>)| {
            shard.borrow_mut().doors.push(Rc::clone(&door));
            let shard = Rc::clone(shard);
            spawn_local(listener::accept(listening, move |raw| {
                door.enter(&shard, raw);
            }))
        };
        self.listen.into_iter().map(accept).collect()
    }
}

/// Answers scrapes with what the shard has counted.
async fn scrapes(shard: Rc<RefCell<Shard>>, mut asked: mpsc::Receiver<oneshot::Sender<String>>) {
    while let Some(answer) = asked.recv().await {
        let numbers = shard.borrow().numbers();
        // Who asked may have gone.
        let _ = answer.send(metrics::text(numbers));
    }
}
