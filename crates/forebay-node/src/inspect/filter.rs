//! Which messages are wanted.

use forebay_store::UserFlag;

/// Which messages are wanted: all that every field lets through.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Those that are done with too.
    pub all: bool,
    /// Only those that are done with and whose content is in the backup of this name.
    pub backup: Option<String>,
    /// Of this QoS.
    pub qos: Option<u8>,
    /// Whose handshake is at the step of this name, one of [`state_names`].
    pub state: Option<String>,
    /// The lowest rowid and the highest.
    pub rowids: (Option<u64>, Option<u64>),
    /// The earliest time and the latest. A message whose time can't be read is let through.
    pub times: (Option<u64>, Option<u64>),
}

impl Filter {
    pub(super) fn first(&self) -> u64 {
        self.rowids.0.unwrap_or(0)
    }

    pub(super) fn last(&self) -> u64 {
        self.rowids.1.unwrap_or(u64::MAX)
    }

    pub(super) fn takes_flag(&self, flag: UserFlag) -> bool {
        let state = self.state.as_deref();
        self.qos.is_none_or(|qos| qos == flag.qos())
            && state.is_none_or(|state| state == flag.state().to_string())
    }

    pub(super) fn takes_time(&self, time: u64) -> bool {
        let (from, to) = self.times;
        from.is_none_or(|from| from <= time) && to.is_none_or(|to| time <= to)
    }
}

/// What the steps of a handshake are called.
pub fn state_names() -> Vec<String> {
    let states = (0..=12_u16).map(|number| UserFlag::from_bits(number << 12).state());
    states.map(|state| state.to_string()).collect()
}
