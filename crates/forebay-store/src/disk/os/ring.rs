//! Durable writes through an io_uring: the only `unsafe` code of the project.
//!
//! Owns the ring, and every buffer and file that the kernel may still use: a write stays in its
//! slot from before the kernel hears of it until the kernel has given it back. What can't be
//! waited for is leaked, never freed.
//!
//! A ring works best for one thread: the kernel finishes a write on the thread that started it.
#![expect(
    unsafe_code,
    reason = "the kernel uses memory after the call that names it has returned"
)]

use std::{
    collections::VecDeque,
    fs::File,
    io, mem,
    os::fd::AsRawFd,
    sync::Arc,
    task::Waker,
    thread::{self, ThreadId},
    time::Duration,
};

use io_uring::{
    IoUring, cqueue, opcode, squeue,
    types::{Fd, SubmitArgs, Timespec},
};
use rustix::{event::PollFlags, io::Errno};

use super::{Writer, signal::Signal};
use crate::disk::{Done, Write};

/// Marks completions of the poll on the signal; writes are marked with their slot.
const SIGNAL: u64 = u64::MAX;

/// The most that is handed to the kernel in one write.
const WRITE_MAX: usize = 1 << 30;

pub(super) struct Ring {
    uring: IoUring,
    slots: Vec<Option<InFlight>>,
    in_flight: usize,
    ready: VecDeque<Done>,
    signal: Arc<Signal>,
    /// The thread that watches the signal, if one does.
    armed: Option<ThreadId>,
    /// Set for good when the kernel no longer takes calls for this ring.
    broken: bool,
}

struct InFlight {
    file: Arc<File>,
    write: Write,
    /// Bytes of it that are on disk.
    written: usize,
}

