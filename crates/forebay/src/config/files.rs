//! The files that the configuration names: passwords and access control.
//!
//! Owns [`read`], which takes both whole or says what is wrong with them, line by line.

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use forebay_node::{Access, Acl, Anonymous, auth::Users};

use super::{problem::Problem, validated::Broker};

/// The most bytes of a file that is read.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What the files hold.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// Who may come with a name.
    pub(crate) users: Arc<Users>,
    /// Who may come in, and do what.
    pub(crate) access: Access,
}

/// Reads the files of a broker's configuration.
///
/// # Errors
/// What is wrong with each, in its line.
pub(crate) fn read(broker: &Broker) -> Result<Files, Vec<Problem>> {
    let users = broker.password_file.value.as_deref().map(|path| {
        let text = bytes("broker.password_file", path)?;
        warn_if_open(path);
        Users::parse(&text).map_err(|error| problem(path, error.line, &error.fault))
    });
    let acl = broker.acl_file.value.as_deref().map(|path| {
        let text = bytes("broker.acl_file", path)?;
        Acl::parse(&text).map_err(|error| problem(path, error.line, &error.fault))
    });
    let has_users = users.is_some();
    let (users, acl) = match (users.transpose(), acl.transpose()) {
        (Ok(users), Ok(acl)) => (users, acl),
        (users, acl) => return Err([users.err(), acl.err()].into_iter().flatten().collect()),
    };
    let anonymous = match (broker.allow_anonymous.value, has_users) {
        (true, _) => Anonymous::Anywhere,
        (false, true) => Anonymous::Nobody,
        (false, false) => Anonymous::Loopback,
    };
    Ok(Files {
        users: Arc::new(users.unwrap_or_default()),
        access: Access {
            anonymous,
            users: has_users,
            acl: acl.map(Arc::new),
            refused_publish: broker.refused_publish.value.into(),
        },
    })
}

fn bytes(key: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    let wrong = |what: String| Problem {
        file: None,
        line: None,
        key: Some(key.to_owned()),
        what: format!("{} {what}", path.display()),
        cure: "name a file that is there and readable".to_owned(),
    };
    let size = std::fs::metadata(path).map_err(|error| wrong(format!("can't be read: {error}")))?;
    if !size.is_file() || size.len() > BYTES_MAX {
        return Err(wrong("is no file, or larger than 256 MiB".to_owned()));
    }
    std::fs::read(path).map_err(|error| wrong(format!("can't be read: {error}")))
}

fn problem(path: &Path, line: usize, fault: &dyn std::fmt::Display) -> Problem {
    Problem {
        file: Some(path.display().to_string()),
        line: Some(line),
        key: None,
        what: fault.to_string(),
        cure: String::new(),
    }
}

/// Says so where others on this host can read the hashes.
fn warn_if_open(path: &Path) {
    let open = std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o007 != 0);
    if open {
        let path = path.display();
        tracing::warn!(%path, "everybody on this host can read the password file; chmod 600 it");
    }
}
