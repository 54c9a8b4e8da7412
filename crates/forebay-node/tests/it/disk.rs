//! A disk that fails or holds back its writes when it is told to.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::Duration,
};

use forebay_store::{AlignedBuf, Disk, Done, FileName, LockError, Write};

/// What the disk is told.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Told>);

#[derive(Default)]
struct Told {
    fail: AtomicBool,
    hold: AtomicBool,
}

impl Orders {
    /// Every write from here on ends with an error.
    pub(crate) fn fail(&self) {
        self.0.fail.store(true, Ordering::SeqCst);
    }

    /// No write ends until this is taken back.
    pub(crate) fn hold(&self, hold: bool) {
        self.0.hold.store(hold, Ordering::SeqCst);
    }
}

pub(crate) struct Ordered<D> {
    pub(crate) disk: D,
    pub(crate) orders: Orders,
}

impl<D: Disk> Disk for Ordered<D> {
    fn alignment(&self) -> usize {
        self.disk.alignment()
    }

    fn max_in_flight(&self) -> usize {
        self.disk.max_in_flight()
    }

    fn lock(&mut self) -> Result<(), LockError> {
        self.disk.lock()
    }

    fn list(&mut self) -> io::Result<Vec<(FileName, u64)>> {
        self.disk.list()
    }

    fn create(&mut self, name: FileName, len: u64) -> io::Result<()> {
        self.disk.create(name, len)
    }

    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&mut self, name: FileName) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        self.disk.sync_dir()
    }

    fn read_at(&mut self, name: FileName, offset: u64, buf: &mut AlignedBuf) -> io::Result<()> {
        self.disk.read_at(name, offset, buf)
    }

    fn start_write(&mut self, write: Write) {
        self.disk.start_write(write);
    }

    fn next_done(&mut self, wait: bool) -> Option<Done> {
        while self.orders.0.hold.load(Ordering::SeqCst) {
            if !wait {
                return None;
            }
            std::thread::yield_now();
        }
        let mut done = self.disk.next_done(wait)?;
        if self.orders.0.fail.load(Ordering::SeqCst) {
            done.result = Err(io::Error::other("ordered to fail"));
        }
        Some(done)
    }

    fn free_space(&mut self) -> io::Result<u64> {
        self.disk.free_space()
    }

    fn park(&mut self, timeout: Option<Duration>) {
        if self.orders.0.hold.load(Ordering::SeqCst) {
            // What has ended would wake a real park at once.
            std::thread::yield_now();
        } else {
            self.disk.park(timeout);
        }
    }

    fn waker(&self) -> Option<Waker> {
        self.disk.waker()
    }
}
