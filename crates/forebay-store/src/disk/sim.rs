//! A disk in memory that behaves as badly as a disk may, and the same way each time for a seed.
//!
//! Owns the reference behaviour of [`Disk`]: writes complete in any order; a crash lands any
//! subset of the sectors of the writes in flight, and any of the renames and removals not synced;
//! writes, syncs, creations and reads fail on demand; the medium fills up. Every write begun,
//! write ended, creation, rename, removal and directory sync is a step, and a crash can be set
//! for any step. Offsets and lengths are bytes; a sector has 512.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::medium::Medium;
use super::{AlignedBuf, Disk, Done, FileName, LockError, Write};

mod medium;

/// A simulated disk. Clones are handles to the same medium: give one to a store, keep one to
/// control it.
///
/// ```
/// use forebay_store::SimDisk;
///
/// let disk = SimDisk::new(7);
/// disk.crash_at(3);
/// // … run a store on disk.clone() until its operations fail, then:
/// let survived = disk.restart();
/// ```
#[derive(Debug)]
pub struct SimDisk {
    medium: Arc<Mutex<Medium>>,
    alignment: usize,
    max_in_flight: usize,
    /// Which start of the machine this handle belongs to; later ones refuse it.
    boot: u64,
    holds_lock: bool,
}

impl SimDisk {
    /// Makes an empty disk of 1 TiB, 512-byte alignment and 8 writes in flight, whose every
    /// choice follows from the seed.
    pub fn new(seed: u64) -> Self {
        Self {
            medium: Arc::new(Mutex::new(Medium::new(seed))),
            alignment: 512,
            max_in_flight: 8,
            boot: 0,
            holds_lock: false,
        }
    }

    /// The same medium seen with another alignment, 512 or 4096.
    #[must_use]
    pub fn with_alignment(&self, alignment: usize) -> Self {
        let mut disk = self.clone();
        disk.alignment = alignment;
        disk
    }

    /// The same medium with another bound on writes in flight.
    #[must_use]
    pub fn with_max_in_flight(&self, max_in_flight: usize) -> Self {
        let mut disk = self.clone();
        disk.max_in_flight = max_in_flight;
        disk
    }

    /// Crashes at the given step, counted from 1 over the life of the medium; 0 never. The step
    /// itself does not happen, or only in part.
    pub fn crash_at(&self, step: u64) {
        self.medium().crash_at = step;
    }

    /// Crashes now, unless it has already.
    pub fn crash(&self) {
        self.medium().crash();
    }

    /// Whether it has crashed and not been restarted. Everything fails until then.
    pub fn is_crashed(&self) -> bool {
        self.medium().crashed
    }

    /// Starts the machine again (after a crash now, unless there was one) and gives a handle to
    /// what survived. Handles from before can control but not read or write; the lock is free,
    /// and no fault or crash is set.
    #[must_use]
    pub fn restart(&self) -> Self {
        let mut medium = self.medium();
        medium.crash();
        medium.restart();
        drop(medium);
        self.clone()
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.medium().steps
    }

    /// How many writes were begun.
    pub fn writes(&self) -> u64 {
        self.medium().writes
    }

    /// How many bytes those writes had.
    pub fn bytes_written(&self) -> u64 {
        self.medium().bytes_written
    }

    /// How many reads were made.
    pub fn reads(&self) -> u64 {
        self.medium().reads
    }

    /// How many writes are in flight.
    pub fn in_flight(&self) -> usize {
        self.medium().in_flight.len()
    }

    /// Keeps writes in flight: none ends unless it is waited for.
    pub fn hold_writes(&self, hold: bool) {
        self.medium().hold = hold;
    }

    /// Makes the `nth` write begun from here on end with an error, 1 being the next; 0 never.
    pub fn fail_write(&self, nth: u64) {
        let mut medium = self.medium();
        medium.fail_write = if nth == 0 { 0 } else { medium.writes + nth };
    }

    /// Makes every creation, rename, removal and directory sync fail, or no longer.
    pub fn fail_directory(&self, fail: bool) {
        self.medium().fail_directory = fail;
    }

    /// Makes every rename and removal fail, or no longer.
    pub fn refuse_names(&self, refuse: bool) {
        self.medium().refuse_names = refuse;
    }

