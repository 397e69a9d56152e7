//! An authority of a test's own, and what it vouches for.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Whose word counts for whoever has its certificate.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// Where a certificate and its key lie, in PEM, and the authority's beside them.
#[derive(Debug, Clone)]
pub struct Papers {
    pub ca: PathBuf,
    pub chain: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    #[expect(clippy::new_without_default, reason = "no two are equal")]
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be made");
        let pem = params.self_signed(&key).expect("it can sign").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Writes papers for these names and addresses into `dir`, as engines' clients name them.
    pub fn vouch(&self, dir: &Path, names: &[&str]) -> Papers {
        let key = KeyPair::generate().expect("a key can be made");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("a test's names are good");
        let chain = params.signed_by(&key, &self.issuer).expect("it can sign");
        fs::create_dir_all(dir).expect("it can be written to");
        let at = |name: &str, text: &str| {
            let path = dir.join(name);
            fs::write(&path, text).expect("it can be written to");
            path
        };
        Papers {
            ca: at("ca.pem", &self.pem),
            chain: at("cert.pem", &chain.pem()),
            key: at("key.pem", &key.serialize_pem()),
        }
    }
}
