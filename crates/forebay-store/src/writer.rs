//! A store on a thread of its own, for callers on many threads.
//!
//! Owns the thread and the way to it. Batches that come while writes are in flight go into the
//! next frame together, so many callers share one durable write and a lone one never waits for
//! others. Whoever commits has one batch on its way, so what waits is bounded by the callers.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    task::{Wake, Waker},
    thread::{self, JoinHandle, Thread},
};

use crate::{
    batch::Batch,
    disk::Disk,
    error::{CommitError, Poisoned},
    store::{Committed, Store},
};

type Reply = SyncSender<Result<Committed, CommitError>>;
/// The store as its thread leaves it, and how that ended.
type Ended<D> = (Store<D>, Result<(), Poisoned>);
type Work<D> = Box<dyn FnOnce(&mut Store<D>) + Send>;

/// The thread that a store is on.
///
/// Dropping it closes it as [`Writer::close`] does, and keeps nothing of how that went.
#[derive(Debug)]
pub struct Writer<D: Disk> {
    shared: Arc<Shared<D>>,
    thread: Option<JoinHandle<Ended<D>>>,
}

/// A way to a store on its thread, for any other thread. Cheap to clone.
#[derive(Debug)]
pub struct Handle<D: Disk> {
    shared: Arc<Shared<D>>,
}

struct Shared<D: Disk> {
    inbox: Mutex<Inbox<D>>,
    room: Condvar,
    waiting_max: usize,
    bell: OnceLock<Waker>,
}

struct Inbox<D: Disk> {
    jobs: VecDeque<Job<D>>,
    closed: bool,
    poisoned: Option<Poisoned>,
}

enum Job<D: Disk> {
    Commit(Batch, Reply),
    Run(Work<D>),
}

/// Wakes a thread whose disk can't.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<D: Disk> Writer<D> {
    /// Moves a store to a thread of its own. Callers wait when `waiting_max` others do already.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(store: Store<D>, waiting_max: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            inbox: Mutex::new(Inbox {
                jobs: VecDeque::new(),
                closed: false,
                poisoned: None,
            }),
            room: Condvar::new(),
            waiting_max: waiting_max.max(1),
            bell: OnceLock::new(),
        });
        let (bell, theirs) = (store.waker(), Arc::clone(&shared));
        let thread = thread::Builder::new()
            .name("forebay-store".to_owned())
            .spawn(move || work(store, &theirs))?;
        let unpark = || Waker::from(Arc::new(Unpark(thread.thread().clone())));
        shared.bell.get_or_init(|| bell.unwrap_or_else(unpark));
        let thread = Some(thread);
        Ok(Self { shared, thread })
    }

    /// Another way to the store.
    pub fn handle(&self) -> Handle<D> {
        Handle {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Takes nothing in any more, finishes what waits, writes a checkpoint and gives the store
    /// back.
    ///
    /// # Errors
    /// When a write failed: the process must end.
    ///
    /// # Panics
    /// When something that was [run](Handle::run) on the thread panicked.
    pub fn close(mut self) -> Result<Store<D>, Poisoned> {
        let ended = self.end().map(|joined| match joined {
            Ok((store, result)) => result.map(|()| store),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.unwrap_or_else(|| Err(gone()))
    }

    fn end(&mut self) -> Option<thread::Result<Ended<D>>> {
        self.shared.lock().closed = true;
        self.shared.ring();
        self.thread.take().map(JoinHandle::join)
    }
}

impl<D: Disk> Drop for Writer<D> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl<D: Disk> Clone for Handle<D> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<D: Disk> Handle<D> {
    /// Commits a batch and waits until it is durable as the store's options say.
    ///
    /// # Errors
    /// As [`Store::commit`]; [`CommitError::Closed`] once the writer is closed; and
    /// [`CommitError::Poisoned`] when its write failed, so that it may be there or not.
    pub fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (reply, result) = sync_channel(1);
        self.shared.push(Job::Commit(batch, reply))?;
        result.recv().unwrap_or_else(|_| Err(self.shared.ended()))
    }

    /// Does something with the store on its thread and waits for the result. Nothing else happens
    /// there meanwhile.
    ///
    /// # Errors
    /// [`CommitError::Closed`] or [`CommitError::Poisoned`] when the thread has ended.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store<D>) -> T + Send + 'static,
    ) -> Result<T, CommitError> {
        let (reply, result) = sync_channel(1);
        // Whoever asked is there until the answer is.
        let work = move |store: &mut Store<D>| drop(reply.send(work(store)));
        self.shared.push(Job::Run(Box::new(work)))?;
        result.recv().map_err(|_| self.shared.ended())
    }

    /// How many callers wait for the thread to take in what they ask.
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.len()
    }
}

