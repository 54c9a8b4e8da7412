//! What a file looks like, and what it must not hold.

use super::source::{files, has_word, read, sources, toml};

/// The longest a file that is shipped may be.
const LINES_MAX: usize = 500;
/// The longest header of a module, its examples left out.
const HEADER_MAX: usize = 15;

#[test]
fn every_shipped_file_begins_with_what_it_owns() {
    for file in sources() {
        if !file.is_shipped() {
            continue;
        }
        let header = file.text.lines().take_while(|line| line.starts_with("//!"));
        let mut example = false;
        let prose = header.filter(|line| {
            let fence = line.starts_with("//! ```");
            example ^= fence;
            !fence && !example
        });
        let count = prose.count();
        assert!(count > 0, "{} has no header", file.path);
        assert!(
            count <= HEADER_MAX,
            "the header of {} has {count} lines",
            file.path
        );
    }
}

#[test]
fn no_shipped_file_is_too_long_to_read() {
    for file in sources() {
        let count = file.text.lines().count();
        let fits = !file.is_shipped() || count <= LINES_MAX;
        assert!(fits, "{} has {count} lines", file.path);
    }
}

#[test]
fn only_the_output_module_writes_to_standard_output() {
    for file in sources() {
        let code = file.code();
        let writes = ["println", "print", "stdout"]
            .iter()
            .any(|word| has_word(&code, word));
        let allowed = !file.is_shipped() || file.path == "crates/forebay/src/output.rs";
        assert!(allowed || !writes, "{} writes to stdout", file.path);
    }
}

#[test]
fn nothing_is_left_to_be_done_in_the_code() {
    // Put together, so that this file does not hold them itself.
    let marks = ["TO-DO", "FIX-ME", "XX-X", "HA-CK"].map(|mark| mark.replace('-', ""));
    let text = sources().into_iter().chain(files(".", "md"));
    for file in text {
        for mark in &marks {
            assert!(!has_word(&file.text, mark), "{}: {mark}", file.path);
        }
    }
    for file in sources() {
        let code = file.code();
        for call in ["todo!", "unimplemented!", "dbg!"] {
            assert!(!has_word(&code, call), "{}: {call}", file.path);
        }
    }
}

#[test]
fn no_test_sleeps() {
    for file in sources() {
        if !file.is_test() {
            continue;
        }
        let code = file.code();
        let paused = has_word(&code, "start_paused");
        for word in ["sleep", "sleep_ms", "sleep_until"] {
            let thread = code.contains(&format!("thread::{word}"));
            assert!(!thread, "{} sleeps", file.path);
            assert!(paused || !has_word(&code, word), "{} sleeps", file.path);
        }
    }
}

#[test]
fn no_test_is_switched_off_without_a_reason() {
    for file in sources() {
        let ignored = file.code().contains("#[ignore]");
        assert!(!ignored, "{} has a test that never runs", file.path);
    }
}

#[test]
fn every_crate_takes_the_lints_and_the_licence_of_the_workspace() {
    for room in ["forebay", "forebay-node", "forebay-proto", "forebay-store"] {
        let manifest = toml(&format!("crates/{room}/Cargo.toml"));
        let inherits = |table: &str, key: &str| {
            let value = manifest[table].get(key);
            value.is_some_and(|value| match value.as_bool() {
                Some(is) => is,
                None => value
                    .get("workspace")
                    .is_some_and(|is| is.as_bool() == Some(true)),
            })
        };
        assert!(inherits("lints", "workspace"), "{room}");
        for key in ["edition", "license", "rust-version", "version"] {
            assert!(inherits("package", key), "{room}: {key}");
        }
    }
}

#[test]
fn a_library_names_what_it_gives_away() {
    for room in ["forebay-node", "forebay-proto", "forebay-store"] {
        let text = read(&format!("crates/{room}/src/lib.rs"));
        let glob = text
            .lines()
            .any(|line| line.starts_with("pub use") && line.contains('*'));
        assert!(!glob, "{room}");
    }
}
