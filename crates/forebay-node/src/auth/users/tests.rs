use super::{Hash, Users, with_user, without_user};
use crate::auth::HashFormat;

fn hash(password: &str) -> Hash {
    Hash::new(password.as_bytes(), HashFormat::Argon2id).unwrap()
}

#[test]
fn a_file_is_edited_line_by_line_and_keeps_its_comments() {
    let text = "# who may come\nann:x\n\nbob:y\n";
    let changed = with_user(text, "bob", &hash("b"));
    assert!(changed.starts_with("# who may come\nann:x\n\nbob:$argon2id$"));
    let more = with_user(&changed, "eve", &hash("e"));
    assert!(more.starts_with(&changed) && more[changed.len()..].starts_with("eve:$"));
    let less = without_user(&more, "ann").unwrap();
    let users = Users::parse(less.as_bytes()).unwrap();
    assert_eq!(users.len(), 2);
    assert!(users.check("bob", b"b") && users.check("eve", b"e"));
    assert!(!users.check("bob", b"e") && !users.check("ann", b"x"));
    assert_eq!(without_user(&less, "ann"), None);
}

#[test]
fn every_mistake_is_told_with_its_line_and_without_what_is_secret() {
    let good = hash("x").text();
    let cases = [
        ("# c\nann\n".to_owned(), "line 2: no user; write name:hash"),
        (":x\n".to_owned(), "line 1: no user"),
        (
            "ann:geheim\n".to_owned(),
            "line 1: user \"ann\": no hash of a known kind",
        ),
        (
            format!("ann:{good}\nann:{good}\n"),
            "line 2: user \"ann\" stands here a second time",
        ),
        (
            format!("ann:{}", &good[..60]),
            "line 1: user \"ann\": cut or malformed hash",
        ),
    ];
    for (text, told) in cases {
        let error = Users::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
        assert!(
            !error.contains("geheim") && !error.contains("m=19"),
            "{error}"
        );
    }
}
