//! Users and their passwords.
//!
//! Owns the password file ([`Users`]), the hashes in it ([`Hash`]) and the threads that check
//! passwords ([`LoginPool`]). Never knows what a user may do once inside: that is the access
//! control list. A password is in no text, error or log that is made here.

mod hash;
mod pool;
mod users;

pub use hash::{Hash, HashError, HashFormat};
pub(crate) use pool::{Answers, LoginPool, Question};
pub use users::{Users, UsersError, UsersFault, with_user, without_user};
