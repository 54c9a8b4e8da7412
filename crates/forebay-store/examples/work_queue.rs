//! A queue of work that survives whatever happens to the program: run it, kill it, run it again.
//!
//! `cargo run -p forebay-store --example work_queue -- DIR`

use std::io::Write as _;

use forebay_store::{Batch, Options, OsDisk, OsOptions, Outcome, Place, Store, UserFlag, now_ns};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or("work.store".to_owned());
    let disk = OsDisk::open(dir, OsOptions::default())?;
    let (mut store, _) = Store::open(disk, Options::default())?;
    let work = store
        .queue(b"work")
        .unwrap_or_else(|| store.next_queue_id());

    // Ten jobs more, in one transaction: all of them are there after a crash, or none is.
    let mut batch = Batch::new();
    if store.queue(b"work").is_none() {
        batch.create_queue(work, "work");
    }
    for number in 1..=10 {
        batch.content(now_ns(), format!("job {number}"));
        batch.append(work, UserFlag::default(), 0, "", Place::Queued);
    }
    store.commit(&batch)?;
    store.sync()?;

    // What an earlier run left comes first.
    store.load(work, Place::Queued)?;
    while let Some(rowid) = store.next_queued(work) {
        let job = store.promote(work, rowid)?;
        let text = String::from_utf8_lossy(&job.bytes);
        writeln!(std::io::stdout(), "message {rowid}: {text}")?;
        // Done with once this is durable; a crash before that gives the job out again.
        let mut batch = Batch::new();
        batch.finish(work, rowid, Outcome::ACKED);
        store.commit(&batch)?;
        store.sync()?;
    }
    Ok(())
}
