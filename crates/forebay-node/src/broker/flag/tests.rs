use forebay_proto::{Direction, Handshake, Mark, Origin, QoS};
use forebay_store::{self as store, State, UserFlag};

use super::{flag, mark};

const STATES: [(Handshake, u8); 5] = [
    (Handshake::WaitForPubAck, 3),
    (Handshake::WaitForPubRec, 5),
    (Handshake::WaitForPubRel, 7),
    (Handshake::WaitForPubComp, 9),
    (Handshake::Queued, 11),
];

#[test]
fn every_mark_comes_back_from_its_flag() {
    let mut seen = std::collections::HashSet::new();
    for direction in [Direction::In, Direction::Out] {
        for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
            for origin in [Origin::Client, Origin::Broker] {
                for (retain, dup) in [(false, false), (false, true), (true, false), (true, true)] {
                    for (state, number) in STATES {
                        let wanted = Mark {
                            qos,
                            retain,
                            dup,
                            origin,
                            state,
                        };
                        let flag = flag(direction, wanted);
                        assert_eq!(mark(flag), Some(wanted));
                        assert!(flag.pending());
                        assert_eq!(flag.bits() >> 12, u16::from(number));
                        assert!(seen.insert(flag.bits()), "{flag}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_format_has_its_bits() {
    let mark = Mark {
        qos: QoS::AtLeastOnce,
        retain: false,
        dup: false,
        origin: Origin::Client,
        state: Handshake::WaitForPubAck,
    };
    assert_eq!(flag(Direction::Out, mark).bits(), 0x3611);
}

#[test]
fn a_flag_that_the_broker_does_not_write_has_no_mark() {
    let good = UserFlag::from_bits(0x3611);
    assert!(mark(good).is_some());
    assert_eq!(mark(good.with_qos(3)), None);
    assert_eq!(mark(good.with_origin(store::Origin::None)), None);
    for number in [0, 1, 2, 4, 6, 8, 10, 12, 13, 14, 15] {
        assert_eq!(
            mark(good.with_state(State::Unknown(number))),
            None,
            "{number}"
        );
    }
}
