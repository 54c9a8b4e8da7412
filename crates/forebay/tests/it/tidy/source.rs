//! The workspace as text: its files, its manifests, and Rust without comments and strings.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file of the workspace.
#[derive(Debug)]
pub(super) struct File {
    /// Its path from the workspace, with `/` between the parts.
    pub(super) path: String,
    /// What is in it.
    pub(super) text: String,
}

impl File {
    /// Whether it belongs to what is built for users: not a test, not a benchmark.
    pub(super) fn is_shipped(&self) -> bool {
        self.path.contains("/src/") && !self.is_test()
    }

    /// Whether it is a test of either kind.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The text without comments and with empty strings, in the same lines.
    pub(super) fn code(&self) -> String {
        code(&self.text)
    }
}

/// Where the workspace is.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One file of the workspace.
#[track_caller]
pub(super) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below `directory` whose name ends in `.extension`, in the order of their paths.
#[track_caller]
pub(super) fn files(directory: &str, extension: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(root().join(&next)).expect("a directory") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            let path = format!("{next}/{name}");
            if entry.file_type().expect("a type").is_dir() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if Path::new(&name)
                .extension()
                .is_some_and(|is| is == extension)
            {
                let text = read(&path);
                found.push(File { path, text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "no .{extension} below {directory}");
    found
}

/// Every Rust file of the workspace.
#[track_caller]
pub(super) fn sources() -> Vec<File> {
    files("crates", "rs")
}

/// A manifest, or the lock file.
#[track_caller]
pub(super) fn toml(path: &str) -> toml::Table {
    read(path)
        .parse()
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names in one table of a manifest; none if it has no such table.
pub(super) fn names(manifest: &toml::Table, table: &str) -> Vec<String> {
    let table = manifest.get(table).and_then(toml::Value::as_table);
    table.map_or_else(Vec::new, |table| table.keys().cloned().collect())
}

/// Whether `word` stands in `code` by itself.
pub(super) fn has_word(code: &str, word: &str) -> bool {
    let inside =
        |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    code.match_indices(word).any(|(at, _)| {
        !inside(code[..at].chars().next_back()) && !inside(code[at + word.len()..].chars().next())
    })
}

/// Rust without comments and with empty strings, in the same lines.
pub(super) fn code(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(first) = rest.chars().next() {
        let word = kept.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let (len, left) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), "")
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |at| at + 2), "")
        } else if first == '"' {
            (string(rest), "\"\"")
        } else if let Some(len) = raw_string(rest).filter(|_| !word) {
            (len, "\"\"")
        } else if let Some(len) = character(rest) {
            (len, "' '")
        } else {
            let len = first.len_utf8();
            kept.push(first);
            rest = &rest[len..];
            continue;
        };
        let lines = rest[..len].matches('\n').count();
        kept.push_str(left);
        kept.extend(std::iter::repeat_n('\n', lines));
        rest = &rest[len..];
    }
    kept
}

/// The length of a string that begins with its quotation mark.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string, if one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
    let marks = inside.len() - inside.trim_start_matches('#').len();
    inside[marks..].starts_with('"').then(|| {
        let end = format!("\"{}", "#".repeat(marks));
        let from = text.len() - inside.len() + marks + 1;
        let found = text[from..].find(&end);
        found.map_or(text.len(), |at| from + at + end.len())
    })
}

/// The length of a character, if one begins here and not a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let mut characters = inside.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        let (escaped, _) = characters.next()?;
        let from = escaped + 1;
        return inside[from..].find('\'').map(|at| 1 + from + at + 1);
    }
    let (at, next) = characters.next()?;
    (next == '\'').then_some(1 + at + 1)
}

#[test]
fn what_is_left_of_rust_is_its_code() {
    let text = r##"let a = 'x'; // unsafe
let b: &'static str = "unsafe \" unsafe"; /* unsafe
unsafe */ let c = r#"unsafe " unsafe"#; let d = '\''; let e = '"'; let for_r = b"x";
unsafe { f::<'_>() }"##;
    let expected = "let a = ' '; \nlet b: &'static str = \"\"; \n let c = \"\"; let d = ' '; \
                    let e = ' '; let for_r = b\"\";\nunsafe { f::<'_>() }";
    assert_eq!(code(text), expected);
    assert!(has_word(expected, "unsafe"));
    assert!(!has_word("unsafe_code", "unsafe"));
}
