//! That what is cited exists: statements of the specifications, files, and pages.

use super::source::{File, files, root, sources};

/// The chapters of MQTT 5 that have statements, each as `chapter:highest number`.
const MQTT5: &str = "\
    1.5.4:3 1.5.5:1 1.5.7:1 2.1.3:1 2.2.1:6 2.2.2:1 3.1.0:2 3.1.2:30 3.1.3:12 3.1.4:6 3.2.0:2 \
    3.2.2:22 3.3.1:13 3.3.2:20 3.3.4:10 3.4.2:3 3.5.2:3 3.6.1:1 3.6.2:3 3.7.2:3 3.8.1:1 \
    3.8.3:5 3.8.4:8 3.9.2:2 3.9.3:2 3.10.1:1 3.10.3:2 3.10.4:6 3.11.2:2 3.11.3:2 3.12.4:1 \
    3.14.0:1 3.14.1:1 3.14.2:4 3.14.4:3 3.15.1:1 3.15.2:3 4.1.0:2 4.2.0:1 4.3.1:1 4.3.2:5 \
    4.3.3:13 4.4.0:2 4.5.0:2 4.6.0:6 4.7.0:1 4.7.1:2 4.7.2:1 4.7.3:4 4.8.2:6 4.9.0:3 4.12.0:7 \
    4.12.1:2 4.13.1:1 4.13.2:1 6.0.0:4";

/// The same of MQTT 3.1.1.
const MQTT311: &str = "\
    1.5.3:3 2.2.2:2 2.3.1:7 3.1.0:2 3.1.2:24 3.1.3:11 3.1.4:5 3.2.0:1 3.2.2:6 3.3.1:12 3.3.2:3 \
    3.3.4:1 3.3.5:2 3.6.1:1 3.6.4:1 3.8.1:1 3.8.3:4 3.8.4:6 3.9.3:2 3.10.1:1 3.10.3:2 3.10.4:6 \
    3.12.4:1 3.14.1:1 3.14.4:3 4.1.0:2 4.2.0:1 4.3.1:1 4.3.2:2 4.3.3:2 4.4.0:1 4.5.0:2 4.6.0:6 \
    4.7.1:3 4.7.2:1 4.7.3:4 4.8.0:2 6.0.0:4";

/// Our own numbered claims, each kind with its highest number.
const OWN: &[(&str, u32)] = &[
    ("queue claim ", 30),
    ("broker claim ", 36),
    ("edge claim ", 38),
    ("broker case ", 24),
];

fn is_real(statement: &str, chapters: &str) -> bool {
    let Some((chapter, number)) = statement.rsplit_once('-') else {
        return false;
    };
    let mut known = chapters.split(' ').filter_map(|word| word.split_once(':'));
    let highest = known.find(|(known, _)| *known == chapter);
    let highest = highest.and_then(|(_, highest)| highest.parse::<u32>().ok());
    let number = number.parse().ok().filter(|_| !number.starts_with('0'));
    number.is_some_and(|number: u32| highest.is_some_and(|highest| number <= highest))
}

/// What is wrong with the citations in `text`, and how many there are.
fn judge(text: &str) -> (Vec<String>, usize) {
    let mut wrong = Vec::new();
    let mut count = 0;
    let statement = |rest: &str| {
        let end = rest.find(|is: char| !is.is_ascii_digit() && is != '.' && is != '-');
        rest[..end.unwrap_or(rest.len())]
            .trim_end_matches(['.', '-'])
            .to_owned()
    };
    for (mark, chapters) in [("MQTT-", MQTT5), ("MQTT311-", MQTT311)] {
        for (at, _) in text.match_indices(mark) {
            let rest = &text[at + mark.len()..];
            if !rest.starts_with(|is: char| is.is_ascii_digit()) {
                continue;
            }
            let cited = statement(rest);
            count += 1;
            if !is_real(&cited, chapters) {
                wrong.push(format!("{mark}{cited}"));
            }
        }
    }
    for (mark, highest) in OWN {
        for (at, _) in text.match_indices(mark) {
            let cited = statement(&text[at + mark.len()..]);
            let number = cited.parse::<u32>();
            count += 1;
            if !number.is_ok_and(|number| (1..=*highest).contains(&number)) {
                wrong.push(format!("{mark}{cited}"));
            }
        }
    }
    (wrong, count)
}

fn everything() -> impl Iterator<Item = File> {
    sources().into_iter().chain(files(".", "md"))
}

#[test]
fn every_statement_that_is_cited_exists() {
    let mut count = 0;
    // This file holds some that don't exist, to see that they are found.
    for file in everything().filter(|file| !file.path.ends_with("tidy/citations.rs")) {
        let (wrong, found) = judge(&file.text);
        assert!(wrong.is_empty(), "{} cites {wrong:?}", file.path);
        count += found;
    }
    assert!(count > 100, "only {count} citations were found");
}

#[test]
fn a_statement_that_does_not_exist_is_found() {
    let real = "[MQTT-4.9.0-3], [MQTT311-3.1.2-24]. queue claim 30; broker case 1, MQTT-based";
    assert_eq!(judge(real), (Vec::new(), 4));
    for wrong in [
        "[MQTT-4.9.0-4]",
        "[MQTT-4.9.0-0]",
        "[MQTT-4.9.0]",
        "[MQTT-4.9-1]",
        "[MQTT-9.9.0-1]",
        "[MQTT311-4.12.0-1]",
        "queue claim 31",
        "broker case 0",
        "broker case x",
    ] {
        assert_eq!(judge(wrong).0.len(), 1, "{wrong}");
    }
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    for page in files(".", "md") {
        let (inside, _) = page.path.rsplit_once('/').expect("a directory");
        for part in page.text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let there = root().join(inside).join(target).exists();
            assert!(there, "{} leads to {target}", page.path);
        }
    }
}
