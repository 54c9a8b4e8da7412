//! The configuration as it is written: every key optional, with its place in the file.
//!
//! Owns the tables and their documentation. One macro makes the struct that serde reads and the
//! [`Key`]s that the reference is printed from, so that the two can't differ. Never judges a
//! value: that is `validated`.

use serde::Deserialize;
use toml::Spanned;

/// A key of the file, as documented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The name within the table.
    pub(crate) name: &'static str,
    /// What can be written, for people.
    pub(crate) kind: &'static str,
    /// What holds where nothing is written, for people.
    pub(crate) default: &'static str,
    /// A value as it stands in the file.
    pub(crate) example: &'static str,
    /// What it does, in Markdown, one piece a line.
    pub(crate) doc: &'static [&'static str],
}

/// A table of the file, as documented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// Its full name.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) doc: &'static [&'static str],
    /// Its keys.
    pub(crate) keys: &'static [Key],
}

impl Table {
    /// Its first line in the file.
    pub(crate) fn header(&self) -> String {
        if self.name == Listener::TABLE.name {
            format!("[[{}]]", self.name)
        } else {
            format!("[{}]", self.name)
        }
    }
}

macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $struct:ident = $table:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty, $kind:literal, $default:literal, $example:literal;
            )+
        }
        $(inner { $($inner:ident: $inner_type:ty),+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $struct {
            $($(#[doc = $doc])+ pub(crate) $field: Option<Spanned<$type>>,)+
            $($(#[doc = "A table within."] pub(crate) $inner: $inner_type,)+)?
        }

        impl $struct {
            /// The table, documented.
            pub(crate) const TABLE: Table = Table {
                name: $table,
                doc: &[$($about),+],
                keys: &[$(Key {
                    name: stringify!($field),
                    kind: $kind,
                    default: $default,
                    example: $example,
                    doc: &[$($doc),+],
                }),+],
            };
        }
    };
}

/// Every table, in the order of the reference.
pub(crate) const TABLES: &[Table] = &[
    Broker::TABLE,
    Listener::TABLE,
    Store::TABLE,
    Limits::TABLE,
    Log::TABLE,
];

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Raw {
    /// The broker's table.
    pub(crate) broker: Broker,
    /// The log's table.
    pub(crate) log: Log,
}

table! {
    /// The broker: `forebay broker` and `forebay up`.
    Broker = "broker" {
        /// Where sessions, queues and retained messages are kept. A relative path starts where
        /// the program was started. One process at a time.
        data_dir: String, "path", "`./forebay-data`", "\"/var/lib/forebay\"";
        /// Where to listen for MQTT over TCP: an IP address and a port, port 0 for a free one.
        listen: String, "address:port", "`127.0.0.1:1883`", "\"127.0.0.1:1883\"";
        /// Where to serve `/metrics` over HTTP. Nowhere if not set; `forebay up` uses
        /// `127.0.0.1:9464`.
        metrics: String, "address:port", "not served", "\"127.0.0.1:9464\"";
        /// Whether clients may come in without a name, from anywhere. Where it is false nobody
        /// may where there is a `password_file`; without one those of this machine may, and
        /// `listen` must be an address of the loopback. Read again at SIGHUP.
        allow_anonymous: bool, "true or false", "`false`", "false";
        /// Users and what is kept of their passwords, in the format of Mosquitto's password file;
        /// `forebay passwd` writes it. Who gives a name is then asked for the password, and nobody
        /// comes in without one unless `allow_anonymous` is true. Read again at SIGHUP.
        password_file: String, "path", "not set", "\"/etc/forebay/passwords\"";
        /// Who may publish and read what, in the format of Mosquitto's access control list; see
        /// `docs/access.md`. What it does not grant is denied. Read again at SIGHUP.
        acl_file: String, "path", "not set", "\"/etc/forebay/acl\"";
        /// What becomes of a QoS 1 or 2 message that its client may not publish below MQTT 5,
        /// which has no answer for it: `close` ends the connection, `acknowledge` answers as if
        /// it were taken and drops it. MQTT 5 clients get 0x87. Read again at SIGHUP.
        refused_publish: String, "`close` or `acknowledge`", "`close`", "\"acknowledge\"";
        /// How to write synchronously: the first of `io_uring`, `pwritev2` and `fdatasync` that
        /// the kernel and the file system have, beginning with the one named, and the log says
        /// which. `auto` begins with the first.
        disk_driver: String, "`auto`, `io_uring`, `pwritev2` or `fdatasync`", "`auto`", "\"auto\"";
    }
    inner { limits: Limits, listener: Vec<Listener>, store: Store }
}

table! {
    /// A way in, as many as are written. Where there is one, `broker.listen` is a way in only if
    /// it is written too.
    Listener = "broker.listener" {
        /// Where to listen over TCP; port 0 for a free one.
        address: String, "address:port", "not set", "\"0.0.0.0:8883\"";
        /// The path of a Unix socket to listen at, in place of an address, for its owner and
        /// group. One that nobody listens on any more is replaced.
        unix: String, "path", "not set", "\"/run/forebay/mqtt\"";
        /// The certificate and those that lead to its root, PEM; turns TLS on. Read again at
        /// SIGHUP, for new connections.
        tls_certificate: String, "path", "not set", "\"/etc/forebay/cert.pem\"";
        /// The key of the certificate, PEM. Read again at SIGHUP.
        tls_key: String, "path", "not set", "\"/etc/forebay/key.pem\"";
        /// Who may have signed the certificates of clients, PEM; clients are asked for one. Read
        /// again at SIGHUP.
        tls_client_ca: String, "path", "not set", "\"/etc/forebay/clients.pem\"";
        /// Whether a client without a certificate is turned away.
        tls_client_required: bool, "true or false", "`false`", "true";
        /// What of a client's certificate is its user name, in place of what it says in its
        /// CONNECT: the common name, or the first DNS name, mail address or URI among the
        /// alternative names.
        identity: String, "`cn` or `san`", "not set", "\"cn\"";
        /// Whether MQTT comes over WebSocket, under the subprotocol `mqtt`, at any path.
        websocket: bool, "true or false", "`false`", "true";
        /// Whether every connection begins with a header of the PROXY protocol, version 2, which
        /// is believed; a connection without one is closed.
        proxy_protocol: bool, "true or false", "`false`", "true";
        /// Whether clients may come in here without a name, from anywhere. Where it is not
        /// written, `broker.allow_anonymous` says.
        allow_anonymous: bool, "true or false", "not set", "true";
    }
}

table! {
    /// How the store is kept. Sizes are bytes. What is changed here counts at the next start, for
    /// what is written from then on.
    Store = "broker.store" {
        /// Bytes of a new segment of the log, a multiple of 1 MiB and at least twice
        /// `broker.limits.max_packet_size`. Segments are made whole, so that a store takes two of
        /// them from the first day.
        segment_size: i64, "bytes", "`67108864`", "16777216";
        /// Bytes of the file system that are left free: below them messages are refused with 0x97
        /// until there is room again, while deliveries and acknowledgements go on.
        low_water: i64, "bytes", "`67108864`", "0";
        /// Bytes of the log between two checkpoints: fewer make a start after a crash faster, and
        /// more writing.
        checkpoint_after: i64, "bytes", "`67108864`", "16777216";
        /// Messages that one queue is done with, at which the log is rotated: what is done with
        /// leaves it. 0 rotates never; space is used again all the same.
        rotate_after: i64, "number", "`0`", "100000";
        /// Segments in which nothing is pending any more that are kept as backups, the newest
        /// ones; `forebay queue backups` lists them. 0 keeps none.
        backups: i64, "number", "`0`", "8";
    }
}

table! {
    /// What one client, and all of them together, may take.
    Limits = "broker.limits" {
        /// Connections at a time; one more is answered 0x97 (3.1.1: 3).
        max_connections: i64, "number", "`100000`", "10000";
        /// Sessions kept, connected or not; one more is refused with 0x97 (3.1.1: 3).
        max_sessions: i64, "number", "`1000000`", "100000";
        /// The largest packet taken, bytes; a larger one ends its connection with 0x95.
        max_packet_size: i64, "bytes", "`4194304`", "65536";
        /// QoS 1 and 2 messages that a client may have unacknowledged; one more ends its
        /// connection with 0x93 (MQTT 5).
        receive_maximum: i64, "number", "`256`", "100";
        /// Topic aliases of a connection, as many each way; a client that uses a higher one is
        /// disconnected with 0x94. 0 is none.
        topic_alias_maximum: i64, "number", "`10`", "100";
        /// QoS 1 and 2 messages sent to a client and unacknowledged; further ones stay queued.
        max_inflight: i64, "number", "`256`", "20";
        /// Messages that wait in the queue of one session; a publish that would pass it is
        /// refused with 0x97 (3.1.1: its connection ends).
        max_queued_messages: i64, "number", "`1000000`", "10000";
        /// Payload bytes of QoS 2 messages of one session that await their PUBREL; a publish that
        /// would pass it is refused with 0x97 (3.1.1: its connection ends).
        max_unreleased_bytes: i64, "bytes", "`16777216`", "1048576";
        /// Subscriptions of one session; further ones are refused with 0x97 (3.1.1: 0x80).
        max_subscriptions: i64, "number", "`10000`", "100";
        /// Levels of a topic; a deeper one is refused with 0x90 or 0x8F.
        max_topic_levels: i64, "number", "`128`", "10";
        /// Retained messages kept; a publish that would add one more is refused with 0x97.
        max_retained: i64, "number", "`1000000`", "10000";
        /// Bytes of packets held that come before their CONNECT is answered; once it is reached
        /// nothing more is read before the CONNACK.
        max_early_bytes: i64, "bytes", "`1048576`", "65536";
        /// Seconds from a connection to its CONNECT; past it the connection ends.
        connect_timeout_secs: i64, "seconds", "`10`", "5";
        /// The longest session expiry granted, seconds; 4294967295 is without end. A longer
        /// request is cut to it, and the client is told.
        max_session_expiry_secs: i64, "seconds", "`4294967295`", "604800";
    }
}

table! {
    /// The log, on standard error.
    Log = "log" {
        /// `error`, `warn`, `info`, `debug` or `trace`, or a list such as
        /// `info,forebay_node=debug`. `--log` and `FOREBAY_LOG` override it.
        level: String, "filter", "`info`", "\"info\"";
        /// `text`, or `json` with one object a line. `--log-format` overrides it.
        format: String, "`text` or `json`", "`text`", "\"json\"";
    }
}
