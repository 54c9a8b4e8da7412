//! `forebay passwd`: the users of a password file.
//!
//! Owns reading passwords and putting the file in its place. A password comes from standard input
//! alone and is in no message.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, IsTerminal, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use forebay_node::auth::{Hash, HashFormat, Users, with_user, without_user};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::{
    cli::{Format, Passwd},
    exit::{Exit, Failure},
};

/// Bytes of a password at most: what a CONNECT can hold.
const PASSWORD_MAX: usize = 65_535;

/// Sets, adds or removes users of a password file.
///
/// # Errors
/// [`Exit::Io`] for the file, [`Exit::Usage`] for what was typed, [`Exit::Config`] where the file
/// is no password file, [`Exit::Refused`] where the user to remove is not there.
pub(crate) fn run(flags: &Passwd) -> Result<(), Failure> {
    let text = match fs::read_to_string(&flags.file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && flags.create => String::new(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = flags.file.display();
            let text = format!("{file} is not there; give --create to make it");
            return Err(Failure::new(Exit::Io, text));
        }
        Err(error) => return Err(failed(&flags.file, &error)),
    };
    let format = match flags.format {
        Format::Argon2id => HashFormat::Argon2id,
        Format::Mosquitto => HashFormat::Mosquitto,
    };
    let changed = match &flags.user {
        Some(user) if flags.delete => without_user(&text, user).ok_or_else(|| {
            let text = format!("user {user:?} is not in {}", flags.file.display());
            Failure::new(Exit::Refused, text)
        })?,
        Some(user) => set(&text, user, &asked(user)?, format)?,
        None => batch(text, format)?,
    };
    Users::parse(changed.as_bytes()).map_err(|error| {
        let (file, line, fault) = (flags.file.display(), error.line, &error.fault);
        Failure::new(Exit::Config, format_args!("{file}:{line}: {fault}"))
    })?;
    replace(&flags.file, &changed).map_err(|error| failed(&flags.file, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Io, format_args!("{}: {error}", path.display()))
}

fn set(text: &str, user: &str, password: &str, format: HashFormat) -> Result<String, Failure> {
    let usage = |text: &str| Failure::new(Exit::Usage, text);
    if user.is_empty() || user.starts_with('#') || user.contains([':', '\n', '\r', '\0']) {
        return Err(usage(
            "a user name is not empty, has no colon or line end, and does not begin with #",
        ));
    }
    if password.is_empty() || password.len() > PASSWORD_MAX {
        return Err(usage("a password has 1 to 65,535 bytes"));
    }
    let hash = Hash::new(password.as_bytes(), format)
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(with_user(text, user, &hash))
}

fn batch(mut text: String, format: HashFormat) -> Result<String, Failure> {
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let wrong = |what: &str| {
            let text = format!("standard input, line {}: {what}", index + 1);
            Failure::new(Exit::Usage, text)
        };
        let line = line.map_err(|_| wrong("not UTF-8"))?;
        if line.is_empty() {
            continue;
        }
        let (user, password) = line
            .split_once(':')
            .ok_or_else(|| wrong("write name:password"))?;
        text = set(&text, user, password, format)
            .map_err(|failure| wrong(failure.message.as_str()))?;
    }
    Ok(text)
}

/// The password that the user types, or the first line of standard input.
fn asked(user: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Io, format_args!("standard input: {error}"));
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return first_line().map_err(failed);
    }
    let before = tcgetattr(&stdin).map_err(|error| failed(error.into()))?;
    let mut hidden = before.clone();
    hidden.local_modes &= !LocalModes::ECHO;
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(|error| failed(error.into()))?;
    let typed = (|| {
        eprint!("password of {user}: ");
        let first = first_line()?;
        eprint!("\nonce more: ");
        let second = first_line()?;
        eprintln!();
        Ok((first, second))
    })();
    let restored = tcsetattr(&stdin, OptionalActions::Flush, &before);
    let (first, second) = typed.map_err(failed)?;
    restored.map_err(|error| failed(error.into()))?;
    if first == second {
        Ok(first)
    } else {
        let text = "the two are not the same; nothing is changed";
        Err(Failure::new(Exit::Usage, text))
    }
}

fn first_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Writes the file anew beside itself and puts it in its place: a reader has the old one or the
/// new one, whole. It keeps its rights; a new one is for its owner alone.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&path).map_or(0o600, |it| it.permissions().mode() & 0o7777);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside: PathBuf = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    })();
    if written.is_err() {
        // It is not in its place; what is left of it is of no use.
        let _ = fs::remove_file(&beside);
    }
    written
}
