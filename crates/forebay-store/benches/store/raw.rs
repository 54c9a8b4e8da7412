//! Loops that write the same number of bytes without a store.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use forebay_store::{AlignedBuf, Disk, FileName, OsDisk, OsOptions, Write};

use super::{
    Run,
    report::{cpu_secs, waited_secs},
};

const SEGMENT: u64 = 64 << 20;
const SEGMENTS: u32 = 4;
/// Writes of one stretch at most.
const WRITES_MAX: u64 = 20_000;
/// Bytes of one stretch at most.
const BYTES_MAX: u64 = 256 << 20;

/// Bytes that no disk and no file system makes shorter.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// The driver that the store itself would choose, with files of its kind.
pub(crate) struct Bare {
    disk: OsDisk,
    in_flight: usize,
    segment: u32,
    at: u64,
}

impl Bare {
    pub(crate) fn new(dir: &Path, in_flight: usize) -> Self {
        let options = OsOptions {
            max_in_flight: in_flight,
            ..OsOptions::default()
        };
        let mut disk = OsDisk::open(dir, options).unwrap();
        let zeros = Arc::new(AlignedBuf::zeroed(1 << 20, disk.alignment()));
        for number in 1..=SEGMENTS {
            disk.create(FileName::Segment(number), SEGMENT).unwrap();
            for offset in (0..SEGMENT).step_by(1 << 20) {
                start(&mut disk, number, offset, &zeros);
                disk.next_done(true).unwrap().result.unwrap();
            }
        }
        Self {
            disk,
            in_flight,
            segment: 1,
            at: 0,
        }
    }

    pub(crate) fn driver(&self) -> String {
        let kind = if self.disk.direct() {
            "direct"
        } else {
            "cached"
        };
        format!("{}, {kind}", self.disk.driver())
    }

    /// Makes durable writes of `len` bytes until the time is over.
    pub(crate) fn run(&mut self, len: usize, stretch: Duration) -> Run {
        let mut buf = AlignedBuf::with_capacity(len, self.disk.alignment());
        buf.extend_from_slice(&noise(len));
        buf.pad();
        let (buf, limit) = (Arc::new(buf), WRITES_MAX.min(BYTES_MAX / len as u64));
        let (begun, cpu, waited) = (Instant::now(), cpu_secs(), waited_secs());
        let (mut writes, mut in_flight) = (0, 0);
        while writes < limit && begun.elapsed() < stretch {
            while let Some(done) = self.disk.next_done(in_flight == self.in_flight) {
                done.result.unwrap();
                in_flight -= 1;
            }
            if self.at + buf.len() as u64 > SEGMENT {
                self.segment = self.segment % SEGMENTS + 1;
                self.at = 0;
            }
            start(&mut self.disk, self.segment, self.at, &buf);
            self.at += buf.len() as u64;
            in_flight += 1;
            writes += 1;
        }
        while let Some(done) = self.disk.next_done(true) {
            done.result.unwrap();
        }
        Run {
            writes,
            secs: begun.elapsed().as_secs_f64(),
            cpu_secs: cpu_secs() - cpu,
            waited_secs: waited_secs() - waited,
            bytes: writes * buf.len() as u64,
            allocations: 0,
        }
    }
}

fn start(disk: &mut OsDisk, segment: u32, offset: u64, buf: &Arc<AlignedBuf>) {
    disk.start_write(Write {
        name: FileName::Segment(segment),
        offset,
        buf: Arc::clone(buf),
        tag: 0,
    });
}

/// A plain write and `fdatasync`, one at a time, over a file whose blocks are there.
pub(crate) struct Plain {
    file: File,
    at: u64,
}

impl Plain {
    pub(crate) fn new(path: &Path) -> Self {
        let file = File::create_new(path).unwrap();
        let zeros = vec![0; 1 << 20];
        for offset in (0..SEGMENT).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset).unwrap();
        }
        file.sync_all().unwrap();
        Self { file, at: 0 }
    }

    pub(crate) fn run(&mut self, len: usize, stretch: Duration) -> Run {
        let (buf, limit) = (noise(len), WRITES_MAX.min(BYTES_MAX / len as u64));
        let (begun, cpu, waited) = (Instant::now(), cpu_secs(), waited_secs());
        let mut writes = 0;
        while writes < limit && begun.elapsed() < stretch {
            if self.at + len as u64 > SEGMENT {
                self.at = 0;
            }
            self.file.write_all_at(&buf, self.at).unwrap();
            self.file.sync_data().unwrap();
            self.at += len as u64;
            writes += 1;
        }
        Run {
            writes,
            secs: begun.elapsed().as_secs_f64(),
            cpu_secs: cpu_secs() - cpu,
            waited_secs: waited_secs() - waited,
            bytes: writes * len as u64,
            allocations: 0,
        }
    }
}
