//! What a client may send a server: the first byte picks a version, or the start of a connection.
#![no_main]

use forebay_proto::Role;
use libfuzzer_sys::fuzz_target;

mod decode;

fuzz_target!(|data: &[u8]| decode::run(Role::Server, data));
