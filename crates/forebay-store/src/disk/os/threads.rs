//! Durable writes by `pwritev2` with `RWF_DSYNC`, one thread for each write in flight.

use std::{
    fs::File,
    io::{self, IoSlice},
    sync::Arc,
    task::Waker,
    thread::JoinHandle,
    time::Duration,
};

use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::{Writer, inline::write_and_sync, mailbox::Mailbox};
use crate::disk::{Done, Write};

pub(super) struct Threads {
    mailbox: Arc<Mailbox>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(super) fn new(count: usize) -> io::Result<Self> {
        // Whole from the start, so that a thread that can't be had ends those before it.
        let mut threads = Self {
            mailbox: Arc::default(),
            threads: Vec::with_capacity(count),
        };
        for number in 0..count {
            let mailbox = Arc::clone(&threads.mailbox);
            let thread = std::thread::Builder::new()
                .name(format!("disk-write-{number}"))
                .spawn(move || {
                    while let Some((file, write)) = mailbox.pop_write() {
                        let result = write_durably(&file, &write.buf, write.offset);
                        drop(file);
                        mailbox.push_done(Done {
                            tag: write.tag,
                            buf: write.buf,
                            result,
                        });
                    }
                })?;
            threads.threads.push(thread);
        }
        Ok(threads)
    }
}

impl Writer for Threads {
    fn start(&mut self, file: Arc<File>, write: Write) {
        self.mailbox.push_write(file, write);
    }

    fn next_done(&mut self, wait: bool) -> Option<Done> {
        self.mailbox.pop_done(wait)
    }

    fn park(&mut self, timeout: Option<Duration>) {
        self.mailbox.park(timeout);
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.mailbox))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.mailbox.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has no write any more.
            let _ = thread.join();
        }
    }
}

fn write_durably(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match pwritev2(file, &[IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            // A kernel or file system without the flag has written nothing.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_and_sync(file, bytes, offset),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
