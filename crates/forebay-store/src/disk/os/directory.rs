//! The files of an [`OsDisk`](super::OsDisk): names, descriptors, the lock.
//!
//! Owns one descriptor of the directory, that of the lock, and those of the few files used last.
//! All names are relative to the directory's descriptor, so a directory that is moved or mounted
//! over stays the one that was opened.

use std::{
    collections::VecDeque,
    fs::{DirBuilder, File},
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::fs::DirBuilderExt, unix::fs::FileExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{
        self, AtFlags, Dir, FallocateFlags, FlockOperation, Mode, OFlags, RenameFlags, StatxFlags,
    },
    io::{Errno, retry_on_intr},
};

use super::{ALIGNMENT, Driver};
use crate::disk::{FileName, LockError};

/// Files whose descriptors are kept.
const OPEN_FILES_MAX: usize = 16;

/// Bytes of zeros written at a time where the file system can't allocate.
const ZEROS: usize = 256 * 1024;

const LOCK: &str = "LOCK";

#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    fd: OwnedFd,
    lock: Option<File>,
    driver: Driver,
    direct: bool,
    /// The file used last comes first.
    open: VecDeque<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    name: FileName,
    to_read: Option<Arc<File>>,
    to_write: Option<Arc<File>>,
}

impl Directory {
    pub(super) fn open(path: &Path, create: bool, driver: Driver) -> io::Result<Self> {
        if create {
            make_directory(path)?;
        }
        let fd = fs::open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let direct = driver != Driver::Fdatasync;
        Ok(Self {
            path: path.to_owned(),
            fd,
            lock: None,
            driver,
            direct,
            open: VecDeque::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn direct(&self) -> bool {
        self.direct
    }

    pub(super) fn lock(&mut self) -> Result<(), LockError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let file = File::from(self.open_at(LOCK, OFlags::RDWR | OFlags::CREATE)?);
        match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(LockError::Held { pid: holder(&file) }),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        file.set_len(0)?;
        writeln!(&file, "{}", std::process::id())?;
        self.direct = self.direct && self.open_direct(LOCK).is_some();
        self.lock = Some(file);
        Ok(())
    }

    pub(super) fn list(&self) -> io::Result<Vec<(FileName, u64)>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().ok().and_then(FileName::parse) else {
                continue;
            };
            let stat = fs::statat(&self.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            files.push((name, u64::try_from(stat.st_size).unwrap_or_default()));
        }
        Ok(files)
    }

    pub(super) fn create(&mut self, name: FileName, len: u64) -> io::Result<()> {
        // An allocation that can't succeed would first take all there is, and others would run out.
        if len > self.free_space()? {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = File::from(self.open_at(&name.to_string(), flags)?);
        let made = allocate(&file, len)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.sync());
        if made.is_err() {
            // The first error is the one to tell; a file that stays behind is found by its length.
            let _ = fs::unlinkat(&self.fd, name.to_string(), AtFlags::empty());
        }
        made.map_err(|error| {
            let quota = error.kind() == io::ErrorKind::QuotaExceeded;
            if quota {
                io::Error::new(io::ErrorKind::StorageFull, error)
            } else {
                error
            }
        })
    }

    pub(super) fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        self.forget(from);
        self.forget(to);
        let (old, new) = (from.to_string(), to.to_string());
        match fs::renameat_with(&self.fd, &old, &self.fd, &new, RenameFlags::NOREPLACE) {
            // A file system that doesn't know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => Ok(fs::renameat(&self.fd, &old, &self.fd, &new)?),
            result => Ok(result?),
        }
    }

