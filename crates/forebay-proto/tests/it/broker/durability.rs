//! An acknowledgement means it is on disk.

use forebay_proto::{Disconnect, Packet, ReasonCode};

use crate::bed::{Bed, ack, durable, publish, shown};

#[test]
fn no_acknowledgement_leaves_before_its_commit_is_durable() {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 2);
    bed.take(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    bed.auto_sync = false;

    bed.send(publisher, publish("a", "1", 1, 1));
    bed.send(publisher, publish("a", "2", 2, 2));
    assert_eq!(shown(&bed.take(publisher)), Vec::<String>::new());
    assert_eq!(shown(&bed.take(subscriber)), Vec::<String>::new());
    bed.sync();
    assert_eq!(
        shown(&bed.take(publisher)),
        ["PUBACK #1 0x00", "PUBREC #2 0x00"]
    );
    assert_eq!(shown(&bed.take(subscriber)), ["PUBLISH a 1 q1 #1"]);

    bed.send(publisher, Packet::PubRel(ack(2)));
    assert_eq!(shown(&bed.take(publisher)), Vec::<String>::new());
    bed.sync();
    assert_eq!(shown(&bed.take(publisher)), ["PUBCOMP #2 0x00"]);
    assert_eq!(shown(&bed.take(subscriber)), ["PUBLISH a 2 q2 #2"]);

    bed.send(subscriber, Packet::PubRec(ack(2)));
    assert_eq!(shown(&bed.take(subscriber)), Vec::<String>::new());
    bed.sync();
    assert_eq!(shown(&bed.take(subscriber)), ["PUBREL #2 0x00"]);
}

#[test]
fn a_crash_before_the_sync_leaves_nothing_acknowledged_and_nothing_stored() {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 1);
    bed.cut(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    bed.auto_sync = false;
    bed.send(publisher, publish("a", "1", 1, 1));
    assert_eq!(bed.take(publisher), []);
    bed.crash();
    bed.auto_sync = true;
    let (subscriber, present) = bed.connect(durable("s"));
    assert!(present);
    assert_eq!(shown(&bed.take(subscriber)), Vec::<String>::new());
}

#[test]
fn acknowledgements_leave_in_the_order_of_their_publishes_even_when_one_needs_no_disk() {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 1);
    let (publisher, _) = bed.connect(durable("p"));
    bed.auto_sync = false;
    bed.send(publisher, publish("a", "1", 1, 1));
    bed.send(publisher, publish("nobody", "2", 1, 2));
    assert_eq!(bed.take(publisher), []);
    bed.sync();
    assert_eq!(
        shown(&bed.take(publisher)),
        ["PUBACK #1 0x00", "PUBACK #2 0x10"]
    );
}

#[test]
fn a_ping_waits_for_the_disk_only_where_its_client_has_something_on_the_way_to_it() {
    let mut bed = Bed::new();
    let (idle, _) = bed.connect(durable("idle"));
    let (talker, _) = bed.connect(durable("talker"));
    let (publisher, _) = bed.connect(durable("p"));
    bed.subscribe(idle, "a", 1);
    bed.take(idle);
    bed.auto_sync = false;
    bed.send(publisher, publish("a", "1", 1, 1));
    assert!(bed.disk_is_busy());

    // The disk is behind, and these two have nothing there: QoS 0 never goes to it.
    bed.send(idle, Packet::PingReq);
    assert_eq!(bed.take(idle), [Packet::PingResp]);
    bed.send(talker, publish("nobody", "x", 0, 0));
    bed.send(talker, Packet::PingReq);
    assert_eq!(bed.take(talker), [Packet::PingResp]);

    bed.send(publisher, Packet::PingReq);
    assert_eq!(bed.take(publisher), []);
    bed.sync();
    assert_eq!(
        bed.take(publisher),
        [Packet::PubAck(ack(1)), Packet::PingResp]
    );
    bed.send(publisher, Packet::PingReq);
    assert_eq!(bed.take(publisher), [Packet::PingResp]);

    // An acknowledgement ends a message on disk.
    bed.take(idle);
    bed.send(idle, Packet::PubAck(ack(1)));
    bed.send(idle, Packet::PingReq);
    assert_eq!(bed.take(idle), []);
    bed.sync();
    assert_eq!(bed.take(idle), [Packet::PingResp]);
}

#[test]
fn a_disconnect_closes_once_what_was_said_before_it_is_on_disk() {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 1);
    bed.cut(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    bed.auto_sync = false;
    bed.send(publisher, publish("a", "1", 1, 1));
    bed.send(publisher, Packet::Disconnect(Disconnect::default()));
    assert_eq!(bed.closed(publisher), None);
    // Nothing it says now counts.
    bed.send(publisher, publish("a", "2", 1, 2));
    while bed.disk_is_busy() {
        assert_eq!(bed.closed(publisher), None);
        bed.disk_step();
    }
    assert_eq!(bed.closed(publisher), Some(ReasonCode::SUCCESS));
    bed.crash();
    bed.auto_sync = true;
    let (subscriber, _) = bed.connect(durable("s"));
    assert_eq!(shown(&bed.take(subscriber)), ["PUBLISH a 1 q1 #1"]);
}
