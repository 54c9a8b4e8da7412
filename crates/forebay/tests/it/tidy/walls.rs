//! Which room may know which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{File, has_word, names, read, sources, toml};

/// The rooms of the workspace, and which dependencies each may have; `None` leaves it open.
const ROOMS: [(&str, Option<&[&str]>); 4] = [
    ("forebay-proto", Some(&["bytes", "thiserror"])),
    (
        "forebay-store",
        Some(&[
            "bytes",
            "crc32c",
            "hashbrown",
            "io-uring",
            "libc",
            "rustix",
            "thiserror",
        ]),
    ),
    ("forebay-node", None),
    ("forebay", None),
];

/// What only some rooms may have, at any depth below their own dependencies.
const RESERVED: [(&str, &[&str]); 8] = [
    ("tokio", &["forebay-node", "forebay"]),
    ("mio", &["forebay-node", "forebay"]),
    ("forebay-proto", &["forebay-node", "forebay"]),
    ("forebay-store", &["forebay-node", "forebay"]),
    ("tracing", &["forebay-node", "forebay"]),
    ("anyhow", &["forebay"]),
    ("clap", &["forebay"]),
    ("toml", &["forebay"]),
];

/// The roles of `forebay-node` and what is part of them. The rest of it is shared.
const ROLES: [(&str, &[&str]); 4] = [
    ("bench", &["bench"]),
    ("broker", &["broker", "disk_thread", "metrics"]),
    ("client", &["client"]),
    ("inspect", &["inspect"]),
];
/// What roles share.
const SHARED: [&str; 4] = ["auth", "clock", "kept", "net"];

fn manifest(room: &str) -> toml::Table {
    toml(&format!("crates/{room}/Cargo.toml"))
}

fn room_of(file: &File) -> &str {
    file.path.split('/').nth(1).unwrap_or_default()
}

/// Everything that `from` lead to in the lock file.
fn reach(from: Vec<String>) -> BTreeSet<String> {
    let lock = toml("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages");
    let mut leads: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let below = package.get("dependencies").and_then(|list| list.as_array());
        let below = below.into_iter().flatten().filter_map(|name| name.as_str());
        let name = package["name"].as_str().expect("a name");
        let below = below.filter_map(|name| name.split(' ').next());
        leads.entry(name).or_default().extend(below);
    }
    let mut found = BTreeSet::new();
    let mut open = from;
    while let Some(next) = open.pop() {
        let below = leads.get(next.as_str());
        let below = below.unwrap_or_else(|| panic!("{next} is not in Cargo.lock"));
        if found.insert(next.clone()) {
            open.extend(below.iter().map(ToString::to_string));
        }
    }
    found
}

#[test]
fn the_rooms_are_the_four_of_the_plan() {
    let found = std::fs::read_dir(super::source::root().join("crates")).expect("a directory");
    let found: BTreeSet<String> = found
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("a name in UTF-8"))
        .collect();
    let expected = ROOMS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_pure_room_depends_on_nothing_but_what_the_rule_names() {
    for (room, allowed) in ROOMS {
        let Some(allowed) = allowed else { continue };
        for name in names(&manifest(room), "dependencies") {
            assert!(allowed.contains(&&*name), "{room} depends on {name}");
        }
        assert!(names(&manifest(room), "build-dependencies").is_empty());
        assert!(names(&manifest(room), "target").is_empty());
    }
}

#[test]
fn what_is_reserved_for_a_room_is_in_no_other_at_any_depth() {
    for (room, _) in ROOMS {
        let own = names(&manifest(room), "dependencies");
        // Below a crate of ours the lock file knows test dependencies too; it is judged itself.
        let foreign = own.iter().filter(|name| !name.starts_with("forebay"));
        let mut all = reach(foreign.cloned().collect());
        all.extend(own);
        for (name, rooms) in RESERVED {
            let allowed = rooms.contains(&room);
            assert!(allowed || !all.contains(name), "{room} depends on {name}");
        }
    }
}

#[test]
fn a_room_names_no_crate_it_must_not_know_even_in_tests() {
    for file in sources() {
        let code = file.code();
        let room = room_of(&file);
        for (name, rooms) in RESERVED {
            // A crate's own integration tests name it.
            let allowed = rooms.contains(&room) || room == name;
            let path = name.replace('-', "_") + "::";
            let named = code.match_indices(&path).any(|(at, _)| {
                let before = code[..at].chars().next_back();
                !before.is_some_and(|before| before.is_alphanumeric() || before == '_')
            });
            assert!(allowed || !named, "{}: {name}", file.path);
        }
    }
}

