//! A certificate and its key, from files of the owner's.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio_rustls::TlsAcceptor;

use crate::pem::{self, PemError};

/// Both in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    Pem(#[from] PemError),
    #[error("{} and {} do not make a TLS server", files.certificate.display(), files.key.display())]
    Unfit { files: TlsFiles, source: rustls::Error },
}

impl TlsFiles {
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let unfit = |source| TlsError::Unfit { files: self.clone(), source };
        let chain = pem::certificates(&self.certificate)?;
        let key = pem::key(&self.key)?;
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
