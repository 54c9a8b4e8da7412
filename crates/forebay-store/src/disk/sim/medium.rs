//! What is on a simulated disk, what is on its way there, and what a crash makes of it.

use std::{collections::BTreeMap, io};

use crate::disk::{Done, FileName, Write};

const SECTOR: usize = 512;

/// The medium and the machine's view of it.
#[derive(Debug)]
pub(super) struct Medium {
    pub(super) boot: u64,
    pub(super) locked: bool,
    pub(super) crashed: bool,
    pub(super) crash_at: u64,
    pub(super) steps: u64,
    pub(super) writes: u64,
    pub(super) bytes_written: u64,
    pub(super) reads: u64,
    pub(super) hold: bool,
    /// The number of the write that fails.
    pub(super) fail_write: u64,
    pub(super) fail_directory: bool,
    pub(super) refuse_names: bool,
    pub(super) unreadable: Vec<FileName>,
    pub(super) capacity: u64,
    pub(super) in_flight: Vec<InFlight>,
    /// Contents by an identity that renames keep.
    files: BTreeMap<u64, Vec<u8>>,
    next_file: u64,
    /// The directory as programs see it.
    names: BTreeMap<FileName, u64>,
    /// The directory on the medium, which lags by `unsynced`.
    durable_names: BTreeMap<FileName, u64>,
    unsynced: Vec<Change>,
    random: u64,
}

#[derive(Debug)]
pub(super) struct InFlight {
    file: Option<u64>,
    write: Write,
    fails: bool,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Rename(FileName, FileName),
    Remove(FileName),
}

pub(super) fn crashed() -> io::Error {
    io::Error::other("the simulated machine has crashed")
}

fn refused() -> io::Error {
    io::Error::other("a simulated fault")
}

