use super::*;
use crate::disk::AlignedBuf;

const AT: ContentRef = ContentRef {
    segment: 4,
    offset: 1000,
    len: 5,
};

fn entry(at: ContentRef) -> Entry {
    Entry::new(at, UserFlag::from_bits(0x3611), 77)
}

#[test]
fn every_record_reads_back() {
    let mut buf = AlignedBuf::with_capacity(4096, 512);
    let queue = QueueId(300);
    write_create_queue(&mut buf, queue, b"c-OUT");
    let at = write_content(&mut buf, 9, b"hello");
    let near = ContentRef {
        segment: 2,
        offset: 48 + at as u32,
        len: 5,
    };
    write_entry(&mut buf, queue, 1, &entry(near), true, b"");
    write_entry(&mut buf, queue, 2, &entry(AT), false, b"note");
    write_flag(&mut buf, queue, 2, UserFlag::from_bits(3), 8);
    write_finish(&mut buf, queue, 1, Outcome::dropped(7));
    write_put(&mut buf, TableId(3), b"key", b"value");
    write_delete(&mut buf, TableId(3), b"key");
    write_writer(&mut buf, 5, 6);
    write_begin(&mut buf, 1, QueueId(301));
    write_queue_image(&mut buf, queue, 3, b"c-OUT");
    let mut run = RunWriter::new(2);
    run.push(2, &entry(AT), b"note");
    run.push(1 << 40, &entry(near), b"");
    run.write(&mut buf, queue);
    write_end(&mut buf, 1);
    write_drop_queue(&mut buf, queue);

    let records: Vec<_> = Records::new(&buf, 2, 48).collect::<Result<_, _>>().unwrap();
    assert_eq!(
        records[0],
        Record::CreateQueue {
            queue,
            name: b"c-OUT"
        }
    );
    let Record::Content { at, stored } = records[1] else {
        panic!()
    };
    assert_eq!((at, read_content(stored)), (near, Some((9, &b"hello"[..]))));
    assert_eq!(
        records[2],
        Record::Entry {
            queue,
            rowid: 1,
            entry: entry(near),
            note: b""
        }
    );
    assert_eq!(
        records[3],
        Record::Entry {
            queue,
            rowid: 2,
            entry: entry(AT),
            note: b"note"
        }
    );
    let flag = UserFlag::from_bits(3);
    assert_eq!(
        records[4],
        Record::Flag {
            queue,
            rowid: 2,
            flag,
            packet_id: 8
        }
    );
    assert_eq!(
        records[5],
        Record::Finish {
            queue,
            rowid: 1,
            outcome: Outcome::dropped(7)
        }
    );
    assert_eq!(
        records[6],
        Record::Put {
            table: TableId(3),
            key: b"key",
            value: b"value"
        }
    );
    assert_eq!(
        records[7],
        Record::Delete {
            table: TableId(3),
            key: b"key"
        }
    );
    assert_eq!(records[8], Record::Writer { time: 5, pid: 6 });
    assert_eq!(
        records[9],
        Record::Begin {
            checkpoint: 1,
            next_queue: QueueId(301)
        }
    );
    assert_eq!(
        records[10],
        Record::QueueImage {
            queue,
            next: 3,
            name: b"c-OUT"
        }
    );
    let Record::Run { entries, .. } = &records[11] else {
        panic!()
    };
    let entries: Vec<_> = entries.clone().collect();
    assert_eq!(
        entries,
        [
            (2, entry(AT), &b"note"[..]),
            (1 << 40, entry(near), &b""[..])
        ]
    );
    assert_eq!(records[12], Record::End { checkpoint: 1 });
    assert_eq!(records[13], Record::DropQueue { queue });
    assert_eq!(records.len(), 14);
}

#[test]
fn a_cut_body_is_malformed_and_never_a_panic() {
    let mut buf = AlignedBuf::with_capacity(4096, 512);
    write_content(&mut buf, 9, b"hello");
    write_entry(&mut buf, QueueId(1), 1, &entry(AT), false, b"note");
    let whole = Records::new(&buf, 1, 48).count();
    assert_eq!(whole, 2);
    for len in 1..buf.len() {
        let records: Vec<_> = Records::new(&buf[..len], 1, 48).collect();
        assert!(records.len() <= 2);
    }
    // Any kind with any bytes after it.
    for kind in 0..=u8::MAX {
        for fill in [0, 1, 0x7F, 0xFF] {
            let mut bytes = vec![fill; 40];
            bytes[0] = kind;
            assert!(Records::new(&bytes, 1, 48).count() <= 40);
        }
    }
}

#[test]
fn a_later_kind_is_refused_unless_it_may_be_skipped() {
    let skippable = [200, 2, 9, 9, DROP_QUEUE, 5];
    let records: Vec<_> = Records::new(&skippable, 1, 48).collect();
    assert_eq!(records, [Ok(Record::DropQueue { queue: QueueId(5) })]);
    let critical = [100, 2, 9, 9, DROP_QUEUE, 5];
    let records: Vec<_> = Records::new(&critical, 1, 48).collect();
    assert_eq!(records, [Err(BadRecord::Unknown(100))]);
}

#[test]
fn a_changed_content_is_noticed() {
    let mut buf = AlignedBuf::with_capacity(512, 512);
    let at = write_content(&mut buf, 9, b"hello");
    for i in at..buf.len() {
        let mut bad = buf[at..].to_vec();
        bad[i - at] ^= 1;
        assert_eq!(read_content(&bad), None);
    }
}
