//! Who may do what.
//!
//! Owns [`Access`], the rules that a broker asks before it takes, grants or hands on anything, and
//! [`Acl`], an access control list in Mosquitto's syntax. Never knows passwords, files or
//! connections: who somebody is was found out before. Rules are values that can be replaced as a
//! whole while clients are connected. Chapter 5.4.2.

use alloc::sync::Arc;

mod acl;
mod parse;
mod rule;

#[cfg(test)]
mod tests;

pub use acl::Acl;
pub use parse::{AclError, AclFault};

/// From where clients may come without a user name that was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// From nowhere.
    Nobody,
    /// Only from this host.
    #[default]
    Loopback,
    /// From anywhere.
    Anywhere,
}

impl Anonymous {
    /// Whether a client may come in without a name.
    pub const fn admits(self, loopback: bool) -> bool {
        match self {
            Self::Nobody => false,
            Self::Loopback => loopback,
            Self::Anywhere => true,
        }
    }
}

/// What a client below MQTT 5 meets whose QoS 1 or 2 message is refused: those versions have no
/// answer that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefusedPublish {
    /// Its connection ends.
    ///
    /// Spec: [MQTT311-3.3.5-2]
    #[default]
    Close,
    /// It gets the acknowledgement of success; the message is dropped and counted.
    Acknowledge,
}

/// Who may come in, and do what once inside.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Who may come without a user name, where the listener has no rule of its own.
    pub anonymous: Anonymous,
    /// Whether user names are checked, by [`Output::Authenticate`](crate::Output::Authenticate).
    /// Where they are not, a name stands for nobody: its client counts as one without.
    pub users: bool,
    /// The access control list; without one everything is allowed.
    pub acl: Option<Arc<Acl>>,
    /// What becomes of a refused publish below MQTT 5.
    pub refused_publish: RefusedPublish,
}

/// Who wants something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who<'a> {
    /// The user, where one was made sure of.
    pub user: Option<&'a str>,
    /// The client identifier.
    pub client_id: &'a str,
}

impl Access {
    /// Whether anything is judged at all once a client is in.
    pub const fn judges(&self) -> bool {
        self.acl.is_some()
    }

    /// Whether `who` may publish to `topic`.
    pub fn may_publish(&self, who: Who<'_>, topic: &str) -> bool {
        self.acl
            .as_ref()
            .is_none_or(|acl| acl.may_publish(who, topic))
    }

    /// Whether a message of `topic` may be handed to `who`.
    pub fn may_receive(&self, who: Who<'_>, topic: &str) -> bool {
        self.acl
            .as_ref()
            .is_none_or(|acl| acl.may_receive(who, topic))
    }

    /// Whether `who` may subscribe to `filter`, given without `$share/{name}/`.
    pub fn may_subscribe(&self, who: Who<'_>, filter: &str) -> bool {
        self.acl
            .as_ref()
            .is_none_or(|acl| acl.may_subscribe(who, filter))
    }
}
