use super::{Hash, HashError, HashFormat};

#[test]
fn a_new_hash_is_of_its_password_alone_in_every_format_and_after_its_text() {
    for format in [HashFormat::Argon2id, HashFormat::Mosquitto] {
        let hash = Hash::new(b"secret", format).unwrap();
        let again = Hash::parse(&hash.text()).unwrap();
        assert_eq!(hash, again);
        assert!(again.is_of(b"secret"), "{format:?}");
        for other in [&b"Secret"[..], b"secre", b"", b"secret "] {
            assert!(!again.is_of(other), "{format:?}");
        }
        assert!(!again.decoy().is_of(b"secret"));
        let other = Hash::new(b"secret", format).unwrap();
        assert_ne!(hash.text(), other.text(), "each has a salt of its own");
    }
}

/// SHA-512 of `password` and the salt `saltsalt`.
const OLD: &str = "$6$c2FsdHNhbHQ=$\
                   9ZxHVj4YomwqqFiYKcIjExMLx2ZblYfXRGc4KMqbgvHq2+HOgwiTIi+eO/Uam/8D0beDAkGpvx14+UFlfBskLg==";

#[test]
fn the_text_of_a_hash_never_shows_in_its_debug() {
    let hash = Hash::new(b"secret", HashFormat::Mosquitto).unwrap();
    let shown = format!("{hash:?}");
    let text = hash.text();
    assert!(text.split('$').skip(3).all(|part| !shown.contains(part)));
}

#[test]
fn the_oldest_format_is_read() {
    let hash = Hash::parse(OLD).unwrap();
    assert!(hash.is_of(b"password"));
    assert!(!hash.is_of(b"passwore"));
}

#[test]
fn what_is_cut_unknown_or_too_costly_is_refused() {
    let whole = Hash::new(b"x", HashFormat::Argon2id).unwrap().text();
    for end in 0..whole.len() {
        let cut = &whole[..end];
        assert!(Hash::parse(cut).is_err(), "{cut}");
    }
    for (text, error) in [
        ("", HashError::Unknown),
        ("secret", HashError::Unknown),
        ("$1$abc$def", HashError::Unknown),
        (
            "$7$0$c2FsdA==$AAAAAAAAAAAAAAAAAAAAAA==",
            HashError::Malformed,
        ),
        ("$7$101$c2FsdA==$AAAA", HashError::Malformed),
        (
            "$7$99999999$c2FsdA==$AAAAAAAAAAAAAAAAAAAAAA==",
            HashError::Costly,
        ),
        (
            "$argon2id$v=16$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            HashError::Malformed,
        ),
        (
            "$argon2id$v=19$m=9999999,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            HashError::Costly,
        ),
    ] {
        assert_eq!(Hash::parse(text), Err(error), "{text}");
    }
}
