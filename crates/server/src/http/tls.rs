//! A certificate and its key, from files of the owner's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Both in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: there is no {what} in PEM in it", path.display())]
    Missing { path: PathBuf, what: &'static str },
    #[error("{}: not PEM", path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error("{} and {} do not make a TLS server", files.certificate.display(), files.key.display())]
    Unfit { files: TlsFiles, source: rustls::Error },
}

impl TlsFiles {
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let unfit = |source| TlsError::Unfit { files: self.clone(), source };
        let text = read(&self.certificate)?;
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|source| TlsError::Pem { path: self.certificate.clone(), source })?;
        if chain.is_empty() {
            return Err(TlsError::Missing { path: self.certificate.clone(), what: "certificate" });
        }
        let key =
            PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|error| match error {
                pem::Error::NoItemsFound => {
                    TlsError::Missing { path: self.key.clone(), what: "private key" }
                }
                source => TlsError::Pem { path: self.key.clone(), source },
            })?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unfit)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}
