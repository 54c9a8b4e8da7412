//! What should arrive, and what did.
//!
//! Owns [`Judge`]: a bit for each message that a subscriber is to get, so that a loss, a double
//! and a change of order are told apart. Publisher i writes to topic i modulo the number of
//! topics, subscriber j reads topic j modulo the same.

use super::{Load, histogram::Histogram};

/// The book of a measurement.
#[derive(Debug)]
pub(super) struct Judge {
    publishers: usize,
    topics: usize,
    /// Messages of each publisher.
    quotas: Vec<u64>,
    /// For each subscriber, for each publisher that it hears.
    streams: Vec<Vec<Stream>>,
    /// Messages of each publisher that were read, by all subscribers together.
    read: Vec<u64>,
    expected: u64,
    received: u64,
    doubled: u64,
    reordered: u64,
    foreign: u64,
    latency: Histogram,
}

/// The messages of one publisher to one subscriber.
#[derive(Clone, Debug, Default)]
struct Stream {
    seen: Vec<u64>,
    /// One more than the highest number that came.
    next: u32,
}

impl Judge {
    pub(super) fn new(load: &Load) -> Self {
        let (publishers, topics) = (load.publishers, topics(load));
        let (each, rest) = (
            load.messages / publishers as u64,
            load.messages % publishers as u64,
        );
        let quotas: Vec<u64> = (0..publishers as u64)
            .map(|index| each + u64::from(index < rest))
            .collect();
        let heard = |subscriber: usize| (subscriber % topics..publishers).step_by(topics);
        let streams: Vec<Vec<Stream>> = (0..load.subscribers)
            .map(|subscriber| heard(subscriber).map(|_| Stream::default()).collect())
            .collect();
        let expected = (0..load.subscribers)
            .flat_map(heard)
            .filter_map(|publisher| quotas.get(publisher))
            .sum();
        Self {
            publishers,
            topics,
            quotas,
            streams,
            read: vec![0; publishers],
            expected,
            received: 0,
            doubled: 0,
            reordered: 0,
            foreign: 0,
            latency: Histogram::new(),
        }
    }

    /// The topic that publisher or subscriber `index` uses.
    pub(super) fn topic_of(load: &Load, index: usize) -> usize {
        index % topics(load)
    }

    /// How many messages a publisher sends.
    pub(super) fn quota(&self, publisher: usize) -> u64 {
        self.quotas.get(publisher).copied().unwrap_or_default()
    }

    /// How many subscribers hear a publisher.
    pub(super) fn audience(&self, publisher: usize) -> u64 {
        let topic = publisher % self.topics;
        (self.streams.len() + self.topics - 1 - topic) as u64 / self.topics as u64
    }

    /// Messages of a publisher that were read, by all subscribers together.
    pub(super) fn read(&self, publisher: usize) -> u64 {
        self.read.get(publisher).copied().unwrap_or_default()
    }

    /// A message came; its publisher where it is one of this run.
    pub(super) fn arrived(&mut self, subscriber: usize, payload: &[u8], now: u64) -> Option<usize> {
        let publisher = self.enter(subscriber, payload, now);
        if publisher.is_none() {
            self.foreign += 1;
        }
        publisher
    }

    fn enter(&mut self, subscriber: usize, payload: &[u8], now: u64) -> Option<usize> {
        let (publisher, number, sent) = read_header(payload)?;
        let publisher = publisher as usize;
        let quota = *self.quotas.get(publisher)?;
        if u64::from(number) >= quota || publisher % self.topics != subscriber % self.topics {
            return None;
        }
        let stream = self
            .streams
            .get_mut(subscriber)?
            .get_mut(publisher / self.topics)?;
        if stream.seen.is_empty() {
            stream.seen = vec![0; quota.div_ceil(64) as usize];
        }
        let word = stream.seen.get_mut(number as usize / 64)?;
        let bit = 1 << (number % 64);
        if *word & bit != 0 {
            self.doubled += 1;
            return Some(publisher);
        }
        *word |= bit;
        self.received += 1;
        if let Some(read) = self.read.get_mut(publisher) {
            *read += 1;
        }
        if number < stream.next {
            self.reordered += 1;
        } else {
            stream.next = number + 1;
        }
        self.latency.record(now.saturating_sub(sent));
        debug_assert!(publisher < self.publishers);
        Some(publisher)
    }

    pub(super) const fn expected(&self) -> u64 {
        self.expected
    }

    pub(super) const fn received(&self) -> u64 {
        self.received
    }

    pub(super) const fn doubled(&self) -> u64 {
        self.doubled
    }

    pub(super) const fn reordered(&self) -> u64 {
        self.reordered
    }

    pub(super) const fn foreign(&self) -> u64 {
        self.foreign
    }

    pub(super) const fn latency(&self) -> &Histogram {
        &self.latency
    }
}

fn topics(load: &Load) -> usize {
    match (load.shared_topic, load.subscribers) {
        (true, _) => 1,
        (false, 0) => load.publishers,
        (false, subscribers) => load.publishers.min(subscribers),
    }
}

/// Publisher, number and time at the start of a payload.
pub(super) fn header(publisher: usize, number: u32, now: u64) -> [u8; super::HEADER_BYTES] {
    let mut bytes = [0; super::HEADER_BYTES];
    let fields = (publisher as u32).to_be_bytes().into_iter();
    let fields = fields.chain(number.to_be_bytes()).chain(now.to_be_bytes());
    bytes
        .iter_mut()
        .zip(fields)
        .for_each(|(place, byte)| *place = byte);
    bytes
}

fn read_header(payload: &[u8]) -> Option<(u32, u32, u64)> {
    let (publisher, rest) = payload.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let sent = rest.first_chunk()?;
    Some((
        u32::from_be_bytes(*publisher),
        u32::from_be_bytes(*number),
        u64::from_be_bytes(*sent),
    ))
}
