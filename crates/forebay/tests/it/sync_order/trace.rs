//! Reads what `strace -f -yy -xx` wrote, and judges it.

mod tests;

use std::collections::HashMap;

/// The calls that matter: those that move bytes, and those that make them durable.
pub(super) const CALLS: &str = "write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,\
                                read,readv,recvfrom,recvmsg,fdatasync,fsync";

/// One system call that succeeded.
struct Call {
    name: String,
    /// What the descriptor is: a path or the two ends of a connection.
    target: String,
    /// The line of its entry.
    began: usize,
    /// The line of its exit.
    ended: usize,
    /// The bytes it moved.
    bytes: Vec<u8>,
    /// Whether its own return makes its bytes durable.
    synchronous: bool,
}

/// The calls of a run, in the order of their exits.
pub(super) struct Trace {
    calls: Vec<Call>,
}

impl Trace {
    /// Reads a trace.
    pub(super) fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut open: HashMap<&str, (usize, &str)> = HashMap::new();
        let mut calls = Vec::new();
        for (place, line) in text.lines().enumerate() {
            let Some((thread, rest)) = line.split_once(char::is_whitespace) else {
                continue;
            };
            let rest = rest.trim_start();
            if let Some(first) = rest.strip_suffix("<unfinished ...>") {
                open.insert(thread, (place, first));
            } else if let Some(resumed) = rest.strip_prefix("<... ") {
                let (Some((began, first)), Some((_, last))) =
                    (open.remove(thread), resumed.split_once(" resumed>"))
                else {
                    continue;
                };
                calls.extend(Call::parse(&format!("{first}{last}"), began, place));
            } else {
                calls.extend(Call::parse(rest, place, place));
            }
        }
        assert!(open.len() < 64, "{} calls never ended", open.len());
        Self { calls }
    }

    /// How many calls there are.
    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }
}

impl Call {
    /// Reads `name(descriptor<target>, "data", …) = result`; `None` for one that failed.
    fn parse(text: &str, began: usize, ended: usize) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let result: usize = result.split_whitespace().next()?.parse().ok()?;
        let (_, rest) = arguments.split_once('<')?;
        let end = if rest.starts_with("TCP") {
            rest.find("]>")? + 1
        } else {
            rest.find('>')?
        };
        let target = rest[..end].to_owned();
        let mut bytes = Vec::new();
        for data in rest[end..].split('"').skip(1).step_by(2) {
            for digits in data.split("\\x").skip(1) {
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
        }
        if name != "fdatasync" && name != "fsync" {
            bytes.truncate(result);
        }
        let synchronous = name == "pwritev2" && rest[end..].contains("RWF_DSYNC");
        Some(Self {
            name: name.to_owned(),
            target,
            began,
            ended,
            bytes,
            synchronous,
        })
    }

    fn is_disk_write(&self) -> bool {
        let writes = ["write", "writev", "pwrite64", "pwritev", "pwritev2"];
        // A path starts with a slash, which -xx writes as a number.
        self.target.starts_with("\\x2f") && writes.contains(&self.name.as_str())
    }
}

/// A packet on a connection of the trace.
#[derive(Clone, Copy)]
struct Seen {
    began: usize,
    ended: usize,
}

