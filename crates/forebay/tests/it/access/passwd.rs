//! `forebay passwd`.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

fn passwd(args: &[&str], file: &Path, user: Option<&str>, stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .arg("passwd")
        .args(args)
        .arg(file)
        .args(user)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("forebay");
    // One that ends early reads nothing.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(stdin.as_bytes());
    child.wait_with_output().expect("an end")
}

/// Runs `forebay passwd --batch` and requires success.
#[track_caller]
pub(super) fn batch(file: &Path, lines: &str, flags: &[&str]) {
    let output = passwd(&[&["--batch"], flags].concat(), file, None, lines);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn users_are_made_changed_and_removed_and_the_file_is_whole_at_every_step() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("passwords");
    let missing = passwd(&[], &file, Some("ann"), "x\n");
    assert_eq!(missing.status.code(), Some(74));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--create"));

    assert!(
        passwd(&["--create"], &file, Some("ann"), "one\n")
            .status
            .success()
    );
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a new file is for its owner alone");
    let first = fs::read_to_string(&file).expect("a file");
    assert!(
        first.starts_with("ann:$argon2id$v=19$m=19456,t=2,p=1$"),
        "{first}"
    );

    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("rights");
    let mosquitto = ["--format", "mosquitto"];
    assert!(
        passwd(&mosquitto, &file, Some("bob"), "two\n")
            .status
            .success()
    );
    assert!(passwd(&[], &file, Some("ann"), "three").status.success());
    let text = fs::read_to_string(&file).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("ann:$argon2id$") && lines[0] != first.trim_end());
    assert!(lines[1].starts_with("bob:$7$210000$"));
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "rights stay");

    assert!(
        passwd(&["--delete"], &file, Some("ann"), "")
            .status
            .success()
    );
    let again = passwd(&["--delete"], &file, Some("ann"), "");
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(
        fs::read_to_string(&file).expect("a file").lines().count(),
        1
    );
    let left = fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(left, 1, "nothing is left beside it");
}

#[test]
fn what_can_be_no_user_or_no_password_changes_nothing_and_shows_no_password() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("passwords");
    batch(&file, "ann:secret\n", &["--create"]);
    let before = fs::read(&file).expect("a file");
    for (user, stdin) in [
        ("a:b", "hunter2\n"),
        ("", "hunter2\n"),
        ("#x", "hunter2"),
        ("bob", "\n"),
    ] {
        let output = passwd(&[], &file, Some(user), stdin);
        assert_eq!(output.status.code(), Some(2), "{user:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("hunter2"));
    }
    let output = passwd(&["--batch"], &file, None, "bob:fine\nhunter2\n");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told.contains("line 2") && !told.contains("hunter2"),
        "{told}"
    );
    assert_eq!(fs::read(&file).expect("a file"), before);
}
