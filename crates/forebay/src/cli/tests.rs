use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.command)
}

#[test]
fn the_command_line_holds_together() {
    Cli::command().debug_assert();
}

/// Every command with the words that it is called by, those of `queue` too.
fn commands() -> Vec<(String, clap::Command)> {
    let mut commands = Vec::new();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        commands.push((name.to_owned(), command.clone()));
        let below = command.get_subcommands();
        commands.extend(below.map(|it| (format!("{name} {}", it.get_name()), it.clone())));
    }
    commands
}

#[test]
fn every_command_shows_an_example_in_its_help() {
    for (name, command) in commands() {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(help.contains("Example"), "{name} has no example");
        assert!(
            help.contains(&format!("forebay {name}")),
            "the example of {name} is of another"
        );
    }
}

#[test]
fn every_example_in_the_help_parses() {
    for (_, command) in commands() {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.split_once("forebay "));
        for (before, line) in lines.filter(|(_, line)| !line.starts_with("--help")) {
            assert!(before.trim().is_empty() || before.contains('|'), "{before}");
            let line = line
                .split("   ")
                .next()
                .and_then(|line| line.split(" > ").next())
                .and_then(|line| line.split(" < ").next())
                .unwrap_or_default()
                .replace('\'', "");
            let parsed = parse(&format!("forebay {line}"));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_help_lists_every_exit_code() {
    let help = Cli::command()
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    for code in ["0", "1", "2", "3", "65", "69", "70", "74", "75", "78"] {
        assert!(
            help.lines()
                .any(|line| line.trim_start().starts_with(&format!("{code}  ")))
        );
    }
}

#[test]
fn a_broker_runs_with_flags_alone() {
    let line = "forebay broker --data-dir d --listen 127.0.0.1:0 --metrics [::1]:0 \
                --allow-anonymous --disk-driver io_uring --log-format json --log debug";
    let Ok(Command::Broker(broker)) = parse(line) else {
        panic!("not a broker")
    };
    assert_eq!(broker.data_dir, Some(PathBuf::from("d")));
    assert_eq!(broker.listen, Some(SocketAddr::from(([127, 0, 0, 1], 0))));
    assert!(broker.allow_anonymous);
    assert_eq!(broker.disk_driver, Some(DiskDriver::IoUring));
    assert_eq!(broker.source.log_format, Some(logging::Format::Json));
}

#[test]
fn a_message_has_exactly_one_source_of_its_payload() {
    for bad in ["", "-m a -n", "-l -f x", "-m a -m b"] {
        let parsed = parse(&format!("forebay pub -t a {bad}"));
        assert_eq!(parsed.unwrap_err().exit_code(), 2, "{bad}");
    }
    for good in ["-m a", "-n", "-l", "-f x"] {
        assert!(parse(&format!("forebay pub -t a {good}")).is_ok(), "{good}");
    }
}

#[test]
fn a_host_is_given_as_mosquitto_pub_takes_it() {
    let Ok(Command::Pub(flags)) = parse("forebay pub -h there -p 1 -t a -m b -D k=v=w -V 4") else {
        panic!("not a pub")
    };
    assert_eq!((flags.peer.host.as_str(), flags.peer.port), ("there", 1));
    assert_eq!(flags.user_property, [("k".to_owned(), "v=w".to_owned())]);
    assert_eq!(flags.peer.version, Version::V4);
}

#[test]
fn what_makes_no_sense_is_wrong_usage() {
    for bad in [
        "forebay pub -t a -m b -q 3",
        "forebay pub -t a -m b -D novalue",
        "forebay sub -q 1",
        "forebay sub -t a -c",
        "forebay sub -t a --json -v",
        "forebay broker --listen localhost",
        "forebay bench --window 0",
        "forebay bench --publishers 0",
    ] {
        assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad}");
    }
}
