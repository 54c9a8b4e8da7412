//! A queue as it changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use forebay_store::{QueueId, UserFlag};

use super::{
    error::{Fault, InspectError},
    filter::Filter,
    look::Look,
    messages::{Found, read},
    row::{Entry, MessageRow},
};

/// Files that were changed less long ago may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// What was seen of a queue, to tell what is new.
pub struct Follow {
    dir: PathBuf,
    name: Vec<u8>,
    filter: Filter,
    look: Look,
    stamp: Option<Stamp>,
    queue: Option<QueueId>,
    /// Flag and packet identifier of every pending message.
    seen: BTreeMap<u64, (UserFlag, u16)>,
    /// The rowid that the next new message gets.
    next: u64,
    /// Messages whose content could not be read the last time.
    unread: BTreeMap<u64, Fault>,
}

/// What has become of a message.
enum Change {
    Found(Found),
    /// Nothing is left of it but its last flag.
    Gone(UserFlag),
}

/// The files of a store and when each was written last.
type Stamp = Vec<(std::ffi::OsString, u64, Option<SystemTime>)>;

impl Follow {
    /// Begins with a queue of the store in `dir`; of the filter, QoS and state count.
    ///
    /// # Errors
    /// When nothing of the store can be read, or it has no such queue.
    pub fn new(dir: &Path, name: &[u8], filter: Filter) -> Result<Self, InspectError> {
        let stamp = stamp(dir);
        let look = Look::open(dir)?;
        look.queue(name)?;
        Ok(Self {
            dir: dir.to_owned(),
            name: name.to_vec(),
            filter,
            look,
            stamp,
            queue: None,
            seen: BTreeMap::new(),
            next: 0,
            unread: BTreeMap::new(),
        })
    }

    /// Shows what has come, changed or been done with since the step before; in the first step,
    /// what is pending. Gives what could not be read. Ends early where `each` breaks.
    ///
    /// # Errors
    /// When nothing of the store can be read any more.
    pub fn step(
        &mut self,
        mut each: impl FnMut(&MessageRow) -> ControlFlow<()>,
    ) -> Result<Vec<Fault>, InspectError> {
        if self.queue.is_some() {
            let now = stamp(&self.dir);
            if now.is_some() && now == self.stamp && self.unread.is_empty() {
                return Ok(Vec::new());
            }
            self.look.refresh()?;
            self.stamp = now;
        }
        let queue = self.look.store.queue(&self.name);
        if queue != self.queue {
            // It was ended, and perhaps made anew; its rowids begin again.
            let gone: Vec<u64> = std::mem::take(&mut self.seen).into_keys().collect();
            for rowid in gone {
                if each(&self.ended(rowid, UserFlag::default())).is_break() {
                    return Ok(Vec::new());
                }
            }
            // One that was there before is followed from what is pending on.
            let first = self.queue.is_none() && self.next == 0;
            self.next = if first { u64::MAX } else { 1 };
        }
        let mut faults = self.look.faults();
        let Some(id) = queue else {
            self.queue = queue.or(self.queue);
            return Ok(faults);
        };
        self.queue = queue;
        faults.extend(self.look.lost(id, &self.name));
        faults.extend(self.changes(id, &mut each));
        Ok(faults)
    }

    fn changes(
        &mut self,
        queue: QueueId,
        each: &mut dyn FnMut(&MessageRow) -> ControlFlow<()>,
    ) -> Vec<Fault> {
        let mut current = BTreeMap::new();
        for rowid in self.look.pending(queue) {
            if let Some(it) = self.look.store.message(queue, rowid) {
                current.insert(rowid, (it.flag, it.packet_id));
            }
        }
        let info = self.look.store.queue_info(queue);
        let next = info.map_or(self.next, |info| info.next_rowid);
        let mut rows: BTreeMap<u64, Change> = current
            .iter()
            .filter(|(rowid, now)| self.seen.get(rowid) != Some(now))
            .map(|(&rowid, _)| (rowid, Change::Found(Found::Pending(rowid))))
            .collect();
        let mut ended: BTreeSet<u64> = self.seen.keys().copied().collect();
        ended.extend(self.next..next);
        ended.retain(|rowid| !current.contains_key(rowid));
        if let (Some(&first), Some(&last)) = (ended.first(), ended.last()) {
            // It fails for a writer alone.
            let found = self.look.store.load_all(queue, first..=last);
            for it in found.unwrap_or_default().messages {
                if ended.remove(&it.rowid) {
                    rows.insert(it.rowid, Change::Found(Found::Any(Box::new(it))));
                }
            }
        }
        // What came and went since, and is gone from the log too, was never seen.
        for rowid in ended {
            if let Some((flag, _)) = self.seen.remove(&rowid) {
                rows.insert(rowid, Change::Gone(flag));
            }
        }
        self.next = next;
        let mut faults = Vec::new();
        for (rowid, change) in rows {
            let row = match change {
                Change::Gone(flag) => self.ended(rowid, flag),
                Change::Found(found) => match self.row(queue, &found, &mut faults) {
                    Some(row) => row,
                    None => continue,
                },
            };
            match current.get(&rowid) {
                Some(now) => self.seen.insert(rowid, *now),
                None => self.seen.remove(&rowid),
            };
            let flag = UserFlag::from_bits(row.flag);
            if self.filter.takes_flag(flag) && each(&row).is_break() {
                break;
            }
        }
        faults
    }

    /// A message with its content; `None` where the next step will tell more.
    fn row(
        &mut self,
        queue: QueueId,
        found: &Found,
        faults: &mut Vec<Fault>,
    ) -> Option<MessageRow> {
        let (entry, content) = read(&mut self.look, queue, &self.name, found)?;
        let before = self.unread.remove(&entry.rowid);
        let content = match content {
            Err(error) if entry.flag.pending() => {
                let fault = Fault::of_content(&error, &self.name, entry.rowid);
                if before.as_ref() != Some(&fault) {
                    // A writer may be moving it.
                    self.unread.insert(entry.rowid, fault);
                    return None;
                }
                faults.push(fault);
                Err(error.to_string())
            }
            content => content.map_err(|_| "its content is gone".to_owned()),
        };
        Some(MessageRow::new(&entry, content))
    }

    /// A message of which nothing is left.
    fn ended(&self, rowid: u64, flag: UserFlag) -> MessageRow {
        let entry = Entry {
            queue: &self.name,
            rowid,
            flag: flag.with_pending(false),
            packet_id: 0,
            outcome: None,
            note: bytes::Bytes::new(),
            len: 0,
        };
        MessageRow::new(&entry, Err("the record of it is gone".to_owned()))
    }
}

/// The files as they are, or `None` where that says nothing.
fn stamp(dir: &Path) -> Option<Stamp> {
    let mut stamp = Vec::new();
    for entry in std::fs::read_dir(dir).ok()? {
        let entry = entry.ok()?;
        let data = entry.metadata().ok()?;
        stamp.push((entry.file_name(), data.len(), data.modified().ok()));
    }
    stamp.sort_unstable();
    let newest = stamp.iter().filter_map(|(.., at)| *at).max()?;
    (newest.elapsed().ok()? > SETTLED).then_some(stamp)
}
