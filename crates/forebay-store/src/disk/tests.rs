use super::FileName;

#[test]
fn a_file_name_reads_back_as_it_is_written() {
    for name in [
        FileName::Root,
        FileName::Segment(1),
        FileName::Segment(u32::MAX),
    ] {
        assert_eq!(FileName::parse(&name.to_string()), Some(name));
    }
}

#[test]
fn a_foreign_file_name_is_not_taken() {
    for name in [
        "",
        "LOCK",
        "root",
        "seg-1.log",
        "seg-0000000000.log",
        "seg-0000000001.log.bak",
        "seg-99999999999.log",
    ] {
        assert_eq!(FileName::parse(name), None, "{name}");
    }
}
