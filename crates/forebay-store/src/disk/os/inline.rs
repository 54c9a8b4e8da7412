//! Durable writes by a plain write and `fdatasync`, made at once by the caller.

use std::{fs::File, io, os::unix::fs::FileExt, sync::Arc, task::Waker, time::Duration};

use super::{Writer, mailbox::Mailbox};
use crate::disk::{Done, Write};

#[derive(Default)]
pub(super) struct Inline {
    mailbox: Arc<Mailbox>,
}

impl Writer for Inline {
    fn start(&mut self, file: Arc<File>, write: Write) {
        let result = write_and_sync(&file, &write.buf, write.offset);
        self.mailbox.push_done(Done {
            tag: write.tag,
            buf: write.buf,
            result,
        });
    }

    fn next_done(&mut self, _wait: bool) -> Option<Done> {
        self.mailbox.pop_done(false)
    }

    fn park(&mut self, timeout: Option<Duration>) {
        self.mailbox.park(timeout);
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.mailbox))
    }
}

pub(super) fn write_and_sync(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)?;
    // Not tried again, whatever it says: after one failure the kernel may call lost pages clean.
    Ok(rustix::fs::fdatasync(file)?)
}