    pub(super) fn remove(&mut self, name: FileName) -> io::Result<()> {
        self.forget(name);
        Ok(fs::unlinkat(&self.fd, name.to_string(), AtFlags::empty())?)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    pub(super) fn read_at(
        &mut self,
        name: FileName,
        offset: u64,
        buf: &mut [u8],
    ) -> io::Result<()> {
        self.file_to_read(name)?.read_exact_at(buf, offset)
    }

    pub(super) fn free_space(&self) -> io::Result<u64> {
        let stat = fs::fstatvfs(&self.fd)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// A descriptor that reads through the page cache, which the kernel keeps in step with direct
    /// writes: it drops the pages below a direct write before and after it.
    fn file_to_read(&mut self, name: FileName) -> io::Result<Arc<File>> {
        if let Some(file) = self.open_file(name).to_read.clone() {
            return Ok(file);
        }
        let file = Arc::new(File::from(self.open_at(&name.to_string(), OFlags::RDONLY)?));
        self.open_file(name).to_read = Some(Arc::clone(&file));
        Ok(file)
    }

    /// A descriptor for durable writes, as the driver wants it.
    pub(super) fn file_to_write(&mut self, name: FileName) -> io::Result<Arc<File>> {
        if let Some(file) = self.open_file(name).to_write.clone() {
            return Ok(file);
        }
        let path = name.to_string();
        let direct = if self.direct {
            self.open_direct(&path)
        } else {
            None
        };
        let fd = if let Some(fd) = direct {
            fd
        } else {
            let fd = self.open_at(&path, self.write_flags())?;
            self.direct = false;
            fd
        };
        let file = Arc::new(File::from(fd));
        self.open_file(name).to_write = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Opens a file for direct writes; `None` where it can't be, or not in our units.
    fn open_direct(&self, name: &str) -> Option<OwnedFd> {
        let fd = self
            .open_at(name, self.write_flags() | OFlags::DIRECT)
            .ok()?;
        if let Ok(stat) = fs::statx(&fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
            && stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0
        {
            let unit = stat.stx_dio_offset_align.max(stat.stx_dio_mem_align) as usize;
            if stat.stx_dio_offset_align == 0 || !ALIGNMENT.is_multiple_of(unit.max(1)) {
                return None;
            }
        }
        Some(fd)
    }

    fn write_flags(&self) -> OFlags {
        match self.driver {
            // Not `OFlags::DSYNC`, which here means `O_SYNC`: that would also write the inode's
            // times, which is a commit of the file system's journal for each write.
            Driver::IoUring => {
                OFlags::WRONLY | OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned())
            }
            Driver::Pwritev2 | Driver::Fdatasync => OFlags::WRONLY,
        }
    }

    fn open_at(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(retry_on_intr(|| {
            fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)
        })?)
    }

    fn open_file(&mut self, name: FileName) -> &mut OpenFile {
        match self.open.iter().position(|file| file.name == name) {
            Some(0) => {}
            Some(at) => {
                if let Some(file) = self.open.remove(at) {
                    self.open.push_front(file);
                }
            }
            None => {
                self.open.truncate(OPEN_FILES_MAX - 1);
                self.open.push_front(OpenFile {
                    name,
                    to_read: None,
                    to_write: None,
                });
            }
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "each arm leaves the file at the front"
        )]
        &mut self.open[0]
    }

    fn forget(&mut self, name: FileName) {
        self.open.retain(|file| file.name != name);
    }
}

/// The pid in a lock file; 0 where there is none.
fn holder(file: &File) -> u32 {
    let mut text = [0; 16];
    let len = file.read_at(&mut text, 0).unwrap_or(0);
    let text = text.get(..len).unwrap_or_default();
    str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

/// Makes a directory and those above it, each entry synced, so that a store which acknowledged
/// something is not gone with its directory.
fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
            else {
                return Err(error);
            };
            make_directory(parent)?;
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Err(error) => return Err(error),
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Makes a file `len` bytes long with all its blocks there.
fn allocate(file: &File, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    match retry_on_intr(|| fs::fallocate(file, FallocateFlags::empty(), 0, len)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; ZEROS];
            let mut offset = 0;
            while offset < len {
                let step = (len - offset).min(ZEROS as u64);
                file.write_all_at(zeros.get(..step as usize).unwrap_or_default(), offset)?;
                offset += step;
            }
            Ok(())
        }
        result => Ok(result?),
    }
}
