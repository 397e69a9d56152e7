//! Certificates and keys in files of the owner's, in PEM. What is made of them is for whoever asked.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[derive(Debug, thiserror::Error)]
pub enum PemError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: there is no {what} in PEM in it", path.display())]
    Missing { path: PathBuf, what: &'static str },
    #[error("{}: not PEM", path.display())]
    Pem { path: PathBuf, source: pem::Error },
}

/// At least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&read(path)?)
        .collect::<Result<_, _>>()
        .map_err(|source| PemError::Pem { path: path.to_owned(), source })?;
    if chain.is_empty() {
        return Err(PemError::Missing { path: path.to_owned(), what: "certificate" });
    }
    Ok(chain)
}

pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, PemError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            PemError::Missing { path: path.to_owned(), what: "private key" }
        }
        source => PemError::Pem { path: path.to_owned(), source },
    })
}

fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    std::fs::read(path).map_err(|source| PemError::Read { path: path.to_owned(), source })
}
