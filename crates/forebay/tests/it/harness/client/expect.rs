//! What a test requires of a connection, and whole exchanges.

use std::time::Instant;

use super::{Client, Delivery, show};
use crate::harness::{
    PATIENCE, Version,
    wire::{
        self, PINGREQ, PINGRESP, PUBACK, PUBCOMP, PUBREC, PUBREL, Publish, ack, properties,
        read_var,
    },
};

impl Client {
    /// Requires exactly these bytes next.
    #[track_caller]
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let deadline = Instant::now() + PATIENCE;
        let mut end = "";
        while self.unread.len() < bytes.len() && bytes.starts_with(&self.unread) {
            match self.fill(deadline) {
                Some(0) => end = ", then closed",
                None => end = ", then nothing",
                Some(_) => continue,
            }
            break;
        }
        if !self.unread.starts_with(bytes) {
            panic!(
                "expected {}\n     got {}{end}",
                show(bytes),
                show(&self.unread)
            );
        }
        self.unread.drain(..bytes.len());
    }

    /// Requires exactly this PUBLISH next, whatever its packet identifier, which is returned.
    #[track_caller]
    pub(crate) fn expect_publish(&mut self, publish: &Publish) -> u16 {
        let frame = self.frame();
        let id = Delivery::read(&frame, self.version).map_or(0, |delivery| delivery.id);
        let wanted = publish.clone().qos(publish.qos, id).bytes(self.version);
        assert!(
            frame == wanted,
            "expected {}\n     got {}",
            show(&wanted),
            show(&frame)
        );
        id
    }

    /// Requires that the connection ends and nothing comes before.
    #[track_caller]
    pub(crate) fn expect_closed(&mut self) {
        if let Some(frame) = self.frame_or_end() {
            panic!("expected the end, got {}", show(&frame));
        }
    }

    /// Requires the end that the version has for `reason`: DISCONNECT with one of these codes and
    /// the end in MQTT 5, the bare end in 3.1.1.
    #[track_caller]
    pub(crate) fn expect_disconnect(&mut self, reasons: &[u8]) {
        if self.version == Version::V5 {
            let frame = self.frame();
            assert_eq!(frame[0], 0xE0, "expected DISCONNECT, got {}", show(&frame));
            let reason = frame.get(2).copied().unwrap_or(0);
            assert!(
                reasons.contains(&reason),
                "expected {reasons:02x?}, got {}",
                show(&frame)
            );
            if frame.len() > 3 {
                let (length, size) = read_var(&frame[3..]);
                assert_eq!(
                    frame.len(),
                    3 + size + length,
                    "property length: {}",
                    show(&frame)
                );
                for (id, _) in properties(&frame[3 + size..]) {
                    assert!(
                        matches!(id, 0x1F | 0x26 | 0x1C),
                        "property {id:#04x} in DISCONNECT"
                    );
                }
            }
        }
        self.expect_closed();
    }

    /// Requires that nothing was sent: the next bytes answer a PINGREQ.
    #[track_caller]
    pub(crate) fn expect_nothing(&mut self) {
        self.send(PINGREQ);
        self.expect(PINGRESP);
    }

    /// Everything up to the answer to a PINGREQ.
    #[track_caller]
    pub(crate) fn drain(&mut self) -> Vec<Vec<u8>> {
        self.send(PINGREQ);
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            if frame == PINGRESP {
                return frames;
            }
            frames.push(frame);
        }
    }

    /// Subscribes to one filter and requires the QoS asked for.
    #[track_caller]
    pub(crate) fn subscribe(&mut self, filter: &str, options: u8) {
        self.send(wire::subscribe(self.version, 0x7001, &[(filter, options)]));
        self.expect(wire::suback(self.version, 0x7001, &[options & 3]));
    }

    /// Publishes QoS 0 and requires that the broker has handled it.
    #[track_caller]
    pub(crate) fn publish0(&mut self, topic: &str, payload: &str) {
        self.send(wire::publish(topic, payload).bytes(self.version));
        self.expect_nothing();
    }

    /// Publishes QoS 1 and requires an acknowledgement of success, whoever matched.
    #[track_caller]
    pub(crate) fn publish1(&mut self, id: u16, topic: &str, payload: &str) {
        self.send(wire::publish(topic, payload).qos(1, id).bytes(self.version));
        self.expect_ack(PUBACK, id);
    }

    /// Publishes QoS 2 and requires the whole exchange.
    #[track_caller]
    pub(crate) fn publish2(&mut self, id: u16, topic: &str, payload: &str) {
        self.send(wire::publish(topic, payload).qos(2, id).bytes(self.version));
        self.expect_ack(PUBREC, id);
        self.send(ack(PUBREL, id));
        self.expect(ack(PUBCOMP, id));
    }

    /// Requires a PUBACK or PUBREC of success or, in MQTT 5, of no matching subscribers.
    #[track_caller]
    pub(crate) fn expect_ack(&mut self, first: u8, id: u16) {
        let frame = self.frame();
        let nobody = wire::ack_with(self.version, first, id, 0x10);
        assert!(
            frame == ack(first, id) || frame == nobody,
            "ack of {id:#06x}: {}",
            show(&frame)
        );
    }

    /// Requires a QoS 2 PUBLISH and completes its exchange.
    #[track_caller]
    pub(crate) fn receive2(&mut self, publish: &Publish) -> u16 {
        let id = self.expect_publish(publish);
        self.send(ack(PUBREC, id));
        self.expect(ack(PUBREL, id));
        self.send(ack(PUBCOMP, id));
        id
    }
}
