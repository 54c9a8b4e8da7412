//! Looking into a broker's store from outside, whether a broker runs on it or not.
//!
//! Owns what is shown of queues and messages, in plain rows. Takes no lock and changes nothing
//! where it only looks; what a writer moves away meanwhile is looked for again, so that a busy
//! store is never taken for a damaged one. Never decides how anything is printed. Times are
//! nanoseconds since 1970.

mod backups;
mod check;
mod error;
mod export;
mod filter;
mod follow;
mod import;
mod look;
mod messages;
mod queues;
mod repair;
mod row;

pub use backups::{BackupRow, RestoreError, backups, delete_backup, restore};
pub use check::{Checked, check};
pub use error::{Fault, InspectError};
pub use export::export;
pub use filter::{Filter, state_names};
pub use follow::Follow;
pub use forebay_store::Restored;
pub use import::{Import, ImportError, ImportRow, Imported, Rejected};
pub use messages::messages;
pub use queues::queues;
pub use repair::{RepairError, Repaired, Step, repair};
pub use row::{Body, MessageRow, QueueRow};
