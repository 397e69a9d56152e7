//! An authority of a test's own, and what it vouches for.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Where they lie, in PEM.
pub(crate) struct Papers {
    pub(crate) ca: PathBuf,
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Papers {
    /// For a server at this address.
    pub(crate) fn made(dir: &Path, ip: IpAddr) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = KeyPair::generate().unwrap();
        let ca = authority.self_signed(&own).unwrap();
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new([ip.to_string()]).unwrap();
        let server = server.signed_by(&key, &Issuer::new(authority, own)).unwrap();
        let at = |name: &str, text: String| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        Self {
            ca: at("authority.pem", ca.pem()),
            chain: at("chain.pem", server.pem()),
            key: at("key.pem", key.serialize_pem()),
        }
    }
}
