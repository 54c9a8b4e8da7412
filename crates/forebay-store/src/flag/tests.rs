use super::*;

#[test]
fn setting_one_field_never_touches_another() {
    // Every 16-bit value, every field, every value of the field.
    for bits in 0..=u16::MAX {
        let flag = UserFlag::from_bits(bits);
        for on in [false, true] {
            assert_eq!(flag.with_pending(on).bits() & !PENDING, bits & !PENDING);
            assert_eq!(flag.with_retain(on).bits() & !RETAIN, bits & !RETAIN);
            assert_eq!(flag.with_dup(on).bits() & !DUP, bits & !DUP);
            assert_eq!(flag.with_pending(on).pending(), on);
            assert_eq!(flag.with_retain(on).retain(), on);
            assert_eq!(flag.with_dup(on).dup(), on);
        }
        for qos in 0..4 {
            assert_eq!(flag.with_qos(qos).qos(), qos);
            assert_eq!(flag.with_qos(qos).bits() & !QOS, bits & !QOS);
        }
        for direction in [Direction::None, Direction::In, Direction::Out] {
            assert_eq!(flag.with_direction(direction).direction(), direction);
            assert_eq!(
                flag.with_direction(direction).bits() & !DIRECTION,
                bits & !DIRECTION
            );
        }
        for origin in [Origin::None, Origin::Client, Origin::Broker] {
            assert_eq!(flag.with_origin(origin).origin(), origin);
            assert_eq!(flag.with_origin(origin).bits() & !ORIGIN, bits & !ORIGIN);
        }
        for number in 0..16 {
            let state = State::from_number(number);
            assert_eq!(flag.with_state(state).state(), state);
            assert_eq!(flag.with_state(state).bits() & !STATE, bits & !STATE);
        }
    }
}

#[test]
fn the_example_of_the_specification_reads_as_it_should() {
    let flag = UserFlag::from_bits(0x3611);
    assert!(flag.pending() && !flag.retain() && !flag.dup());
    assert_eq!(flag.qos(), 1);
    assert_eq!(
        flag.to_string(),
        "0x3611 pending qos1 OUT Client wait_for_puback"
    );
}

#[test]
fn names_are_printed_for_every_number() {
    let names: Vec<String> = (0..16).map(|n| State::from_number(n).to_string()).collect();
    assert_eq!(names[0], "invalid");
    assert_eq!(names[9], "wait_for_pubcomp");
    assert_eq!(names[11], "queued");
    assert!(names[12..].iter().all(|n| n == "unknown"));
    assert_eq!(Direction::None.to_string(), "");
    assert_eq!(Origin::None.to_string(), "None");
    for (number, (state, _)) in STATES.iter().enumerate() {
        assert_eq!(usize::from(state.number()), number);
    }
}