#[test]
fn the_protocol_is_without_the_standard_library() {
    assert!(read("crates/forebay-proto/src/lib.rs").contains("\n#![no_std]\n"));
    for file in sources() {
        if room_of(&file) == "forebay-proto" && file.is_shipped() {
            let code = file.code();
            for word in ["std", "cfg_attr", "HashMap", "HashSet"] {
                assert!(!has_word(&code, word), "{}: {word}", file.path);
            }
        }
    }
    for name in ["bytes", "thiserror"] {
        let shared = &toml("Cargo.toml")["workspace"]["dependencies"][name];
        let default = shared
            .get("default-features")
            .and_then(toml::Value::as_bool);
        assert_eq!(default, Some(false), "{name} would bring std");
        let own = &manifest("forebay-proto")["dependencies"][name];
        assert!(
            own.get("features").is_none(),
            "{name} has features in proto"
        );
    }
}

#[test]
fn the_store_knows_no_word_of_the_protocol() {
    for file in sources() {
        if room_of(&file) == "forebay-store" && file.is_shipped() {
            let code = file.code().to_lowercase();
            // The steps of a handshake have names in the flag: that is all it may know.
            for word in ["mqtt", "subscribe", "connack", "topic"] {
                assert!(!code.contains(word), "{}: {word}", file.path);
            }
        }
    }
}

#[test]
fn every_dependency_is_used_by_the_crate_that_has_it() {
    let files = sources();
    let mut used = BTreeSet::new();
    for (room, _) in ROOMS {
        for (table, shipped) in [("dependencies", true), ("dev-dependencies", false)] {
            for name in names(&manifest(room), table) {
                let word = name.replace('-', "_");
                let mut own = files.iter().filter(|file| room_of(file) == room);
                let uses = own
                    .any(|file| (file.is_shipped() || !shipped) && has_word(&file.code(), &word));
                assert!(uses, "{room} does not use {name} of its {table}");
                used.insert(name);
            }
        }
    }
    let manifest = toml("Cargo.toml");
    let workspace = manifest["workspace"].as_table().expect("a table");
    for name in names(workspace, "dependencies") {
        let own = name.starts_with("forebay-");
        assert!(own || used.contains(&name), "nobody uses {name}");
    }
}

/// The first parts of every `crate::` path in `code`, groups included.
fn parts(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, mark) in code.match_indices("crate::") {
        let rest = &code[at + mark.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                _ if begins && character.is_alphabetic() => {
                    begins = false;
                    found.insert(word(&group[at..]));
                }
                _ => {}
            }
        }
    }
    found
}

fn word(text: &str) -> String {
    let inside = |character: &char| character.is_alphanumeric() || *character == '_';
    text.chars().take_while(inside).collect()
}

#[test]
fn the_roles_of_the_node_do_not_name_one_another() {
    for file in sources() {
        let Some(inside) = file.path.strip_prefix("crates/forebay-node/src/") else {
            continue;
        };
        let part = word(inside);
        if part == "lib" {
            continue;
        }
        let role = ROLES.iter().find(|(_, parts)| parts.contains(&&*part));
        assert!(
            role.is_some() || SHARED.contains(&&*part),
            "{part} is neither of a role nor shared"
        );
        for named in parts(&file.code()) {
            let own = role.is_some_and(|(_, parts)| parts.contains(&&*named));
            let shared = SHARED.contains(&&*named);
            assert!(own || shared, "{} names {named}", file.path);
        }
    }
    let found = parts("use crate::{a::{b, c}, d, e_f::g};\ncrate::h::i(); crate::J");
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        ["J", "a", "d", "e_f", "h"]
    );
}

#[test]
fn unsafe_code_is_in_the_one_module_that_gives_its_reasons() {
    const ALLOWED: &str = "crates/forebay-store/src/disk/os/ring.rs";
    for file in sources() {
        let code = file.code();
        if file.path == ALLOWED {
            for (at, _) in file.text.match_indices("unsafe {") {
                let before = file.text[..at].lines().rev().take(8);
                let reason = before.into_iter().any(|line| line.contains("// SAFETY: "));
                assert!(reason, "an unsafe block in {ALLOWED} has no reason");
            }
            continue;
        }
        for word in ["unsafe", "unsafe_code"] {
            assert!(!has_word(&code, word), "{}: {word}", file.path);
        }
    }
}
