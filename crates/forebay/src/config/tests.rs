#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks for"
)]

use super::*;
use crate::{cli, config::raw::TABLES};

fn read_with(text: &str, flags: &Flags) -> Loaded {
    read(Path::new("forebay.toml"), text, flags)
}

fn problems(text: &str) -> Vec<String> {
    let loaded = read_with(text, &Flags::default());
    loaded.problems.iter().map(Problem::to_string).collect()
}

fn value(config: &Config, key: &str) -> (serde_json::Value, String) {
    let lines = config.lines();
    let line = lines.iter().find(|line| line.key == key).expect(key);
    (line.value.clone(), line.origin.to_string())
}

/// Every key of the reference and its table.
fn keys() -> impl Iterator<Item = (&'static raw::Table, &'static raw::Key)> {
    let keys = |table: &'static raw::Table| table.keys.iter().map(move |key| (table, key));
    TABLES.iter().flat_map(keys)
}

/// Those of the tables that there are without being written.
fn keys_always_there() -> impl Iterator<Item = (&'static raw::Table, &'static raw::Key)> {
    keys().filter(|(table, _)| table.name != raw::Listener::TABLE.name)
}

#[test]
fn a_misspelt_key_is_told_with_line_table_and_the_right_spelling() {
    assert_eq!(
        problems("# a broker\n[broker]\nlisten = \"127.0.0.1:1\"\ndata-dri = \"x\"\n"),
        ["forebay.toml:4: broker.data-dri: there is no key data-dri here; did you mean data_dir?"]
    );
}

#[test]
fn an_unknown_key_is_told_with_those_that_there_are() {
    let told = problems("[broker.limits]\nqueue_everything = true\n");
    let start = "forebay.toml:2: broker.limits.queue_everything: there is no key \
                 queue_everything here; remove it, or use one of max_connections";
    assert!(told[0].starts_with(start), "{told:?}");
}

#[test]
fn an_unknown_table_is_told() {
    let told = problems("[broker]\n\n[brokers.limits]\n");
    let text = "forebay.toml:3: brokers: there is no key brokers here; did you mean broker?";
    assert_eq!(told, [text]);
}

#[test]
fn a_value_of_the_wrong_type_is_told_with_its_line_and_key() {
    assert_eq!(
        problems("[broker]\n\nallow_anonymous = \"yes\"\n"),
        [
            "forebay.toml:3: broker.allow_anonymous: invalid type: string \"yes\", expected a boolean"
        ]
    );
}

#[test]
fn broken_toml_is_told_with_its_line() {
    for (text, line) in [
        ("[broker\n", 1),
        ("[broker]\nlisten = \n", 2),
        ("[broker]\nlisten = \"a\"\nlisten = \"b\"\n", 3),
        ("\n\nnonsense\n", 3),
    ] {
        let told = problems(text);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with(&format!("forebay.toml:{line}: ")),
            "{text:?}: {told:?}"
        );
    }
}

#[test]
fn every_bad_value_is_told_at_once_each_with_a_cure() {
    let text = "[broker]\nlisten = \"localhost\"\nmetrics = \":9464\"\ndisk_driver = \"aio\"\n\
                data_dir = \"\"\n[broker.limits]\nmax_connections = 0\n[log]\nlevel = \"=\"\n\
                format = \"xml\"\n";
    let loaded = read_with(text, &Flags::default());
    let lines: Vec<_> = loaded
        .problems
        .iter()
        .filter_map(|problem| problem.line)
        .collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [2, 3, 4, 5, 7, 9, 10]);
    for problem in &loaded.problems {
        assert!(!problem.cure.is_empty(), "{problem}");
    }
    assert_eq!(loaded.good().unwrap_err().exit, Exit::Config);
}

#[test]
fn an_address_that_is_none_is_told_with_one_that_is() {
    assert_eq!(
        problems("[broker]\nlisten = \"localhost:1883\"\n"),
        [
            "forebay.toml:2: broker.listen: \"localhost:1883\" is no address; write an IP address \
          and a port, such as \"127.0.0.1:1883\""
        ]
    );
}

#[test]
fn other_machines_are_let_in_only_where_that_was_said() {
    let open = "[broker]\nlisten = \"0.0.0.0:1883\"\n";
    assert_eq!(
        problems(open),
        [
            "forebay.toml:2: broker.listen: 0.0.0.0:1883 lets other machines in, and nobody is asked \
          for a name; listen on 127.0.0.1:1883, give a password_file, or set allow_anonymous = true if that is meant"
        ]
    );
    assert!(problems(&format!("{open}allow_anonymous = true\n")).is_empty());
    for local in [
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "[::ffff:127.0.0.1]:1",
    ] {
        assert!(
            problems(&format!("[broker]\nlisten = \"{local}\"\n")).is_empty(),
            "{local}"
        );
    }
    for wide in ["10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"] {
        assert_eq!(
            problems(&format!("[broker]\nlisten = \"{wide}\"\n")).len(),
            1,
            "{wide}"
        );
    }
}

#[test]
fn a_flag_that_opens_the_listener_is_told_as_a_flag() {
    let listen = Some(std::net::SocketAddr::from(([0, 0, 0, 0], 7)));
    let broker = cli::Broker {
        listen,
        ..cli::Broker::default()
    };
    let loaded = read_with("[broker]\n", &Flags { broker, up: false });
    let told = loaded.problems[0].to_string();
    assert!(
        told.starts_with("--listen: 0.0.0.0:7 lets other machines in"),
        "{told}"
    );
    assert!(
        told.ends_with("or give --allow-anonymous if that is meant"),
        "{told}"
    );
}

