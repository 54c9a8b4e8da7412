//! One connection, as the broker thread sees it.
//!
//! Owns [`Peer`], which the connection's task and the shard share, and [`Peers`], where it is
//! found by its number. Never reads: that is the task's part.

use std::{
    cell::{Cell, RefCell},
    fmt,
    net::SocketAddr,
    rc::Rc,
    task::Waker,
};

use forebay_proto::{ConnectionId, Seq, Version};

use crate::net::Outgoing;

/// The address of a connection; a Unix socket has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) Option<SocketAddr>);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on.
    Open,
    /// The machine ended it: what waits is sent first.
    Closing,
    /// It is broken or was given up: nothing is sent any more.
    Broken,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its number.
    pub(crate) id: ConnectionId,
    /// Where it comes from.
    pub(crate) address: Address,
    /// What it is sent.
    pub(crate) outgoing: RefCell<Outgoing>,
    /// The version it speaks, known from its CONNECT.
    pub(crate) version: Cell<Version>,
    /// Whether it goes on.
    pub(crate) end: Cell<End>,
    /// Whether it is in the shard's list of connections with something to send.
    pub(crate) dirty: Cell<bool>,
    /// The first commit with something that it sent last: until that is durable, it waits when the
    /// disk is behind.
    pub(crate) commit: Cell<Option<Seq>>,
    /// Whether it is in the shard's list of connections whose peer doesn't read.
    pub(crate) blocked: Cell<bool>,
    /// Whether packets that were read are not handed in, since the machine took no more.
    pub(crate) held: Cell<bool>,
    /// Whether it is in the shard's list of connections that wait for the disk.
    pub(crate) paused: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Peer {
    pub(crate) fn new(id: ConnectionId, address: Address, outgoing: Outgoing) -> Self {
        Self {
            id,
            address,
            outgoing: RefCell::new(outgoing),
            version: Cell::new(Version::V5),
            end: Cell::new(End::Open),
            dirty: Cell::new(false),
            commit: Cell::new(None),
            blocked: Cell::new(false),
            held: Cell::new(false),
            paused: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// Remembers whom to wake.
    pub(crate) fn park(&self, waker: &Waker) {
        let mut slot = self.waker.borrow_mut();
        match slot.as_mut() {
            Some(parked) => parked.clone_from(waker),
            None => *slot = Some(waker.clone()),
        }
    }

    /// Wakes the connection's task.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    /// Ends the connection; a broken one stays broken.
    pub(crate) fn end(&self, end: End) {
        if self.end.get() == End::Open {
            self.end.set(end);
        }
        self.wake();
    }
}

/// The open connections: a place each, whose number is never used twice.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    places: Vec<Place>,
    free: Vec<u32>,
    open: usize,
}

#[derive(Debug)]
struct Place {
    generation: u32,
    peer: Option<Rc<Peer>>,
}

impl Peers {
    /// How many connections are open.
    pub(crate) fn len(&self) -> usize {
        self.open
    }

    /// The number that the next connection has, and its place.
    fn next(&mut self) -> (ConnectionId, usize) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                peer: None,
            });
            (self.places.len() - 1) as u32
        });
        let generation = self
            .places
            .get(place as usize)
            .map_or(0, |place| place.generation);
        (
            ConnectionId(u64::from(generation) << 32 | u64::from(place)),
            place as usize,
        )
    }

    /// Adds the connection that `make` makes of its number.
    pub(crate) fn add(&mut self, make: impl FnOnce(ConnectionId) -> Peer) -> Rc<Peer> {
        let (id, place) = self.next();
        let peer = Rc::new(make(id));
        self.open += 1;
        if let Some(place) = self.places.get_mut(place) {
            place.peer = Some(Rc::clone(&peer));
        }
        peer
    }

    /// The open connection with this number.
    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Rc<Peer>> {
        let place = self.places.get((id.0 & u64::from(u32::MAX)) as usize)?;
        place.peer.as_ref().filter(|peer| peer.id == id)
    }

    /// Removes the connection with this number.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Rc<Peer>> {
        let index = id.0 as u32;
        let place = self.places.get_mut(index as usize)?;
        let peer = place.peer.take_if(|peer| peer.id == id)?;
        self.open -= 1;
        // A place is given up for good before its numbers could come again.
        if let Some(generation) = place.generation.checked_add(1) {
            place.generation = generation;
            self.free.push(index);
        }
        Some(peer)
    }

    /// All open connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rc<Peer>> {
        self.places.iter().filter_map(|place| place.peer.as_ref())
    }
}
