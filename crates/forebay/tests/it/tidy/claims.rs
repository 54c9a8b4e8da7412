//! `docs/edge-claims.md`: what the edge promises, and the tests that hold it to it.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use super::source::{File, read, root, sources};

const PAGE: &str = "docs/edge-claims.md";

/// The claims, from 1, in short.
const CLAIMS: [&str; 38] = [
    "a publish has one of three results, typed: delivered, refused, not sent or lost",
    "an acknowledgement from 0x80 on refuses one message and never ends the connection",
    "what a reason code means is one table, which an operator can change",
    "QoS 2: a PUBREC from 0x80 on ends the exchange, PUBCOMP 0x92 is a delivery",
    "what ends connections is isolated, proven by three strikes and only then given up",
    "a message that the server's limits forbid has its verdict without being sent",
    "below MQTT 5 a delivery can't be verified, and audit does not run unless told to",
    "a record is durable before its producer is acknowledged; what waits is on disk",
    "the queue is taken up at every reconnect and on a timer; no stall lasts",
    "one refused message costs one message",
    "a permanent refusal is a dead letter; dead letters are bounded and survive a restart",
    "a live message refused for good is a dead letter where it happens, and not queued",
    "not authorized is a bounded second chance, ended by a refusal after its window alone",
    "deferred messages come before the queue, and a topic waits behind its deferred ones",
    "an access list widened on a running server lets the deferred messages through",
    "an older retained message does not overwrite a newer one",
    "a refused topic is announced once a code, and again when it works",
    "a move between states is one atomic step on disk",
    "caps by bytes, records and age; what is dropped is counted and leaves a gap record",
    "a held queue does not look like an idle one",
    "replay is paced, shares the link with live traffic and needs flat memory",
    "order in a topic; what is sent again has DUP, its identifier and its place",
    "a record carries source, epoch, sequence, time and hashes",
    "every sequence number ends in one state, and keeps its number",
    "signed checkpoints show a tail that was cut off",
    "a receiver can tell gaps, duplicates, inversions and breaks, and which are explained",
    "clock steps are recorded, and decide nothing",
    "intake by MQTT, acknowledged after the sync",
    "intake by HTTP",
    "intake by JSON Lines",
    "intake from files that grow",
    "a broken configuration touches nothing",
    "the queue, the deferred and the dead can be looked at and handled",
    "metrics",
    "a page shows what is blocked and why",
    "TLS, users, WebSocket; a client identifier used twice is told",
    "a full disk refuses intake and goes on draining",
    "one process a directory, and its files are for its owner alone",
];

/// The numbers behind `edge claim` in a line, ranges included.
fn cited(line: &str) -> Vec<usize> {
    let Some((_, list)) = line.split_once("// edge claim") else {
        return Vec::new();
    };
    let list = list.trim_start_matches('s').replace(" to ", "..");
    let mut found = Vec::new();
    for part in list.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once("..").unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().expect("a claim's number");
        found.extend(number(from)..=number(to));
    }
    found
}

fn page() -> String {
    let mut tests: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    // This file holds the mark itself.
    let own = |file: &File| file.path.ends_with("tidy/claims.rs");
    for file in sources()
        .into_iter()
        .filter(|file| file.is_test() && !own(file))
    {
        let mut name = "";
        for line in file.text.lines() {
            if let Some((_, rest)) = line.split_once("fn ") {
                name = rest.split(['(', '<']).next().unwrap_or_default();
            }
            for claim in cited(line) {
                let path = file.path.trim_start_matches("./");
                let test = format!("`{}` ([{path}](../{path}))", name.replace('_', " "));
                tests.entry(claim).or_default().push(test);
            }
        }
    }
    let mut page = String::from(
        "# What the edge promises\n\nEach claim with the tests that hold the code to it. Generated \
         from the comments `// edge claim` in the tests.\n",
    );
    for (at, claim) in CLAIMS.iter().enumerate() {
        let _ = write!(page, "\n{}. {claim}\n", at + 1);
        for test in tests.get(&(at + 1)).into_iter().flatten() {
            let _ = writeln!(page, "   - {test}");
        }
        if !tests.contains_key(&(at + 1)) {
            page.push_str("   - no test yet\n");
        }
    }
    page
}

#[test]
fn the_page_of_claims_names_every_test_of_each() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), &page).expect("written");
    }
    assert!(
        read(PAGE) == page,
        "{PAGE} is stale: run the test with UPDATE_DOCS=1"
    );
    assert_eq!(cited("// edge claims 1, 4 to 6"), [1, 4, 5, 6]);
}