#[test]
fn flags_override_the_file_and_the_file_the_defaults() {
    let text = "[broker]\ndata_dir = \"/file\"\nlisten = \"127.0.0.1:7\"\n";
    let broker = cli::Broker {
        data_dir: Some("/flag".into()),
        ..cli::Broker::default()
    };
    let config = read_with(text, &Flags { broker, up: true })
        .good()
        .expect("a good file");
    assert_eq!(
        value(&config, "broker.data_dir"),
        ("/flag".into(), "--data-dir".to_owned())
    );
    assert_eq!(
        value(&config, "broker.listen"),
        ("127.0.0.1:7".into(), "line 3".to_owned())
    );
    assert_eq!(
        value(&config, "broker.metrics"),
        ("127.0.0.1:9464".into(), "default".to_owned())
    );
    assert_eq!(
        value(&config, "broker.disk_driver"),
        ("auto".into(), "default".to_owned())
    );
}

#[test]
fn a_segment_that_does_not_take_the_largest_packet_is_told_with_both_cures() {
    let text = "[broker.store]\nsegment_size = 4194304\n";
    assert_eq!(
        problems(text),
        [
            "forebay.toml:2: broker.store.segment_size: 4194304 is less than twice \
             broker.limits.max_packet_size, which is 4194304 by default; use 8388608 or more, \
             or set max_packet_size to 2097152 or less"
        ]
    );
    let with = |packet: u32| format!("{text}[broker.limits]\nmax_packet_size = {packet}\n");
    assert!(problems(&with(2_097_152)).is_empty());
    assert_eq!(problems(&with(2_097_153)).len(), 1);
}

#[test]
fn a_segment_that_is_no_whole_number_of_mebibytes_is_told_with_one_that_is() {
    let told = problems("[broker.store]\nsegment_size = 16777217\n");
    let text = "forebay.toml:2: broker.store.segment_size: 16777217 is not a multiple of 1048576; \
                use 17825792";
    assert_eq!(told, [text]);
    let told = problems("[broker.store]\nsegment_size = 1073741825\n");
    assert!(
        told[0].ends_with("use a number from 4194304 to 1073741824"),
        "{told:?}"
    );
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let loaded = load(Some(Path::new("/nowhere/forebay.toml")), &Flags::default());
    let failure = loaded.good().unwrap_err();
    assert_eq!(failure.exit, Exit::Config);
    assert!(
        failure
            .message
            .starts_with("/nowhere/forebay.toml: can't be read"),
        "{failure:?}"
    );
}

#[test]
fn every_key_is_in_the_effective_configuration_with_its_documented_default() {
    let config = read_with("", &Flags::default())
        .good()
        .expect("the defaults");
    let shown: Vec<_> = config.lines().into_iter().map(|line| line.key).collect();
    let named: Vec<_> = keys_always_there()
        .map(|(table, key)| format!("{}.{}", table.name, key.name))
        .collect();
    assert_eq!(shown, named);
    for (table, key) in keys_always_there() {
        let (value, _) = value(&config, &format!("{}.{}", table.name, key.name));
        let value = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Null => continue,
            value => value.to_string(),
        };
        assert_eq!(key.default.trim_matches('`'), value, "{}", key.name);
    }
}

#[test]
fn every_key_of_every_listener_is_in_the_effective_configuration() {
    let example = |key: &raw::Key| format!("{} = {}\n", key.name, key.example);
    let keys = raw::Listener::TABLE.keys;
    let header = raw::Listener::TABLE.header();
    let at = |there: &'static str, other: &'static str| {
        let written = keys.iter().filter(move |key| key.name != other);
        let text: String = written.map(example).collect();
        (format!("{header}\n{text}"), there, other)
    };
    let (tcp, unix) = (at("address", "unix"), at("unix", "address"));
    let config = read_with(&format!("{}{}", tcp.0, unix.0), &Flags::default());
    let config = config.good().expect("two listeners");
    for (index, (_, there, other)) in [tcp, unix].into_iter().enumerate() {
        for key in keys {
            let (value, origin) = value(&config, &format!("broker.listener[{index}].{}", key.name));
            if key.name == other {
                assert!(value.is_null(), "{there}: {value}");
            } else {
                assert_eq!(value.to_string(), key.example, "{there}: {}", key.name);
                assert!(origin.starts_with("line "), "{origin}");
            }
        }
    }
}

#[test]
fn every_documented_example_is_taken() {
    for (table, key) in keys() {
        let mut written = vec![key];
        if table.name == raw::Listener::TABLE.name {
            // What a listener must have beside any of its keys.
            let others = ["address", "tls_certificate", "tls_key", "tls_client_ca"];
            written.extend(table.keys.iter().filter(|other| {
                let named = others.contains(&other.name) && other.name != key.name;
                named && (key.name, other.name) != ("unix", "address")
            }));
        }
        let lines = written
            .iter()
            .map(|key| format!("{} = {}\n", key.name, key.example));
        let lines: String = lines.collect();
        let mut text = format!("{}\n{lines}", table.header());
        if table.name == raw::Listener::TABLE.name {
            text += "[broker]\nallow_anonymous = true\n";
        }
        assert!(problems(&text).is_empty(), "{text}: {:?}", problems(&text));
    }
}

#[test]
fn the_reference_in_docs_is_what_the_tables_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
    let text = markdown();
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == text.trim_end().to_owned() + "\n",
        "docs/config.md is out of date: cargo run -- check --reference > docs/config.md"
    );
}
