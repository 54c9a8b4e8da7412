//! Opening a store: reading the log back, and telling a torn tail from damage.
//!
//! Owns every decision about bytes that an earlier run left. The log ends at the first frame that
//! does not check. If a later frame says that this one was acknowledged, it is damage and nothing
//! is touched; else it is the tail of a crash and is cut: the headers of frames that landed behind
//! it are zeroed before anything new is written, so that they can never come back. Recovery may
//! crash anywhere and be run again. See `docs/format.md`.

use std::{
    collections::BTreeSet,
    hash::BuildHasher,
    io,
    ops::{Range, RangeInclusive},
};

use self::{files::Files, walk::Walk};
use crate::{
    disk::{Disk, FileName, LockError},
    error::{Damage, OpenError},
    header::{Root, Start, StoreId},
    log::{Head, Log, Resume},
    options::{Access, Options},
    segments::Segments,
    state::{Phase, Replay, State},
    types::{QueueId, Rowid},
};

mod files;
mod walk;

/// What opening a store found.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Whether the store is new.
    pub created: bool,
    /// This writer's number, one above the last one's.
    pub epoch: u64,
    /// Frames read.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Queues there are.
    pub queues: usize,
    /// Pending messages in them.
    pub pending: u64,
    /// Where a tail that was never acknowledged was cut off.
    pub cut: Option<(FileName, u64)>,
    /// Whether `ROOT` was lost and made anew from the log.
    pub root_rebuilt: bool,
    /// What can't be read; only ever with [`Access::Read`].
    pub damage: Vec<Damage>,
    /// Messages whose records are in damaged parts, as far as can be told.
    pub lost: Vec<(QueueId, Range<Rowid>)>,
}

/// An open store, in parts.
pub(crate) struct Opened<D> {
    pub(crate) log: Log<D>,
    pub(crate) state: State,
    pub(crate) recovery: Recovery,
}

pub(crate) fn open<D: Disk>(mut disk: D, options: Options) -> Result<Opened<D>, OpenError> {
    check_options(&disk, &options)?;
    if options.access == Access::Write {
        disk.lock().map_err(|error| match error {
            LockError::Held { pid } => OpenError::Locked { pid },
            LockError::Io(source) => directory_error("locking", source),
        })?;
    }
    let mut files = Files::read(disk)?;
    if files.hold_nothing()? {
        if options.access == Access::Read {
            return Err(directory_error(
                "finding a store in",
                io::ErrorKind::NotFound.into(),
            ));
        }
        let store = options.store_id.unwrap_or_else(random_store_id);
        files.make_new(store, options.segment_size)?;
        let mut opened = replay(files, options)?;
        opened.recovery.created = true;
        return Ok(opened);
    }
    replay(files, options)
}

fn replay<D: Disk>(mut files: Files<D>, options: Options) -> Result<Opened<D>, OpenError> {
    let mut recovery = Recovery::default();
    let root = if let Some(root) = files.root {
        root
    } else {
        recovery.root_rebuilt = true;
        Root {
            store: files.store,
            generation: 0,
            start: walk::find_start(&mut files)?,
        }
    };
    let phase = if root.start.seq == 1 {
        Phase::Whole
    } else {
        Phase::BeforeCheckpoint
    };
    let state = State::new(options.max_inflight, options.rotate_after);
    let mut replay = Replay {
        state,
        segments: Segments::default(),
        phase,
    };
    let mut walk = Walk::new(root.start);
    let mut landed = read_all(
        &mut files,
        &mut walk,
        &mut replay,
        &mut recovery,
        options.access,
    )?;
    check_segments(
        &files,
        root.start.segment..=walk.segment,
        &replay,
        &mut recovery,
    );

    if options.access == Access::Write {
        if let Some(damage) = recovery.damage.pop() {
            return Err(OpenError::Damaged(damage));
        }
        if !landed.is_empty() {
            recovery.cut = Some((FileName::Segment(walk.segment), u64::from(walk.offset)));
            files.wipe(&landed)?;
        }
        files.remove_after(walk.segment)?;
    }
    landed.extend(walk.last);
    let newest = landed
        .iter()
        .map(|landed| landed.header.epoch)
        .max()
        .unwrap_or_default();
    recovery.epoch = newest.max(root.start.epoch) + 1;
    recovery.queues = replay.state.queues.len();
    recovery.pending = replay.state.pending();
    recovery.lost = replay.lost();

    let root = if recovery.root_rebuilt && options.access == Access::Write {
        files.write_root(Root {
            generation: 1,
            ..root
        })?
    } else {
        root
    };
    let resume = Resume {
        store: files.store,
        epoch: recovery.epoch,
        head: head(&files, &walk),
        next: files.ready_len(walk.segment + 1),
        next_seq: walk.seq,
        prev: walk.prev.unwrap_or_default(),
        root,
    };
    let mut segments = replay.segments;
    for (number, found) in files.segments() {
        segments.add(number, u32::try_from(found.len).unwrap_or(u32::MAX));
    }
    let log = Log::new(files.disk, options, segments, files.backups, resume);
    Ok(Opened {
        log,
        state: replay.state,
        recovery,
    })
}

