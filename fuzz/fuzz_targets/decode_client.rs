//! What a server may send a client: the first byte picks a version.
#![no_main]

use forebay_proto::Role;
use libfuzzer_sys::fuzz_target;

mod decode;

fuzz_target!(|data: &[u8]| decode::run(Role::Client, data));
