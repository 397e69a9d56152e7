//! A line to an engine behind TLS: what comes from one side of a socket goes to the engine encrypted, and back.
//! [`carry`] is all that a process of its own does, so that whoever speaks with the engine holds no keys and sees a
//! socket like any other (`native/src/carrier.rs`).
//!
//! The engine's certificate is always looked at, by the authority beside our own keys and by no other. Deliberately
//! absent: a way to leave that out.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::pem::{self, PemError};

/// Whom the line leads to.
#[derive(Debug, Clone)]
pub struct Far {
    /// A name or an address, which the certificate has to be for.
    pub host: String,
    pub port: u16,
    /// Where `ca.pem` is, and `cert.pem` and `key.pem` where the engine asks who we are.
    pub keys: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error(transparent)]
    Pem(#[from] PemError),
    #[error("{} does not serve", path.display())]
    Unfit { path: PathBuf, source: rustls::Error },
    #[error("no certificate is for a host of such a name")]
    Name,
    #[error("cannot connect to {host}:{port}")]
    Unconnected { host: String, port: u16, source: io::Error },
    #[error("the engine's certificate is refused, by {}", ca.display())]
    Untrusted { ca: PathBuf, source: rustls::Error },
    #[error("the engine does not take the client's certificate, {}", certificate.display())]
    Rejected { certificate: PathBuf, source: rustls::Error },
    #[error("the connection broke")]
    Broken(#[source] io::Error),
}

/// Until both sides have ended, or one breaks off.
pub fn carry(to: &Far, near: UnixStream) -> Result<(), LineError> {
    let connector = TlsConnector::from(Arc::new(config(&to.keys)?));
    let name = ServerName::try_from(to.host.clone()).map_err(|_| LineError::Name)?;
    near.set_nonblocking(true).map_err(LineError::Broken)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(LineError::Broken)?.block_on(async {
        let unconnected =
            |source| LineError::Unconnected { host: to.host.clone(), port: to.port, source };
        let far = TcpStream::connect((to.host.as_str(), to.port)).await.map_err(unconnected)?;
        far.set_nodelay(true).map_err(LineError::Broken)?;
        let mut near = tokio::net::UnixStream::from_std(near).map_err(LineError::Broken)?;
        let refused = |error| refused(error, &to.keys);
        let mut far = connector.connect(name, far).await.map_err(refused)?;
        // Whether the client's own certificate was taken shows with the first answer.
        copy_bidirectional(&mut near, &mut far).await.map(|_| ()).map_err(refused)
    })
}

fn config(keys: &Path) -> Result<ClientConfig, LineError> {
    let at = |name: &str| keys.join(name);
    let unfit = |path: PathBuf| move |source| LineError::Unfit { path, source };
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates(&at("ca.pem"))? {
        roots.add(certificate).map_err(unfit(at("ca.pem")))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unfit(keys.to_owned()))?
        .with_root_certificates(roots);
    // An engine need not ask who comes. Half of what it may ask for is a mistake, and said.
    let mut config = if at("cert.pem").exists() || at("key.pem").exists() {
        let (chain, key) = (pem::certificates(&at("cert.pem"))?, pem::key(&at("key.pem"))?);
        builder.with_client_auth_cert(chain, key).map_err(unfit(at("key.pem")))?
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// By whose doing the line ended.
fn refused(error: io::Error, keys: &Path) -> LineError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).cloned();
    match inner {
        Some(source @ rustls::Error::InvalidCertificate(_)) => {
            LineError::Untrusted { ca: keys.join("ca.pem"), source }
        }
        Some(source @ rustls::Error::AlertReceived(_)) => {
            LineError::Rejected { certificate: keys.join("cert.pem"), source }
        }
        _ => LineError::Broken(error),
    }
}
