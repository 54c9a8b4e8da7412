//! TLS for listeners.
//!
//! Owns [`Tls`], what is configured, [`load`], which makes of it what a listener uses, and
//! [`identity`], who a client certificate says somebody is. Keys are in no text.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::WebPkiClientVerifier,
};
use thiserror::Error;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// How a listener speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and those that lead to its root, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Who may have signed the certificates of clients, PEM; they are not asked for one without.
    pub client_ca: Option<PathBuf>,
    /// Whether who has none is turned away.
    pub client_required: bool,
    /// What of a client's certificate is its user name.
    pub identity: Identity,
}

/// What of a client's certificate is its user name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Nothing: the CONNECT says.
    #[default]
    Nothing,
    /// The common name of the subject.
    CommonName,
    /// The first alternative name of the subject that is a DNS name, a mail address or a URI.
    AlternativeName,
}

/// Why TLS can't be used as configured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there, not readable, or not what it is named as: correct it.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Certificate, key and authorities don't go together: correct them.
    #[error("{}: {source}", path.display())]
    Config {
        /// The certificate.
        path: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
}

/// Reads the files of `tls`.
///
/// # Errors
/// [`TlsError`], which names the file.
pub(crate) fn load(tls: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let config = |source| TlsError::Config {
        path: tls.certificate.clone(),
        source,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(config)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(verifier(tls, path, provider)?),
    };
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| file(&tls.key, &error))?;
    builder
        .with_single_cert(certificates(&tls.certificate)?, key)
        .map(Arc::new)
        .map_err(config)
}

fn verifier(
    tls: &Tls,
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let wrong = |why: &dyn fmt::Display| TlsError::File {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if tls.client_required {
        builder
    } else {
        builder.allow_unauthenticated()
    };
    builder.build().map_err(|error| wrong(&error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| file(path, &error))?;
    if certificates.is_empty() {
        return Err(file(path, &pem::Error::NoItemsFound));
    }
    Ok(certificates)
}

fn file(path: &Path, error: &pem::Error) -> TlsError {
    // What an error says of the contents is not for a log.
    let why = if let pem::Error::Io(error) = error {
        error.to_string()
    } else if matches!(error, pem::Error::NoItemsFound) {
        "there is nothing of that kind in it".to_owned()
    } else {
        "is no PEM".to_owned()
    };
    let path = path.to_owned();
    TlsError::File { path, why }
}

/// The name in a client's certificate, which was verified.
///
/// # Errors
/// There is none of that kind.
pub(crate) fn identity(certificate: &[u8], identity: Identity) -> io::Result<Option<String>> {
    let none = || io::Error::new(io::ErrorKind::InvalidData, "no name in the certificate");
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| none())?;
    let name = match identity {
        Identity::Nothing => return Ok(None),
        Identity::CommonName => {
            let mut names = certificate.subject().iter_common_name();
            names.next().and_then(|name| name.as_str().ok())
        }
        Identity::AlternativeName => {
            let names = certificate.subject_alternative_name().map_err(|_| none())?;
            let names = names.map(|names| &names.value.general_names);
            names.into_iter().flatten().find_map(|name| {
                if let GeneralName::DNSName(name)
                | GeneralName::RFC822Name(name)
                | GeneralName::URI(name) = name
                {
                    Some(*name)
                } else {
                    None
                }
            })
        }
    };
    let name = name.filter(|name| !name.is_empty()).ok_or_else(none)?;
    Ok(Some(name.to_owned()))
}
