//! The threads that check passwords.
//!
//! Owns [`LoginPool`]. Checking takes long on purpose, so it happens on threads of its own, a few
//! at a time; what waits for them is bounded, and what does not fit is told so. The threads end
//! when the pool is dropped.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use forebay_proto::{ConnectionId, Login, Password, Text};
use tokio::sync::mpsc as local;

use super::Users;

/// Logins that wait for a thread; one more is told that the broker is busy.
const WAITING: usize = 1024;
/// The most threads.
const THREADS: usize = 4;

/// What is to be found out.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) connection: ConnectionId,
    pub(crate) users: Arc<Users>,
    pub(crate) user: Option<Text>,
    pub(crate) password: Password,
}

impl Question {
    fn answer(&self) -> Login {
        // A password without a name is nobody's.
        let name = self.user.as_ref().map_or("", Text::as_str);
        let password = self.password.0.as_deref().unwrap_or_default();
        if self.users.check(name, password) && self.user.is_some() {
            Login::Granted
        } else {
            Login::Denied
        }
    }
}

/// Where answers come from.
pub(crate) type Answers = local::UnboundedReceiver<(ConnectionId, Login)>;

/// Threads that check passwords.
#[derive(Debug)]
pub(crate) struct LoginPool(mpsc::SyncSender<Question>);

impl LoginPool {
    /// Starts the threads: half as many as there are cores.
    pub(crate) fn start() -> io::Result<(Self, Answers)> {
        let (asked, questions) = mpsc::sync_channel::<Question>(WAITING);
        // As many answers wait as there were questions, which are bounded.
        let (told, answers) = local::unbounded_channel();
        let questions = Arc::new(Mutex::new(questions));
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for number in 0..(cores / 2).clamp(1, THREADS) {
            let (questions, told) = (Arc::clone(&questions), told.clone());
            thread::Builder::new()
                .name(format!("login-{number}"))
                .spawn(move || {
                    loop {
                        let next = questions
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .recv();
                        let Ok(question) = next else { break };
                        if told.send((question.connection, question.answer())).is_err() {
                            break;
                        }
                    }
                })?;
        }
        Ok((Self(asked), answers))
    }

    /// Asks; `false` where too many wait.
    pub(crate) fn ask(&self, question: Question) -> bool {
        self.0.try_send(question).is_ok()
    }
}
