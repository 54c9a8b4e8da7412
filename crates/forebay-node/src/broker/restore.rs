//! The machine out of the store.
//!
//! Owns [`open`]: opens the store, gives the machine every row and the state of every queue.

use forebay_proto::{Broker, Direction, RestoreError, Table};
use forebay_store::{CommitError, Disk, Poisoned, Store, TableId};

use super::{config::Config, error::RunError, translate::Queues};
use crate::clock::Clock;

/// A store with the queues of the machine's sessions in it.
pub(super) struct Restored<D: Disk> {
    pub(super) machine: Broker,
    pub(super) store: Store<D>,
    pub(super) queues: Queues,
}

/// Opens the store on `disk` and restores the machine from it.
pub(super) fn open<D: Disk>(
    disk: D,
    config: &Config,
    clock: &Clock,
) -> Result<Restored<D>, RunError> {
    let (mut store, recovery) = Store::open(disk, config.store.clone())
        .map_err(|error| RunError::of_open(error, &config.dir))?;
    if let Some((file, offset)) = recovery.cut {
        tracing::info!(%file, offset, "a tail that was never acknowledged is cut");
    }
    let mut rules = config.broker.clone();
    if rules.instance == 0 {
        rules.instance = clock.now().as_millis();
    }
    let mut machine = Broker::new(rules);
    for table in [
        Table::Sessions,
        Table::Subscriptions,
        Table::Retained,
        Table::Wills,
        Table::Users,
    ] {
        for (key, value) in store.scan(TableId(table as u8)) {
            match machine.restore_row(table, key, value) {
                Ok(()) => {}
                // What was left of a session that is gone is no reason not to serve the others.
                Err(error @ RestoreError::NoSession { .. }) => tracing::warn!(%error, "left alone"),
                Err(source) => return Err(RunError::Row { source }),
            }
        }
    }
    let mut queues = Queues::default();
    let sessions: Vec<_> = machine
        .sessions()
        .map(|(id, client)| (id, client.clone()))
        .collect();
    for (session, client_id) in sessions {
        let [inbound, outbound] = queues
            .restore(&mut store, session, &client_id)
            .map_err(|error| unopened(&error))?;
        machine.restore_queue(session, Direction::In, inbound);
        machine.restore_queue(session, Direction::Out, outbound);
    }
    tracing::info!(
        sessions = machine.stats().sessions,
        pending = recovery.pending,
        frames = recovery.frames,
        created = recovery.created,
        "store open"
    );
    Ok(Restored {
        machine,
        store,
        queues,
    })
}

/// A missing queue could not be made.
fn unopened(error: &CommitError) -> RunError {
    RunError::Poisoned {
        source: Poisoned {
            reason: error.to_string().into(),
        },
    }
}