    /// Makes every read that touches this file fail, or no longer.
    pub fn fail_reads(&self, name: FileName, fail: bool) {
        let mut medium = self.medium();
        medium.unreadable.retain(|&n| n != name);
        if fail {
            medium.unreadable.push(name);
        }
    }

    /// Sets how many bytes all files together may have.
    pub fn set_capacity(&self, bytes: u64) {
        self.medium().capacity = bytes;
    }

    /// The durable files with their contents.
    pub fn files(&self) -> BTreeMap<FileName, Vec<u8>> {
        self.medium().contents()
    }

    /// Replaces a file's contents, or makes the file, behind the store's back.
    pub fn put_file(&self, name: FileName, bytes: Vec<u8>) {
        self.medium().put(name, bytes);
    }

    /// Removes a file behind the store's back.
    pub fn delete_file(&self, name: FileName) {
        self.medium().delete(name);
    }

    /// Inverts `len` bytes of a file from `offset` on, behind the store's back; what lies past
    /// its end is left out.
    pub fn damage(&self, name: FileName, offset: u64, len: usize) {
        let mut bytes = self.medium().contents().remove(&name).unwrap_or_default();
        bytes
            .iter_mut()
            .skip(offset as usize)
            .take(len)
            .for_each(|b| *b = !*b);
        self.put_file(name, bytes);
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The medium, if this handle is of the running machine.
    fn live(&self) -> io::Result<MutexGuard<'_, Medium>> {
        let medium = self.medium();
        if medium.crashed || medium.boot != self.boot {
            return Err(medium::crashed());
        }
        Ok(medium)
    }

    fn assert_aligned(&self, offset: u64, buf: &AlignedBuf) {
        assert_eq!(offset % self.alignment as u64, 0, "an offset is aligned");
        assert_eq!(buf.len() % self.alignment, 0, "a length is aligned");
        assert_eq!(
            buf.as_ptr().align_offset(self.alignment),
            0,
            "a buffer is aligned"
        );
    }
}

/// A handle of the running machine that holds no lock.
impl Clone for SimDisk {
    fn clone(&self) -> Self {
        Self {
            medium: Arc::clone(&self.medium),
            boot: self.medium().boot,
            holds_lock: false,
            ..*self
        }
    }
}

impl Drop for SimDisk {
    fn drop(&mut self) {
        if self.holds_lock {
            let mut medium = self.medium();
            if medium.boot == self.boot {
                medium.locked = false;
            }
        }
    }
}

impl Disk for SimDisk {
    fn alignment(&self) -> usize {
        self.alignment
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn lock(&mut self) -> Result<(), LockError> {
        let mut medium = self.live()?;
        if medium.locked {
            return Err(LockError::Held {
                pid: std::process::id(),
            });
        }
        medium.locked = true;
        drop(medium);
        self.holds_lock = true;
        Ok(())
    }

    fn list(&mut self) -> io::Result<Vec<(FileName, u64)>> {
        Ok(self.live()?.list())
    }

    fn create(&mut self, name: FileName, len: u64) -> io::Result<()> {
        self.live()?.create(name, len)
    }

    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        self.live()?.rename(from, to)
    }

    fn remove(&mut self, name: FileName) -> io::Result<()> {
        self.live()?.remove(name)
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        self.live()?.sync_dir()
    }

    fn read_at(&mut self, name: FileName, offset: u64, buf: &mut AlignedBuf) -> io::Result<()> {
        self.assert_aligned(offset, buf);
        self.live()?.read_at(name, offset, buf)
    }

    fn start_write(&mut self, write: Write) {
        self.assert_aligned(write.offset, &write.buf);
        let mut medium = self.medium();
        assert!(
            medium.in_flight.len() < self.max_in_flight,
            "no more writes than agreed"
        );
        if medium.boot == self.boot {
            medium.start_write(write);
        }
    }

    fn next_done(&mut self, wait: bool) -> Option<Done> {
        let mut medium = self.medium();
        if medium.boot == self.boot {
            medium.next_done(wait)
        } else {
            None
        }
    }

    fn free_space(&mut self) -> io::Result<u64> {
        Ok(self.live()?.free_space())
    }
}

#[cfg(test)]
mod tests;