/// What a trace proves.
pub(super) struct Judge<'a> {
    /// Each disk write, with the line at which it was durable.
    durable: Vec<(&'a Call, usize)>,
    /// Each `<record>` in them, with the line at which it first was durable.
    records: HashMap<&'a [u8], usize>,
    /// Peer's port, first byte, packet identifier → first time it was read or written.
    packets: HashMap<(u16, u8, u16), Seen>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut durable = Vec::new();
        for write in trace.calls.iter().filter(|call| call.is_disk_write()) {
            if write.synchronous {
                durable.push((write, write.ended));
                continue;
            }
            let covers = |call: &&Call| {
                (call.name == "fdatasync" || call.name == "fsync")
                    && call.target == write.target
                    && call.began > write.ended
            };
            let sync = trace
                .calls
                .iter()
                .filter(covers)
                .map(|call| call.ended)
                .min();
            durable.extend(sync.map(|line| (write, line)));
        }
        let mut records = HashMap::new();
        for (write, line) in &durable {
            for part in write.bytes.split_inclusive(|&byte| byte == b'>') {
                if let Some(at) = part.iter().rposition(|&byte| byte == b'<') {
                    let first = records.entry(&part[at..]).or_insert(*line);
                    *first = (*line).min(*first);
                }
            }
        }
        let mut packets = HashMap::new();
        let mut streams: HashMap<(u16, bool), Stream> = HashMap::new();
        for call in &trace.calls {
            let Some((_, peer)) = call
                .target
                .strip_prefix("TCP:[")
                .and_then(|ends| ends.split_once("->"))
            else {
                continue;
            };
            let port = peer
                .trim_end_matches(']')
                .rsplit(':')
                .next()
                .and_then(|digits| digits.parse().ok());
            let Some(port) = port else { continue };
            let inward = call.name.starts_with("re");
            let seen = Seen {
                began: call.began,
                ended: call.ended,
            };
            for (first, id) in streams.entry((port, inward)).or_default().take(&call.bytes) {
                packets.entry((port, first, id)).or_insert(seen);
            }
        }
        Self {
            durable,
            records,
            packets,
        }
    }

    /// How many writes were made durable.
    pub(super) fn durable_writes(&self) -> usize {
        self.durable.len()
    }

    #[track_caller]
    fn packet(&self, port: u16, first: u8, id: u16) -> Seen {
        let seen = self.packets.get(&(port, first, id)).copied();
        seen.unwrap_or_else(|| panic!("{first:#04x} of {id} is not in the trace"))
    }

    /// Requires that an acknowledgement was written after a write with `record`, which is in
    /// angle brackets, was durable.
    #[track_caller]
    pub(super) fn require_written_after(&self, port: u16, first: u8, id: u16, record: &[u8]) {
        let ack = self.packet(port, first, id);
        let name = String::from_utf8_lossy(record);
        let on_disk = self.records.get(record).copied();
        let on_disk = on_disk.unwrap_or_else(|| panic!("{name} was never durable"));
        assert!(
            on_disk < ack.began,
            "{first:#04x} of {id} was written at line {}, {name} was durable at line {on_disk}",
            ack.began
        );
    }

    /// Requires that something was written and made durable between a packet that was read and
    /// the one that answers it.
    #[track_caller]
    pub(super) fn require_record_between(&self, port: u16, read: u8, answer: u8, id: u16) {
        let (asked, answered) = (self.packet(port, read, id), self.packet(port, answer, id));
        let between = |(call, durable): &(&Call, usize)| {
            call.began > asked.ended && *durable < answered.began
        };
        assert!(
            self.durable.iter().any(between),
            "{answer:#04x} of {id} was written at line {}, nothing was made durable since line {}",
            answered.began,
            asked.ended
        );
    }
}

/// The bytes of one direction of a connection, cut into packets.
#[derive(Default)]
struct Stream(Vec<u8>);

impl Stream {
    /// Adds bytes and gives the acknowledgements that are whole: first byte and identifier.
    fn take(&mut self, bytes: &[u8]) -> Vec<(u8, u16)> {
        self.0.extend_from_slice(bytes);
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(length) = size(&self.0[at..]) {
            let packet = &self.0[at..at + length];
            if matches!(packet[0] >> 4, 4..=7) && length >= 4 {
                found.push((packet[0], u16::from_be_bytes([packet[2], packet[3]])));
            }
            at += length;
        }
        self.0.drain(..at);
        found
    }
}

/// The size of the first packet, once it is all there.
fn size(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    for place in 0..4 {
        let byte = *bytes.get(1 + place)?;
        length |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(2 + place + length).filter(|&size| size <= bytes.len());
        }
    }
    None
}
