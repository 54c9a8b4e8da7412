use clap::Parser;
use forebay_node::client::{ReasonCode, Text, Unsendable};

use super::*;
use crate::cli::{Cli, Command};

fn template_of(line: &str) -> Result<Publish, Failure> {
    let cli = Cli::try_parse_from(line.split_whitespace()).expect("flags");
    let Command::Pub(flags) = cli.command else {
        panic!("not a pub")
    };
    template(&flags)
}

#[test]
fn properties_travel_in_the_order_of_the_flags() {
    let line = "forebay pub -t a -n -D b=1 -D a=2 -D b=3 --expiry 60";
    let properties = template_of(line).expect("a message").properties;
    let user: Vec<_> = properties.user_properties().collect();
    assert_eq!(user, [("b", "1"), ("a", "2"), ("b", "3")]);
    assert_eq!(properties.message_expiry_interval(), Some(60));
}

#[test]
fn what_mqtt_does_not_allow_is_wrong_usage() {
    for line in [
        "forebay pub -t a/+ -n",
        "forebay pub -t # -n",
        "forebay pub -t a -n -V 4 -D a=b",
        "forebay pub -t a -n -V 4 --expiry 1",
    ] {
        assert_eq!(
            template_of(line).expect_err(line).exit,
            Exit::Usage,
            "{line}"
        );
    }
}

fn end(verdicts: &[Verdict], ended: Result<(), Failure>) -> Result<(), Failure> {
    let mut tally = Tally {
        published: verdicts.len() as u64,
        ..Tally::default()
    };
    for verdict in verdicts {
        tally.count(verdict);
    }
    tally.finish(ended)
}

#[test]
fn only_success_for_every_message_is_success() {
    let delivered = Verdict::Delivered(ReasonCode::NO_MATCHING_SUBSCRIBERS);
    let reason = ReasonCode::NOT_AUTHORIZED;
    let refused = Verdict::Refused {
        reason,
        text: Text::from_static("no"),
    };
    assert!(end(&[delivered.clone(), Verdict::Sent], Ok(())).is_ok());
    let failure = end(&[delivered.clone(), refused], Ok(())).expect_err("refused");
    assert_eq!(
        (failure.exit, failure.message.as_str()),
        (Exit::Refused, "1 of 2 refused")
    );
    let failure = end(&[Verdict::NotSent(Unsendable::Retain)], Ok(())).expect_err("not sent");
    assert_eq!(failure.exit, Exit::Refused);
    let lost = Err(Failure::new(Exit::Unavailable, "connection lost"));
    let failure = end(&[delivered, Verdict::LinkLost], lost).expect_err("lost");
    assert_eq!(failure.exit, Exit::Unavailable);
    assert_eq!(
        failure.message,
        "connection lost; 1 of 2 answered, 1 unknown"
    );
}
