//! What a running broker takes anew.
//!
//! Owns [`Reload`], how the configuration is read again, and [`reloading`], which does so at every
//! SIGHUP. Everything is read and checked before anything is changed; where something is wrong
//! nothing is. No connection ends by it.

use std::{cell::RefCell, fmt, rc::Rc, sync::Arc};

use forebay_proto::Access;
use rustls::ServerConfig;
use tokio::signal::unix::Signal;

use super::{door::Listener, shard::Shard};
use crate::auth::Users;

/// What can change while a broker runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who may come in, and do what.
    pub access: Access,
    /// The bounds.
    pub limits: forebay_proto::Limits,
    /// Who may come with a name.
    pub users: Arc<Users>,
    /// The ways in: their certificates and keys are read again.
    pub listeners: Vec<Listener>,
    /// What was written and holds from the next start only, for the log.
    pub later: Vec<String>,
}

/// What was read, whole.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// What each of its listeners speaks TLS with.
    pub(crate) tls: Vec<Option<Arc<ServerConfig>>>,
}

fn load(read: &Read) -> Result<Loaded, Vec<String>> {
    let settings = read()?;
    let tls: Result<_, _> = settings.listeners.iter().map(Listener::load).collect();
    let tls = tls.map_err(|error| vec![error.to_string()])?;
    Ok(Loaded { settings, tls })
}

/// Reads the configuration again.
#[derive(Clone)]
pub struct Reload(Arc<Read>);

type Read = dyn Fn() -> Result<Settings, Vec<String>> + Send + Sync;

impl Reload {
    /// `read` is called off the broker's thread. Its errors are lines for the log.
    pub fn new(read: impl Fn() -> Result<Settings, Vec<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload")
    }
}

/// Reads the configuration again at every SIGHUP.
pub(super) async fn reloading(
    shard: Rc<RefCell<Shard>>,
    mut hangup: Signal,
    reload: Option<Reload>,
) {
    while hangup.recv().await.is_some() {
        let Some(Reload(read)) = reload.clone() else {
            tracing::info!("SIGHUP: there is nothing to read again");
            continue;
        };
        let read = tokio::task::spawn_blocking(move || load(&*read));
        match read.await {
            Ok(Ok(loaded)) => {
                let settings = &loaded.settings;
                for key in &settings.later {
                    tracing::warn!(key, "SIGHUP: holds from the next start");
                }
                let users = settings.users.len();
                let rules = settings.access.acl.as_ref().map(|acl| acl.len());
                shard.borrow_mut().reload(loaded);
                tracing::info!(users, rules, "SIGHUP: the configuration was read again");
            }
            Ok(Err(lines)) => {
                for line in lines {
                    tracing::error!("SIGHUP: nothing is changed: {line}");
                }
            }
            Err(error) => tracing::error!(%error, "SIGHUP: nothing is changed"),
        }
    }
}
