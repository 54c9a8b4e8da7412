//! The judge condemns what it must, on traces made up for it.

use super::{Judge, Trace};

const DATA: &str = "\\x2f\\x64";
const PEER: &str = "7<TCP:[127.0.0.1:1883->127.0.0.1:4000]>";

fn bytes(data: &[u8]) -> String {
    let digits: Vec<String> = data.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    digits.concat()
}

fn write_record(number: u8) -> String {
    format!(
        "pwrite64(5<{DATA}>, \"{}\", 4, 0) = 4",
        bytes(&[b'<', b'm', number, b'>'])
    )
}

fn send(first: u8, id: u8) -> String {
    format!(
        "sendto({PEER}, \"{}\", 4, 0, NULL, 0) = 4",
        bytes(&[first, 2, 0, id])
    )
}

fn receive(first: u8, id: u8) -> String {
    format!(
        "recvfrom({PEER}, \"{}\", 512, 0, NULL, NULL) = 4",
        bytes(&[first, 2, 0, id])
    )
}

fn sync() -> String {
    format!("fdatasync(5<{DATA}>) = 0")
}

fn judge(lines: &[String], check: impl Fn(&Judge)) {
    let trace = Trace::parse(lines.join("\n").as_bytes());
    check(&Judge::new(&trace));
}

fn puback_of_1(judge: &Judge) {
    judge.require_written_after(4000, 0x40, 1, b"<m1>");
}

fn thread(id: u32, call: &str) -> String {
    format!("{id} {call}")
}

#[test]
fn an_acknowledgement_after_the_sync_is_in_order() {
    let lines = [write_record(b'1'), sync(), send(0x40, 1)].map(|call| thread(1, &call));
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "was written at line 1")]
fn an_acknowledgement_before_the_sync_is_found() {
    let lines = [write_record(b'1'), send(0x40, 1), sync()].map(|call| thread(1, &call));
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "never durable")]
fn a_sync_that_began_before_the_write_had_ended_does_not_count() {
    let write = write_record(b'1');
    let (first, last) = write.split_once(", 4,").expect("two halves");
    let lines = [
        format!("1 {first} <unfinished ...>"),
        thread(2, &sync()),
        format!("1 <... pwrite64 resumed>, 4,{last}"),
        thread(2, &send(0x40, 1)),
    ];
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "was written at line 2")]
fn an_acknowledgement_during_the_sync_is_found() {
    let lines = [
        thread(1, &write_record(b'1')),
        format!("1 fdatasync(5<{DATA}> <unfinished ...>"),
        thread(2, &send(0x40, 1)),
        "1 <... fdatasync resumed>) = 0".to_owned(),
    ];
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "never durable")]
fn a_sync_that_failed_does_not_count() {
    let failed = format!("fdatasync(5<{DATA}>) = -1 EIO (Input/output error)");
    let lines = [write_record(b'1'), failed, send(0x40, 1)].map(|call| thread(1, &call));
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "never durable")]
fn a_sync_of_another_file_does_not_count() {
    let other = "fdatasync(6<\\x2f\\x65>) = 0".to_owned();
    let lines = [write_record(b'1'), other, send(0x40, 1)].map(|call| thread(1, &call));
    judge(&lines, puback_of_1);
}

#[test]
fn a_synchronous_write_counts_from_its_return() {
    let data = bytes(b"x<m1>y");
    let write =
        format!("pwritev2(5<{DATA}>, [{{iov_base=\"{data}\", iov_len=6}}], 1, 0, RWF_DSYNC) = 6");
    let lines = [write, send(0x40, 1)].map(|call| thread(1, &call));
    judge(&lines, puback_of_1);
}

#[test]
#[should_panic(expected = "nothing was made durable")]
fn an_answer_without_a_record_of_its_own_is_found() {
    let calls = [write_record(b'1'), receive(0x62, 1), sync(), send(0x70, 1)];
    let lines = calls.map(|call| thread(1, &call));
    judge(&lines, |judge| {
        judge.require_record_between(4000, 0x62, 0x70, 1);
    });
}

#[test]
fn an_answer_after_its_record_is_in_order() {
    let calls = [receive(0x62, 1), write_record(b'1'), sync(), send(0x70, 1)];
    let lines = calls.map(|call| thread(1, &call));
    judge(&lines, |judge| {
        judge.require_record_between(4000, 0x62, 0x70, 1);
    });
}
