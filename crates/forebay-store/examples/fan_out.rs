//! One message for many queues, stored once, committed from many threads that share their writes.
//!
//! `cargo run --release -p forebay-store --example fan_out -- DIR`

use std::{io::Write as _, thread};

use forebay_store::{
    Batch, CommitError, Options, OsDisk, OsOptions, Place, QueueId, Store, UserFlag, Writer, now_ns,
};

const READERS: usize = 100;
const THREADS: usize = 16;
const EACH: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or("fan_out.store".to_owned());
    let disk = OsDisk::open(dir, OsOptions::default())?;
    let (mut store, _) = Store::open(disk, Options::default())?;

    let mut batch = Batch::new();
    let mut readers: Vec<QueueId> = Vec::new();
    for number in 0..READERS {
        let name = format!("reader {number}");
        let reader = store.queue(name.as_bytes()).unwrap_or_else(|| {
            let new = store.next_queue_id();
            batch.create_queue(new, name);
            new
        });
        readers.push(reader);
    }
    store.commit(&batch)?;

    let writer = Writer::start(store, THREADS)?;
    let publishers = (0..THREADS).map(|number| {
        let (handle, readers) = (writer.handle(), readers.clone());
        thread::spawn(move || -> Result<(), CommitError> {
            for message in 0..EACH {
                let mut batch = Batch::new();
                batch.content(now_ns(), format!("message {message} of thread {number}"));
                for reader in &readers {
                    batch.append(*reader, UserFlag::default(), 0, "", Place::Queued);
                }
                // Durable in all the queues when it returns.
                handle.commit(batch)?;
            }
            Ok(())
        })
    });
    let publishers: Vec<_> = publishers.collect();
    for publisher in publishers {
        publisher.join().map_err(|_| "a thread panicked")??;
    }
    let stats = writer.close()?.stats();
    writeln!(
        std::io::stdout(),
        "{} messages in {READERS} queues each, {} commits in {} durable writes, {} bytes",
        THREADS * EACH,
        stats.commits,
        stats.frames,
        stats.frame_bytes,
    )?;
    Ok(())
}
