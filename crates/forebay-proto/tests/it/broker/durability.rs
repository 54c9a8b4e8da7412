//! An acknowledgement means it is on disk.

use forebay_proto::Packet;

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
