//! A turn of the broker thread: what the disk answered, what is due, and then everything that
//! has to go out.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use forebay_store::Poisoned;
use tokio::time::Sleep;

use super::{OUTPUTS, Shard};
use crate::{broker::peer::End, disk_thread::Report};

/// How often connections whose peer doesn't read are looked at.
const LOOK_AT_BLOCKED: Duration = Duration::from_secs(1);

impl Shard {
    /// Takes a turn. Ready when a write of the store failed: nothing is sent any more.
    pub(crate) fn poll_turn(
        &mut self,
        mut timer: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Poll<Poisoned> {
        // What the turn itself makes goes out in it.
        self.woken = true;
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
        match self.link.take_reports(cx.waker()) {
            Ok(reports) => self.reports(reports),
            Err(error) => return Poll::Ready(self.break_off(error)),
        }
        loop {
            self.due();
            self.drain(self.clock.now());
            self.flush();
            self.arm(timer.as_mut());
            if self.armed.is_none() || timer.as_mut().poll(cx).is_pending() {
                break;
            }
            self.armed = None;
        }
        self.woken = false;
        if self.is_durable() {
            self.settled.notify_one();
        }
        Poll::Pending
    }

    fn reports(&mut self, reports: Vec<Report>) {
        let now = self.clock.now();
        for report in reports {
            match report {
                Report::Durable(seq) => {
                    if self.backlog.durable(seq) {
                        for peer in self.paused.drain(..) {
                            peer.paused.set(false);
                            peer.wake();
                        }
                    }
                    self.machine.handle_durable(seq, now);
                }
                Report::Resumed {
                    session,
                    epoch,
                    resumed,
                } => {
                    self.machine.handle_resumed(session, epoch, resumed, now);
                }
                Report::Promoted {
                    session,
                    epoch,
                    messages,
                } => {
                    self.machine.handle_promoted(session, epoch, messages, now);
                }
                Report::Full(full) => {
                    self.numbers.full = full;
                    self.machine.handle_storage_full(full);
                }
            }
            if self.machine.outputs() > OUTPUTS {
                self.drain(now);
            }
        }
    }

    /// Does what time has come for.
    fn due(&mut self) {
        let now = self.clock.now();
        if self.machine.poll_timeout().is_some_and(|due| due <= now) {
            self.machine.handle_timeout(now);
        }
        if self.look_at_blocked.is_some_and(|due| due <= now) {
            self.look_at_blocked = None;
            for peer in std::mem::take(&mut self.blocked) {
                let since = peer.outgoing.borrow().blocked_since();
                match since.filter(|_| peer.end.get() == End::Open) {
                    Some(since) if since.elapsed() >= self.limits.write_stall => {
                        self.give_up(&peer);
                        self.lost(&peer);
                    }
                    Some(_) => self.blocked.push(peer),
                    None => peer.blocked.set(false),
                }
            }
        }
    }

    /// Sets the timer to what is due next.
    fn arm(&mut self, timer: Pin<&mut Sleep>) {
        if self.blocked.is_empty() {
            self.look_at_blocked = None;
        } else if self.look_at_blocked.is_none() {
            self.look_at_blocked = Some(self.clock.now().after(LOOK_AT_BLOCKED));
        }
        let next = [self.machine.poll_timeout(), self.look_at_blocked]
            .into_iter()
            .flatten()
            .min();
        // A timer that goes off early is cheaper than one that is moved with every packet.
        if let Some(next) = next
            && self.armed.is_none_or(|armed| next < armed)
        {
            self.armed = Some(next);
            timer.reset(self.clock.deadline(next));
        }
    }

    /// Ends every connection without another byte.
    fn break_off(&mut self, error: Poisoned) -> Poisoned {
        self.stopping = true;
        for peer in self.peers.iter() {
            peer.end(End::Broken);
        }
        error
    }
}
