use super::*;

#[test]
fn what_is_escaped_shows_no_control_character_and_can_be_typed() {
    let names: [&[u8]; 6] = [
        b"c-OUT",
        b"a b\\x41\t\x1b[2J\x7f-IN",
        "\u{202E}caf\u{E9}\u{85}-OUT".as_bytes(),
        b"\xff\xfe-OUT",
        b"",
        b"../../etc/passwd-IN",
    ];
    for name in names {
        let text = escape(name);
        assert!(text.chars().all(|it| !is_unseen(it)), "{text:?}");
        assert_eq!(unescape(text.as_bytes()).as_deref(), Some(name));
        assert!(super::names(OsStr::new(&text)).contains(&name.to_vec()));
    }
    assert_eq!(escape(b"c-OUT"), "c-OUT");
    assert_eq!(unescape(b"a\\q"), None);
    assert_eq!(unescape(b"a\\x4"), None);
}

#[test]
fn a_name_that_has_a_backslash_is_first_taken_as_it_is() {
    let found = names(OsStr::new("a\\x41"));
    assert_eq!(found, [b"a\\x41".to_vec(), b"aA".to_vec()]);
}