impl Medium {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            boot: 0,
            locked: false,
            crashed: false,
            crash_at: 0,
            steps: 0,
            writes: 0,
            bytes_written: 0,
            reads: 0,
            hold: false,
            fail_write: 0,
            fail_directory: false,
            refuse_names: false,
            unreadable: Vec::new(),
            capacity: 1 << 40,
            in_flight: Vec::new(),
            files: BTreeMap::new(),
            next_file: 0,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced: Vec::new(),
            random: seed,
        }
    }

    /// The next number of the seed's sequence (splitmix64).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random() % bound.max(1) as u64) as usize
    }

    /// Counts a step; `false` when the machine is down, from this step on or before.
    fn step(&mut self) -> bool {
        if !self.crashed {
            self.steps += 1;
            if self.steps == self.crash_at {
                self.crashed = true;
            }
        }
        !self.crashed
    }

    pub(super) fn crash(&mut self) {
        self.crashed = true;
    }

    /// Decides what of the unfinished survives, and starts the machine again.
    pub(super) fn restart(&mut self) {
        for flight in std::mem::take(&mut self.in_flight) {
            self.land_some(&flight);
        }
        for change in std::mem::take(&mut self.unsynced) {
            if self.random() & 1 == 1 {
                self.make_durable(change);
            }
        }
        self.names = self.durable_names.clone();
        let kept: Vec<u64> = self.names.values().copied().collect();
        self.files.retain(|id, _| kept.contains(id));
        self.boot += 1;
        self.locked = false;
        self.crashed = false;
        self.crash_at = 0;
        self.hold = false;
        self.fail_write = 0;
        self.fail_directory = false;
        self.refuse_names = false;
        self.unreadable.clear();
    }

    /// Lands nothing, all, a first part or any sectors of a write.
    fn land_some(&mut self, flight: &InFlight) {
        let sectors = flight.write.buf.len() / SECTOR;
        let kind = self.below(4);
        let first = self.below(sectors + 1);
        for sector in 0..sectors {
            let lands = match kind {
                0 => false,
                1 => true,
                2 => sector < first,
                _ => self.random() & 1 == 1,
            };
            if lands {
                self.land(flight, sector * SECTOR, SECTOR);
            }
        }
    }

    fn land(&mut self, flight: &InFlight, from: usize, len: usize) {
        let Some(file) = flight.file.and_then(|id| self.files.get_mut(&id)) else {
            return;
        };
        let start = flight.write.offset as usize + from;
        if let (Some(to), Some(bytes)) = (
            file.get_mut(start..start + len),
            flight.write.buf.get(from..from + len),
        ) {
            to.copy_from_slice(bytes);
        }
    }

    fn make_durable(&mut self, change: Change) {
        match change {
            Change::Rename(from, to) => {
                if let Some(id) = self.durable_names.remove(&from) {
                    self.durable_names.insert(to, id);
                }
            }
            Change::Remove(name) => {
                self.durable_names.remove(&name);
            }
        }
    }

    pub(super) fn list(&self) -> Vec<(FileName, u64)> {
        let len = |id| self.files.get(id).map_or(0, |f| f.len() as u64);
        self.names
            .iter()
            .map(|(&name, id)| (name, len(id)))
            .collect()
    }

    pub(super) fn create(&mut self, name: FileName, len: u64) -> io::Result<()> {
        if !self.step() {
            // Absent, or of any length.
            if self.random() & 1 == 1 && !self.names.contains_key(&name) {
                let part = self.below(len as usize + 1);
                self.put(name, vec![0; part]);
            }
            return Err(crashed());
        }
        if self.fail_directory {
            return Err(refused());
        }
        if self.names.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if self.free_space() < len {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.put(name, vec![0; len as usize]);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        assert!(!self.names.contains_key(&to), "a rename is over nothing");
        self.change(from, Change::Rename(from, to)).map(|id| {
            self.names.insert(to, id);
        })
    }

    pub(super) fn remove(&mut self, name: FileName) -> io::Result<()> {
        self.change(name, Change::Remove(name)).map(drop)
    }

    /// Takes a name out of the directory, and its file's identity.
    fn change(&mut self, name: FileName, change: Change) -> io::Result<u64> {
        let up = self.step();
        if up && (self.fail_directory || self.refuse_names) {
            return Err(refused());
        }
        let id = *self.names.get(&name).ok_or(io::ErrorKind::NotFound)?;
        self.unsynced.push(change);
        if !up {
            return Err(crashed());
        }
        self.names.remove(&name);
        Ok(id)
    }

    pub(super) fn sync_dir(&mut self) -> io::Result<()> {
        if !self.step() {
            return Err(crashed());
        }
        if self.fail_directory {
            return Err(refused());
        }
        for change in std::mem::take(&mut self.unsynced) {
            self.make_durable(change);
        }
        Ok(())
    }

    pub(super) fn read_at(
        &mut self,
        name: FileName,
        offset: u64,
        buf: &mut [u8],
    ) -> io::Result<()> {
        self.reads += 1;
        if self.unreadable.contains(&name) {
            return Err(refused());
        }
        let file = self
            .names
            .get(&name)
            .and_then(|id| self.files.get(id))
            .ok_or(io::ErrorKind::NotFound)?;
        let start = offset as usize;
        let bytes = file
            .get(start..start + buf.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn start_write(&mut self, write: Write) {
        if self.crashed {
            self.in_flight.push(InFlight {
                file: None,
                write,
                fails: true,
            });
            return;
        }
        self.step();
        self.writes += 1;
        self.bytes_written += write.buf.len() as u64;
        let file = self.names.get(&write.name).copied();
        let len = file
            .and_then(|id| self.files.get(&id))
            .map_or(0, |f| f.len() as u64);
        assert!(
            write.offset + write.buf.len() as u64 <= len,
            "a write stays inside its file: {}",
            write.name
        );
        let fails = self.writes == self.fail_write;
        self.in_flight.push(InFlight { file, write, fails });
    }

    pub(super) fn next_done(&mut self, wait: bool) -> Option<Done> {
        if self.in_flight.is_empty() || (!wait && (self.hold || self.random() & 1 == 1)) {
            return None;
        }
        if !self.step() {
            // The crash decides here what of it lands; its caller hears of an error.
            let flight = self.in_flight.swap_remove(0);
            self.land_some(&flight);
            return Some(Done {
                tag: flight.write.tag,
                buf: flight.write.buf,
                result: Err(crashed()),
            });
        }
        let index = self.below(self.in_flight.len());
        let flight = self.in_flight.swap_remove(index);
        let result = if flight.fails {
            self.land_some(&flight);
            Err(refused())
        } else {
            self.land(&flight, 0, flight.write.buf.len());
            Ok(())
        };
        Some(Done {
            tag: flight.write.tag,
            buf: flight.write.buf,
            result,
        })
    }

    pub(super) fn free_space(&self) -> u64 {
        let used: u64 = self
            .names
            .values()
            .filter_map(|id| self.files.get(id))
            .map(|f| f.len() as u64)
            .sum();
        self.capacity.saturating_sub(used)
    }

    pub(super) fn contents(&self) -> BTreeMap<FileName, Vec<u8>> {
        self.durable_names
            .iter()
            .filter_map(|(&name, id)| Some((name, self.files.get(id)?.clone())))
            .collect()
    }

    pub(super) fn put(&mut self, name: FileName, bytes: Vec<u8>) {
        let id = *self.names.entry(name).or_insert(self.next_file);
        self.next_file = self.next_file.max(id) + 1;
        self.files.insert(id, bytes);
        self.durable_names.insert(name, id);
    }

    pub(super) fn delete(&mut self, name: FileName) {
        self.names.remove(&name);
        self.durable_names.remove(&name);
    }
}