/// Reads the log to its end, and gives the frames that landed behind it.
fn read_all<D: Disk>(
    files: &mut Files<D>,
    walk: &mut Walk,
    replay: &mut Replay,
    recovery: &mut Recovery,
    access: Access,
) -> Result<Vec<walk::Landed>, OpenError> {
    // What a writer beside us had acknowledged when we first came to the end.
    let mut acked = None;
    loop {
        while let Some(frame) = walk.next(files)? {
            recovery.frames += 1;
            recovery.bytes += frame.body.len() as u64;
            if let Err(damage) = frame.apply(replay)? {
                recovery.damage.push(damage);
                replay.phase = Phase::Damaged;
            }
        }
        if acked.is_some_and(|acked| acked < walk.seq) && !replay.phase.is_in_checkpoint() {
            return Ok(Vec::new());
        }
        let landed = walk.landed(files)?;
        let (segment, offset) = missing_at(files, walk, &landed);
        let damage = |what| Damage {
            file: FileName::Segment(segment),
            offset: u64::from(offset),
            seq: walk.seq,
            what,
        };
        let newest = landed.iter().map(|landed| landed.header.acked).max();
        if newest.is_some_and(|newest| newest >= walk.seq) {
            // A writer may have written it since it was looked for.
            if access == Access::Read {
                files.forget_window();
                if walk.find_next(files)?.is_some() {
                    acked = acked.or(newest);
                    continue;
                }
            }
            recovery
                .damage
                .push(damage("an acknowledged frame does not check"));
        } else if replay.phase.is_in_checkpoint() {
            recovery.damage.push(damage("the checkpoint is not whole"));
        } else {
            return Ok(landed);
        }
        // For reading, what comes behind the damage is worth having.
        replay.phase = Phase::Damaged;
        if access == Access::Write || !walk.resync(files, &landed)? {
            return Ok(landed);
        }
    }
}

/// Where the frame is, or was, that the walk does not find: behind the frame before it, or at the
/// begin of the next segment.
fn missing_at<D: Disk>(files: &Files<D>, walk: &Walk, landed: &[walk::Landed]) -> (u32, u32) {
    if let Some(itself) = landed.iter().find(|it| it.header.seq == walk.seq) {
        return (itself.segment, itself.offset);
    }
    let next = walk.segment + 1;
    let begin = files.alignment(next);
    match landed.first() {
        Some(first) if first.segment == next && first.offset > begin => (next, begin),
        _ => (walk.segment, walk.offset),
    }
}

/// The segment that reading began in and every one with the content of a pending message must be
/// there, none may be cut, and none may be missing between the last that was read and another.
fn check_segments<D: Disk>(
    files: &Files<D>,
    read: RangeInclusive<u32>,
    replay: &Replay,
    recovery: &mut Recovery,
) {
    let live = replay.segments.iter().filter(|(_, of)| of.live > 0);
    let mut needed: BTreeSet<u32> = live.map(|(number, _)| number).collect();
    needed.insert(*read.start());
    let next = read.end().saturating_add(1);
    // Each is made once the one before it is there.
    if files
        .segments()
        .any(|(number, found)| number > next && found.header.is_some())
    {
        needed.insert(next);
    }
    let mut tell = |number, what| {
        recovery.damage.push(Damage {
            file: FileName::Segment(number),
            offset: 0,
            seq: 0,
            what,
        });
    };
    for (number, found) in files.segments() {
        if found.is_cut && (number >= *read.start() || needed.contains(&number)) {
            needed.remove(&number);
            tell(number, "a segment is not as long as its header says");
        }
    }
    for number in needed {
        let found = files.segment(number);
        if found.is_none_or(|found| found.header.is_none()) {
            tell(number, "a segment that is needed is gone, or its header is");
        }
    }
}

/// Where the writer goes on: behind the last frame, or nowhere in this segment if its alignment is
/// not the disk's.
fn head<D: Disk>(files: &Files<D>, walk: &Walk) -> Head {
    let alignment = files.disk.alignment() as u32;
    let len = files
        .segment(walk.segment)
        .map_or(0, |found| found.len as u32);
    let goes_on = files.alignment(walk.segment) == alignment && walk.offset <= len;
    let at = if goes_on { walk.offset } else { len };
    Head {
        segment: walk.segment,
        len: len / alignment * alignment,
        at: at / alignment * alignment,
    }
}

fn check_options<D: Disk>(disk: &D, options: &Options) -> Result<(), OpenError> {
    let alignment = disk.alignment();
    if !matches!(alignment, 512 | 4096) {
        return Err(OpenError::Options(
            "the disk's alignment is neither 512 nor 4096",
        ));
    }
    if !(options.segment_size as usize).is_multiple_of(alignment) {
        return Err(OpenError::Options(
            "the segment size is not a multiple of the alignment",
        ));
    }
    if options.segment_size > 1 << 30 || (options.segment_size as usize) < 8 * alignment {
        return Err(OpenError::Options(
            "the segment size is above 1 GiB or below 8 blocks",
        ));
    }
    Ok(())
}

fn directory_error(doing: &'static str, source: io::Error) -> OpenError {
    OpenError::Io {
        file: "the directory".to_owned(),
        doing,
        source,
    }
}

fn random_store_id() -> StoreId {
    let mut id = StoreId::default();
    for half in id.chunks_mut(8) {
        let number = std::hash::RandomState::new().hash_one(crate::types::now_ns());
        crate::frame::copy_fields(half, &[&number.to_le_bytes()]);
    }
    id
}

impl Start {
    /// Where a new log begins.
    fn new_log(alignment: u32) -> Self {
        Self {
            segment: 1,
            offset: alignment,
            seq: 1,
            epoch: 0,
            prev: 0,
        }
    }
}
