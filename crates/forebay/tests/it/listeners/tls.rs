//! TLS, and certificates as names.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    sync::Arc,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{broker, speaks_mqtt};
use crate::harness::{
    Broker, PATIENCE, Version, wait_until,
    wire::{PUBACK, ack_with, connect, publish},
};

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// An authority that signs in `dir`.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "tests");
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    /// Writes `name.pem` and `name.key`, for a host or a person.
    fn sign(&self, dir: &Path, name: &str, san: &str, serial: u64) {
        let mut params = CertificateParams::new(vec![san.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(serial.into());
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        fs::write(dir.join(format!("{name}.pem")), signed.pem()).expect("a file");
        fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).expect("a file");
    }

    fn client(&self, shows: Option<(&Path, &str)>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("PEM");
        roots.add(root).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        Arc::new(match shows {
            None => builder.with_no_client_auth(),
            Some((dir, name)) => {
                let pem = CertificateDer::from_pem_file(dir.join(format!("{name}.pem")));
                let key = PrivateKeyDer::from_pem_file(dir.join(format!("{name}.key")));
                builder
                    .with_client_auth_cert(vec![pem.expect("PEM")], key.expect("a key"))
                    .expect("a client")
            }
        })
    }
}

fn open(at: &str, config: &Arc<ClientConfig>) -> Tls {
    let socket = TcpStream::connect(at).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("an option");
    let name = "localhost".try_into().expect("a name");
    let client = ClientConnection::new(Arc::clone(config), name).expect("a client");
    StreamOwned::new(client, socket)
}

const PLAIN: &str = "[[broker.listener]]
address = \"127.0.0.1:0\"
tls_certificate = \"DIR/server.pem\"
tls_key = \"DIR/server.key\"
";

#[test]
fn mqtt_goes_over_tls_in_both_versions_and_large_messages_pass() {
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    authority.sign(dir.path(), "server", "localhost", 1);
    let broker = broker(&dir, PLAIN);
    let mut stream = open(&broker.door("mqtts"), &authority.client(None));
    speaks_mqtt(&mut stream, "c");
    // A subscriber that gets a large message in many pieces.
    let wire = crate::harness::wire::subscribe(Version::V311, 1, &[("big", 1)]);
    stream.write_all(&wire).expect("sent");
    let mut suback = [0; 5];
    stream.read_exact(&mut suback).expect("a SUBACK");
    let payload = vec![b'x'; 2_000_000];
    let sent = publish("big", &payload).qos(1, 9).bytes(Version::V311);
    stream.write_all(&sent).expect("sent");
    stream.flush().expect("sent");
    let mut got = vec![0; sent.len() + 4];
    stream
        .read_exact(&mut got)
        .expect("the message and its PUBACK");
    // The PUBACK may stand before or behind it.
    let whole = got.windows(payload.len()).any(|part| part == payload);
    assert!(whole);

    // What is no TLS is no way in.
    let mut plain = TcpStream::connect(broker.door("mqtts")).expect("a connection");
    plain.set_read_timeout(Some(PATIENCE)).expect("an option");
    plain
        .write_all(&connect(Version::V311, "c").bytes())
        .expect("sent");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert_ne!(answer.first(), Some(&0x20), "{answer:02x?}");
}

#[test]
fn a_client_of_mosquitto_comes_in_over_tls() {
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    authority.sign(dir.path(), "server", "localhost", 1);
    fs::write(dir.path().join("ca.pem"), &authority.pem).expect("a file");
    let broker = broker(&dir, PLAIN);
    let at = broker.door("mqtts");
    let port = at.rsplit(':').next().expect("a port");
    let output = Command::new("mosquitto_pub")
        .args([
            "-h",
            "localhost",
            "-p",
            port,
            "-q",
            "2",
            "-t",
            "t",
            "-m",
            "x",
            "--cafile",
        ])
        .arg(dir.path().join("ca.pem"))
        .output()
        .expect("mosquitto_pub");
    assert!(output.status.success(), "{output:?}");
}

/// The serial number of the certificate that is shown to a new connection.
fn serial(broker: &Broker, authority: &Authority) -> Vec<u8> {
    let mut stream = open(&broker.door("mqtts"), &authority.client(None));
    speaks_mqtt(&mut stream, "serial");
    let shown = stream.conn.peer_certificates().expect("a certificate");
    shown[0].as_ref().to_vec()
}

#[test]
fn sighup_takes_a_new_certificate_for_new_connections_and_a_broken_one_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    authority.sign(dir.path(), "server", "localhost", 1);
    let broker = broker(&dir, PLAIN);
    let mut open = open(&broker.door("mqtts"), &authority.client(None));
    speaks_mqtt(&mut open, "stays");
    let first = serial(&broker, &authority);
    let hangup = |told: &str| {
        let count = || broker.stderr().matches(told).count();
        let before = count();
        let id = broker.id().to_string();
        let sent = Command::new("kill").args(["-HUP", &id]).status();
        assert!(sent.expect("kill").success());
        wait_until("the reload", || (count() > before).then_some(()));
    };
    let certificate = dir.path().join("server.pem");
    let good = fs::read_to_string(&certificate).expect("a file");
    fs::write(&certificate, &good[..good.len() / 2]).expect("a file");
    hangup("nothing is changed");
    assert!(broker.stderr().contains("server.pem"));
    assert_eq!(serial(&broker, &authority), first);

    authority.sign(dir.path(), "server", "localhost", 2);
    hangup("the configuration was read again");
    assert_ne!(serial(&broker, &authority), first);
    open.write_all(&publish("t", "x").qos(1, 8).bytes(Version::V311))
        .expect("sent");
    open.flush().expect("sent");
    let mut puback = [0; 4];
    open.read_exact(&mut puback).expect("a PUBACK");
    assert_eq!(puback[..], ack_with(Version::V311, PUBACK, 8, 0));
}

#[test]
fn a_client_certificate_is_a_name_and_without_one_nobody_comes_in() {
    let authority = Authority::new();
    for (identity, user) in [("cn", "ann"), ("san", "ann.example.org")] {
        let dir = tempfile::tempdir().expect("a directory");
        authority.sign(dir.path(), "server", "localhost", 1);
        authority.sign(dir.path(), "ann", "ann.example.org", 2);
        fs::write(dir.path().join("ca.pem"), &authority.pem).expect("a file");
        fs::write(dir.path().join("acl"), format!("user {user}\ntopic #\n")).expect("a file");
        let text = format!(
            "[broker]\nacl_file = \"DIR/acl\"\n{PLAIN}tls_client_ca = \"DIR/ca.pem\"\n\
             tls_client_required = true\nidentity = \"{identity}\"\n"
        );
        let broker = broker(&dir, &text);
        let at = broker.door("mqtts");
        // Only that user may publish, so an acknowledgement says who it is.
        let mut named = open(&at, &authority.client(Some((dir.path(), "ann"))));
        speaks_mqtt(&mut named, "c");

        let strangers = Authority::new();
        strangers.sign(dir.path(), "eve", "ann.example.org", 3);
        for shows in [None, Some((dir.path(), "eve"))] {
            let mut stranger = open(&at, &authority.client(shows));
            let _ = stranger.write_all(&connect(Version::V311, "c").bytes());
            let mut answer = Vec::new();
            let ended = stranger.read_to_end(&mut answer);
            assert!(ended.is_err() && answer.is_empty(), "{answer:02x?}");
        }
    }
}
