//! The machine's state out of the tables of the store.

use bytes::Bytes;

use crate::{
    broker::{Broker, QueueState, Session, Table, persist},
    id::{ClientId, SessionId},
    message::Message,
    session::{Direction, inbound::Inbound, outbound::Outbound},
    text::Text,
};

/// Why a row was not taken. The row stays in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The row is not laid out as this version lays it out.
    #[error("unreadable row in table {table:?}: written by a newer version, or damaged")]
    Unreadable {
        /// Where it is.
        table: Table,
    },
    /// The row belongs to a session that has none.
    #[error("row in table {table:?} without its session")]
    NoSession {
        /// Where it is.
        table: Table,
    },
}

impl Broker {
    /// Takes a row of the store: those of [`Table::Sessions`] first, the others in any order.
    ///
    /// # Errors
    /// When the row can't be read. Nothing of it is taken.
    pub fn restore_row(
        &mut self,
        table: Table,
        key: &Bytes,
        value: &Bytes,
    ) -> Result<(), RestoreError> {
        let unreadable = RestoreError::Unreadable { table };
        match table {
            Table::Sessions => {
                let client_id = ClientId::new(Text::new(key.clone()).ok_or(unreadable)?.detach());
                let (expiry, since) = persist::decode_session(value).ok_or(unreadable)?;
                self.last_session += 1;
                let session = SessionId(self.last_session);
                let mut it = Session::new(client_id.clone());
                (it.expiry_secs, it.disconnected_at) = (expiry, since);
                self.sessions.insert(session, it);
                self.clients.insert(client_id, session);
            }
            Table::Subscriptions => {
                let (client_id, filter) =
                    persist::decode_subscription_key(key).ok_or(unreadable)?;
                let subscription = persist::decode_subscription(value).ok_or(unreadable)?;
                let (session, it) = self.stored_session(table, &client_id)?;
                it.filters.insert(filter.detach());
                self.tree.insert(filter.as_str(), session, subscription);
            }
            Table::Users => {
                let client_id = ClientId::new(Text::new(key.clone()).ok_or(unreadable)?);
                let user = Text::new(value.clone()).ok_or(unreadable)?;
                self.stored_session(table, &client_id)?.1.user = Some(user.detach());
            }
            Table::Retained => {
                let encoded = Bytes::copy_from_slice(value);
                self.retained
                    .insert(Message::decode(encoded).ok_or(unreadable)?);
            }
            Table::Wills => {
                let client_id = ClientId::new(Text::new(key.clone()).ok_or(unreadable)?);
                let encoded = Bytes::copy_from_slice(value);
                let will = persist::decode_will(&encoded).ok_or(unreadable)?;
                self.stored_session(table, &client_id)?.1.will = Some(will.into());
            }
        }
        Ok(())
    }

    /// Takes the state of a session's queue.
    pub fn restore_queue(&mut self, session: SessionId, direction: Direction, state: QueueState) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        match direction {
            Direction::In => it.inbound = Inbound::new(state.next_rowid),
            Direction::Out => it.out = Outbound::restored(state.next_rowid, state.pending),
        }
    }

    fn stored_session(
        &mut self,
        table: Table,
        client_id: &ClientId,
    ) -> Result<(SessionId, &mut Session), RestoreError> {
        let found = self.clients.get(client_id).copied();
        found
            .and_then(|id| self.sessions.get_mut(&id).map(|it| (id, it)))
            .ok_or(RestoreError::NoSession { table })
    }
}