impl<D: Disk> Shared<D> {
    fn lock(&self) -> MutexGuard<'_, Inbox<D>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        if let Some(bell) = self.bell.get() {
            bell.wake_by_ref();
        }
    }

    fn push(&self, job: Job<D>) -> Result<(), CommitError> {
        let full = |inbox: &mut Inbox<D>| !inbox.closed && inbox.jobs.len() >= self.waiting_max;
        let waited = self.room.wait_while(self.lock(), full);
        let mut inbox = waited.unwrap_or_else(PoisonError::into_inner);
        if inbox.closed {
            drop(inbox);
            return Err(self.ended());
        }
        inbox.jobs.push_back(job);
        drop(inbox);
        self.ring();
        Ok(())
    }

    fn ended(&self) -> CommitError {
        let poisoned = self.lock().poisoned.clone();
        poisoned.map_or(CommitError::Closed, CommitError::Poisoned)
    }

    /// Takes what waits, and says whether more may come.
    fn take(&self, jobs: &mut VecDeque<Job<D>>) -> bool {
        let mut inbox = self.lock();
        std::mem::swap(jobs, &mut inbox.jobs);
        self.room.notify_all();
        !inbox.closed
    }
}

fn gone() -> Poisoned {
    Poisoned {
        reason: "the store's thread has ended".into(),
    }
}

/// Lets everyone go when the thread ends, whatever ends it.
struct Ending<'a, D: Disk>(&'a Shared<D>, Option<Poisoned>);

impl<D: Disk> Drop for Ending<'_, D> {
    fn drop(&mut self) {
        let mut inbox = self.0.lock();
        inbox.closed = true;
        inbox.poisoned = self.1.take().or(thread::panicking().then(gone));
        // What is dropped here tells its caller that it will not be done.
        let jobs = std::mem::take(&mut inbox.jobs);
        drop(inbox);
        drop(jobs);
        self.0.room.notify_all();
    }
}

fn work<D: Disk>(mut store: Store<D>, shared: &Shared<D>) -> Ended<D> {
    let mut waiting = VecDeque::new();
    let mut ending = Ending(shared, None);
    let result = serve(&mut store, shared, &mut waiting);
    let result = result.and_then(|()| store.checkpoint());
    ending.1 = result.as_ref().err().cloned();
    drop(ending);
    drop(waiting);
    (store, result)
}

fn serve<D: Disk>(
    store: &mut Store<D>,
    shared: &Shared<D>,
    waiting: &mut VecDeque<(Committed, Reply)>,
) -> Result<(), Poisoned> {
    let mut jobs = VecDeque::new();
    loop {
        let more = shared.take(&mut jobs);
        let mut progress = !jobs.is_empty();
        for job in jobs.drain(..) {
            match job {
                Job::Run(work) => work(store),
                Job::Commit(batch, reply) => match store.commit(&batch) {
                    Ok(committed) => waiting.push_back((committed, reply)),
                    // A caller that is gone needs no answer, here and below.
                    Err(error) => drop(reply.send(Err(error))),
                },
            }
        }
        let durable = store.poll(false)?;
        while let Some((committed, reply)) = waiting.pop_front_if(|(it, _)| it.seq <= durable) {
            progress = true;
            drop(reply.send(Ok(committed)));
        }
        if progress {
            continue;
        }
        if !more && waiting.is_empty() {
            return store.sync().map(drop);
        }
        if store.waker().is_some() {
            store.park(None);
        } else if store.is_writing() {
            thread::yield_now();
        } else {
            thread::park();
        }
    }
}

impl<D: Disk> std::fmt::Debug for Shared<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("waiting", &self.lock().jobs.len())
            .finish_non_exhaustive()
    }
}