impl Ring {
    pub(super) fn new(max_in_flight: usize) -> io::Result<Self> {
        // Room for the writes, a poll, and a poll that another thread left behind.
        let entries = (max_in_flight as u32 + 2).next_power_of_two();
        // Completions wait for the next call into the kernel instead of interrupting the thread;
        // kernels before 5.19 don't know how.
        let uring = IoUring::builder()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .build(entries)
            .or_else(|error| {
                if error.kind() == io::ErrorKind::InvalidInput {
                    IoUring::new(entries)
                } else {
                    Err(error)
                }
            })?;
        // It came with Linux 5.13, as did polls that stay; what an earlier kernel lacks isn't
        // worth a second way to do everything.
        if !uring.params().is_feature_resource_tagging() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "an io_uring of a kernel before 5.13",
            ));
        }
        let mut slots = Vec::new();
        slots.resize_with(max_in_flight, || None);
        let signal = Arc::new(Signal::new()?);
        Ok(Self {
            uring,
            slots,
            in_flight: 0,
            ready: VecDeque::new(),
            signal,
            armed: None,
            broken: false,
        })
    }

    /// Hands the rest of a slot's write to the kernel.
    fn submit(&mut self, slot: usize) {
        let Some(Some(InFlight {
            file,
            write,
            written,
        })) = self.slots.get(slot)
        else {
            return;
        };
        let rest = write.buf.get(*written..).unwrap_or_default();
        let entry = opcode::Write::new(
            Fd(file.as_raw_fd()),
            rest.as_ptr(),
            rest.len().min(WRITE_MAX) as u32,
        )
        .offset(write.offset + *written as u64)
        .build()
        .user_data(slot as u64);
        self.push(&entry);
        self.enter(0, None);
    }

    fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: the kernel may use what the entry points to until it posts the completion.
            // A write's entry points into the heap block of an `AlignedBuf`, and names a
            // descriptor; the slot has a share of both. The block stays where it is when shares
            // move, no one can have it mutably while the slot has its share, and that is given up
            // only in `complete`, after the completion, or leaked in `abandon`. A poll's entry
            // points to nothing, and the signal lives as long as the ring.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return;
            }
            // The queue has an entry for each slot, so it is full only of entries that an earlier
            // call could not hand over.
            self.enter(0, None);
            if self.broken {
                return;
            }
        }
    }

    /// Hands over what was pushed and waits for `want` completions, or until the time is over.
    fn enter(&mut self, want: usize, timeout: Option<Duration>) {
        if self.broken {
            return;
        }
        let entered = match timeout {
            None => self.uring.submit_and_wait(want),
            Some(timeout) => {
                let timeout = Timespec::from(timeout);
                self.uring
                    .submitter()
                    .submit_with_args(want, &SubmitArgs::new().timespec(&timeout))
            }
        };
        let Err(error) = entered else { return };
        match Errno::from_io_error(&error) {
            // Interrupted, or the time is over; the caller looks again.
            Some(Errno::INTR | Errno::TIME) => {}
            // The kernel is short of memory for requests, and may not be in a moment; what was
            // pushed stays pushed.
            Some(Errno::AGAIN | Errno::BUSY | Errno::NOMEM) => {
                thread::sleep(Duration::from_millis(1));
            }
            _ => self.abandon(&error),
        }
    }

    /// Sorts the completions that are there; true if any was.
    fn reap(&mut self) -> bool {
        let mut any = false;
        loop {
            let next = self.uring.completion().next();
            let Some(entry) = next else { return any };
            any = true;
            if entry.user_data() == SIGNAL {
                if !cqueue::more(entry.flags()) {
                    self.armed = None;
                }
            } else {
                self.complete(entry.user_data() as usize, entry.result());
            }
        }
    }

    fn complete(&mut self, slot: usize, result: i32) {
        let Some(Some(in_flight)) = self.slots.get_mut(slot) else {
            return;
        };
        let result = match usize::try_from(result) {
            Ok(0) if !in_flight.write.buf.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                in_flight.written += written;
                if in_flight.written < in_flight.write.buf.len() {
                    return self.submit(slot);
                }
                Ok(())
            }
            // Nothing was written and nothing failed.
            Err(_) if [Errno::INTR, Errno::AGAIN].contains(&Errno::from_raw_os_error(-result)) => {
                return self.submit(slot);
            }
            Err(_) => Err(io::Error::from_raw_os_error(-result)),
        };
        if let Some(InFlight { write, .. }) = self.slots.get_mut(slot).and_then(Option::take) {
            self.in_flight -= 1;
            self.ready.push_back(Done {
                tag: write.tag,
                buf: write.buf,
                result,
            });
        }
    }

    /// Fails every write in flight. The kernel keeps a share of their buffers and files for good.
    fn abandon(&mut self, error: &io::Error) {
        self.broken = true;
        for InFlight { file, write, .. } in self.slots.iter_mut().filter_map(Option::take) {
            mem::forget((file, Arc::clone(&write.buf)));
            let error = error
                .raw_os_error()
                .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.ready.push_back(Done {
                tag: write.tag,
                buf: write.buf,
                result: Err(error),
            });
        }
        self.in_flight = 0;
    }

    /// Lets calls of a [`Signal`] end this thread's sleep.
    fn arm(&mut self) {
        let this = thread::current().id();
        if self.armed != Some(this) {
            let readable = u32::from(PollFlags::IN.bits());
            let entry = opcode::PollAdd::new(Fd(self.signal.as_raw_fd()), readable)
                .multi(true)
                .build();
            self.push(&entry.user_data(SIGNAL));
            self.armed = Some(this);
        }
    }
}

impl Writer for Ring {
    fn start(&mut self, file: Arc<File>, write: Write) {
        let free = if self.broken {
            None
        } else {
            self.slots.iter().position(Option::is_none)
        };
        let Some(slot) = free else {
            let result = Err(io::Error::other("no more writes can be started"));
            self.ready.push_back(Done {
                tag: write.tag,
                buf: write.buf,
                result,
            });
            return;
        };
        if let Some(free) = self.slots.get_mut(slot) {
            *free = Some(InFlight {
                file,
                write,
                written: 0,
            });
            self.in_flight += 1;
        }
        self.submit(slot);
    }

    fn next_done(&mut self, wait: bool) -> Option<Done> {
        loop {
            if let Some(done) = self.ready.pop_front() {
                return Some(done);
            }
            if self.in_flight == 0 {
                return None;
            }
            if self.reap() {
                continue;
            }
            if wait {
                self.enter(1, None);
            } else if self.uring.submission().taskrun() || !self.uring.submission().is_empty() {
                self.enter(0, None);
                if !self.reap() {
                    return None;
                }
            } else {
                return None;
            }
        }
    }

    fn park(&mut self, timeout: Option<Duration>) {
        self.reap();
        if !self.ready.is_empty() || !self.signal.begin_sleep() {
            return;
        }
        self.arm();
        self.enter(1, timeout);
        self.signal.end_sleep();
        self.reap();
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.signal))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if !self.reap() {
                // It ends at the latest when the ring breaks, which leaves nothing in flight.
                self.enter(1, None);
            }
        }
    }
}
