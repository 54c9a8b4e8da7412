//! paho-python as the publishers, MQTT 5.

use std::{io::Write, process::Stdio};

use super::{Moment, Published, await_moment};
use crate::harness::{Broker, Lines, venv_python};

struct Publisher {
    process: Lines,
    /// Whether the broker has told it that it has a session.
    known: bool,
    published: Published,
}

/// Publishes `count` messages of each QoS, kills the broker after `moment` acknowledgements and
/// starts it again; goes on to the end if `again`.
pub(super) fn publish(broker: &mut Broker, count: u64, moment: u64, again: bool) -> Vec<Published> {
    let (ticker, ticked) = Moment::new();
    let port = broker.port();
    let mut publishers = [1_u8, 2].map(|qos| {
        let topic = format!("load/{qos}");
        let mut command = venv_python("publisher.py");
        command.args([&port, &format!("p{qos}"), &topic, &qos.to_string()]);
        command
            .args([&count.to_string(), "100"])
            .stdin(Stdio::piped());
        let acked = vec![false; count as usize];
        let published = Published {
            topic,
            qos,
            sent: count as usize,
            acked,
        };
        Publisher {
            process: Lines::start(&mut command),
            known: false,
            published,
        }
    });
    std::thread::scope(|scope| {
        for publisher in &mut publishers {
            let ticker = ticker.clone();
            scope.spawn(move || publisher.read(&ticker));
        }
        await_moment(&ticked, moment);
        broker.kill();
    });
    broker.run();
    if again {
        let port = broker.port();
        std::thread::scope(|scope| {
            for publisher in &mut publishers {
                if publisher.open() == 0 {
                    continue;
                }
                writeln!(publisher.process.stdin(), "{port}").expect("the publisher waits");
                let ticker = ticker.clone();
                scope.spawn(move || publisher.read(&ticker));
            }
        });
        for publisher in &publishers {
            let open = publisher.open();
            assert_eq!(open, 0, "not acknowledged: {}", publisher.process.stderr());
        }
    }
    publishers.map(|publisher| publisher.published).into()
}

impl Publisher {
    /// Messages without an acknowledgement.
    fn open(&self) -> usize {
        self.published.acked.iter().filter(|acked| !**acked).count()
    }

    /// Reads until the publisher is done or has lost its connection.
    fn read(&mut self, ticker: &Moment) {
        loop {
            let Some(line) = self.process.line() else {
                let (status, stderr) = self.process.outcome();
                panic!("the publisher ended, {status}: {stderr}");
            };
            match line.split_once(' ') {
                Some(("acked", number)) => {
                    self.published.acked[number.parse::<usize>().expect("a number")] = true;
                    ticker.tick();
                }
                Some(("connected", found)) => {
                    assert!(
                        found == "1" || !self.known,
                        "the session of a publisher is gone"
                    );
                    self.known = true;
                }
                _ if line == "lost" || line == "done" => return,
                _ => panic!("{line:?} from the publisher"),
            }
        }
    }
}
