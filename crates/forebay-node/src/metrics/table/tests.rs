use std::time::Duration;

use super::{Numbers, document, text};

#[test]
fn the_page_in_the_documentation_is_the_table_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written == page,
        "docs/metrics.md is stale: run the test with UPDATE_DOCS=1"
    );
}

#[test]
fn a_scrape_shows_every_documented_metric_with_its_value() {
    let mut numbers = Numbers {
        connections: 7,
        received: [1, 2, 3],
        ..Numbers::default()
    };
    numbers.store.bytes = 4096;
    numbers.store.sync.observe(Duration::from_micros(50));
    let text = text(numbers);
    for line in [
        "forebay_broker_connections 7",
        "forebay_broker_messages_received_total{qos=\"2\"} 3",
        "forebay_store_written_bytes_total 4096",
        "forebay_store_sync_seconds_bucket{le=\"+Inf\"} 1",
        "# EOF",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }
    for row in document().lines().filter(|row| row.starts_with("| `")) {
        let name = row.split('`').nth(1).unwrap();
        assert!(
            text.contains(&format!("\n{name}")) || text.starts_with(name),
            "{name}"
        );
    }
}
