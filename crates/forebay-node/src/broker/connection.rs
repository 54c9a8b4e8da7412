//! A connection's task: reads, and goes on with what the turn could not write at once.
//!
//! Owns [`serve`]. The shard is borrowed for one read and its packets, never across a wait. At
//! the end of a connection that the machine closed, what waits is sent, then the sending side is
//! shut and what still comes is thrown away for a moment: closing with unread input would reset
//! the connection and lose the last packet.

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use forebay_proto::{Decoder, Role};
use tokio::{task::yield_now, time::timeout};

use super::{
    door::Caller,
    peer::{End, Peer},
    shard::Shard,
};
use crate::net::{Incoming, Outgoing, ReadHalf, WriteHalf};

/// What a connection's task has to see to.
enum Event {
    /// What was read, and whether there is likely more.
    Bytes(BytesMut, bool),
    /// The machine ended the connection.
    Closing,
    /// The peer went, or the connection broke, or it was given up.
    Gone,
}

/// Takes a connection in and serves it in a task of its own.
pub(crate) fn accept(
    shard: &Rc<RefCell<Shard>>,
    (reading, writing): (ReadHalf, WriteHalf),
    caller: Caller,
) {
    let (incoming, outgoing) = (Incoming::new(reading), Outgoing::new(writing));
    let Some(peer) = shard.borrow_mut().open(outgoing, caller) else {
        tracing::debug!("refused: too many connections");
        return;
    };
    tracing::debug!(connection = peer.id.0, peer = %peer.address, "open");
    tokio::task::spawn_local(serve(Rc::clone(shard), peer, incoming));
}

async fn serve(shard: Rc<RefCell<Shard>>, peer: Rc<Peer>, mut incoming: Incoming) {
    let max = shard.borrow().packet_bytes;
    let mut decoder = Decoder::new(Role::Server, max);
    loop {
        match poll_fn(|cx| poll_event(&shard, &peer, &mut incoming, cx)).await {
            Event::Bytes(mut bytes, more) => {
                shard.borrow_mut().receive(&peer, &mut decoder, &mut bytes);
                incoming.give_back(bytes);
                if more {
                    yield_now().await;
                }
            }
            Event::Closing => {
                let limit = shard.borrow().limits.close;
                if timeout(limit, poll_fn(|cx| poll_sent(&shard, &peer, cx)))
                    .await
                    .is_ok()
                {
                    let discard =
                        poll_fn(|cx| incoming.poll_discard(&mut shard.borrow_mut().scratch, cx));
                    // Whatever comes of it, the connection is over.
                    let _ = timeout(limit, discard).await;
                }
                break;
            }
            Event::Gone => {
                shard.borrow_mut().lost(&peer);
                break;
            }
        }
    }
    tracing::debug!(connection = peer.id.0, "closed");
    shard.borrow_mut().task_ended();
}

fn poll_event(
    shard: &RefCell<Shard>,
    peer: &Rc<Peer>,
    incoming: &mut Incoming,
    cx: &mut Context<'_>,
) -> Poll<Event> {
    peer.park(cx.waker());
    match peer.end.get() {
        End::Open => {}
        End::Closing => return Poll::Ready(Event::Closing),
        End::Broken => return Poll::Ready(Event::Gone),
    }
    let shard = &mut *shard.borrow_mut();
    let mut outgoing = peer.outgoing.borrow_mut();
    if outgoing.blocked_since().is_some()
        && let Poll::Ready(Err(error)) = outgoing.poll_drain(&mut shard.pool, cx)
    {
        return Poll::Ready(gone(peer, &error));
    }
    drop(outgoing);
    if shard.must_wait(peer) {
        return Poll::Pending;
    }
    if peer.held.replace(false) {
        return Poll::Ready(Event::Bytes(incoming.take(), false));
    }
    Poll::Ready(match ready!(incoming.poll_read(&mut shard.scratch, cx)) {
        Ok(Some((bytes, more))) => Event::Bytes(bytes, more),
        Ok(None) => Event::Gone,
        Err(error) => gone(peer, &error),
    })
}

fn gone(peer: &Peer, error: &io::Error) -> Event {
    tracing::debug!(connection = peer.id.0, %error, "broken");
    Event::Gone
}

/// Ready once everything is sent and the peer was told that nothing follows.
fn poll_sent(shard: &RefCell<Shard>, peer: &Peer, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    let shard = &mut *shard.borrow_mut();
    let mut outgoing = peer.outgoing.borrow_mut();
    ready!(outgoing.poll_drain(&mut shard.pool, cx))?;
    outgoing.poll_shutdown(cx)
}
