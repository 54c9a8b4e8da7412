//! The ways in, as configured.
//!
//! Owns judging a `[[broker.listener]]`: which keys go together, and that nobody comes in from
//! elsewhere without being asked for a name unless that is meant.

use std::{net::SocketAddr, ops::Range, path::PathBuf};

use forebay_node::{
    Anonymous,
    broker::{At, Identity, Listener, Tls},
};
use toml::Spanned;

use super::{
    judge::{Judge, address},
    raw,
    validated::{Line, Origin, Sourced},
};

/// An address as an example.
const LIKE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 8883);

fn path(written: Option<&Spanned<String>>) -> Option<PathBuf> {
    written.map(|it| PathBuf::from(it.get_ref()))
}

fn is(written: Option<&Spanned<bool>>) -> bool {
    written.is_some_and(|it| *it.get_ref())
}

/// Every key of the listener with its value, in the order of the reference.
pub(super) fn lines(index: usize, listener: &Sourced<Listener>) -> Vec<Line> {
    let it = &listener.value;
    let tls = it.tls.as_ref();
    let file = |path: Option<&PathBuf>| path.map(|path| path.display().to_string()).into();
    let (address, unix) = match &it.at {
        At::Tcp(address) => (Some(address.to_string()), None),
        At::Unix(path) => (None, Some(path)),
    };
    let identity = tls.and_then(|tls| match tls.identity {
        Identity::Nothing => None,
        Identity::CommonName => Some("cn"),
        Identity::AlternativeName => Some("san"),
    });
    let anonymous = it.anonymous.map(|who| who == Anonymous::Anywhere);
    let values: [(&str, serde_json::Value); 10] = [
        ("address", address.into()),
        ("unix", file(unix)),
        ("tls_certificate", file(tls.map(|tls| &tls.certificate))),
        ("tls_key", file(tls.map(|tls| &tls.key))),
        (
            "tls_client_ca",
            file(tls.and_then(|tls| tls.client_ca.as_ref())),
        ),
        (
            "tls_client_required",
            tls.is_some_and(|tls| tls.client_required).into(),
        ),
        ("identity", identity.into()),
        ("websocket", it.websocket.into()),
        ("proxy_protocol", it.proxy_protocol.into()),
        ("allow_anonymous", anonymous.into()),
    ];
    let line = |(key, value)| Line {
        key: format!("{}[{index}].{key}", raw::Listener::TABLE.name),
        value,
        origin: listener.origin.clone(),
    };
    values.into_iter().map(line).collect()
}

impl Judge<'_> {
    /// The listener that is written, or `None` with the mistakes noted. `asks` says whether there
    /// are users, `open` whether everybody may come in.
    pub(super) fn listener(
        &mut self,
        raw: &raw::Listener,
        asks: bool,
        open: bool,
    ) -> Option<Sourced<Listener>> {
        let before = self.problems.len();
        let at = self.at(raw);
        let tls = self.tls(raw);
        let listener = Listener {
            at: at?,
            tls,
            websocket: is(raw.websocket.as_ref()),
            proxy_protocol: is(raw.proxy_protocol.as_ref()),
            anonymous: raw.allow_anonymous.as_ref().map(|it| {
                if *it.get_ref() {
                    Anonymous::Anywhere
                } else {
                    Anonymous::Nobody
                }
            }),
        };
        let named = listener
            .tls
            .as_ref()
            .is_some_and(|it| it.client_required && it.identity != Identity::Nothing);
        let meant = asks || named || (open && listener.anonymous.is_none());
        if let At::Tcp(address) = listener.at
            && !address.ip().to_canonical().is_loopback()
            && !meant
            && listener.anonymous.is_none()
        {
            self.wrong(
                raw.address.as_ref().map(Spanned::span),
                "address",
                &format!("{address} lets other machines in, and nobody is asked for a name"),
                "give a password_file, require client certificates, or set allow_anonymous",
            );
        }
        let written = raw.address.as_ref().or(raw.unix.as_ref());
        let line = self.place.zip(written);
        let line = line.map_or(0, |(place, it)| place.line(it.span().start));
        (self.problems.len() == before).then_some(Sourced {
            value: listener,
            origin: Origin::File(line),
        })
    }

    fn at(&mut self, raw: &raw::Listener) -> Option<At> {
        match (&raw.address, &raw.unix) {
            (Some(text), None) => match address(text.get_ref(), LIKE) {
                Ok(address) => Some(At::Tcp(address)),
                Err((what, cure)) => {
                    self.wrong(Some(text.span()), "address", &what, &cure);
                    None
                }
            },
            (None, Some(text)) if !text.get_ref().is_empty() => {
                Some(At::Unix(PathBuf::from(text.get_ref())))
            }
            (address, unix) => {
                let span = unix.as_ref().or(address.as_ref()).map(Spanned::span);
                let what = "a listener has an address or a unix path, and not both";
                self.wrong(span, "address", what, "give one of the two");
                None
            }
        }
    }

    fn tls(&mut self, raw: &raw::Listener) -> Option<Tls> {
        let identity = match raw.identity.as_ref().map(|it| (it.get_ref().as_str(), it)) {
            None => Identity::Nothing,
            Some(("cn", _)) => Identity::CommonName,
            Some(("san", _)) => Identity::AlternativeName,
            Some((other, it)) => {
                let what = format!("{other:?} is not known");
                self.wrong(Some(it.span()), "identity", &what, "use cn or san");
                return None;
            }
        };
        let tls = match (
            path(raw.tls_certificate.as_ref()),
            path(raw.tls_key.as_ref()),
        ) {
            (Some(certificate), Some(key)) => Some(Tls {
                certificate,
                key,
                client_ca: path(raw.tls_client_ca.as_ref()),
                client_required: is(raw.tls_client_required.as_ref()),
                identity,
            }),
            (None, None) => None,
            (certificate, _) => {
                let (written, key) = if certificate.is_some() {
                    (&raw.tls_certificate, "tls_certificate")
                } else {
                    (&raw.tls_key, "tls_key")
                };
                let span = written.as_ref().map(Spanned::span);
                let what = "TLS needs a certificate and its key";
                self.wrong(span, key, what, "give tls_certificate and tls_key");
                return None;
            }
        };
        let ca = tls.as_ref().is_some_and(|it| it.client_ca.is_some());
        for (key, span) in [
            ("identity", raw.identity.as_ref().map(Spanned::span)),
            (
                "tls_client_required",
                raw.tls_client_required.as_ref().map(Spanned::span),
            ),
            (
                "tls_client_ca",
                raw.tls_client_ca
                    .as_ref()
                    .filter(|_| tls.is_none())
                    .map(Spanned::span),
            ),
        ] {
            if let Some(span) = span.filter(|_| !ca) {
                let what = "certificates of clients are asked for only with tls_client_ca and TLS";
                let cure = "give tls_certificate, tls_key and tls_client_ca, or remove it";
                self.wrong(Some(span), key, what, cure);
            }
        }
        tls
    }

    fn wrong(&mut self, span: Option<Range<usize>>, key: &str, what: &str, cure: &str) {
        let key = format!("{}.{key}", raw::Listener::TABLE.name);
        self.add(span, key, what.to_owned(), cure.to_owned());
    }
}
