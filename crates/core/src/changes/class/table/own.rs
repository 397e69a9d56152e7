//! What Cofferdam itself obeys, and files that hold secrets by their names.

use super::Class::{CofferdamConfig, Secret};
use super::Row;

const KEY: &str = "is usually a private key or a store of them";
const LOGIN: &str = "usually holds passwords or tokens";

pub(super) const ROWS: &[Row] = &[
    Row::new(CofferdamConfig, "cofferdam.{yaml,yml,json}", &["cofferdam.yaml", "sub/Cofferdam.YAML"])
        .but_not(&["cofferdam.md", "docs/cofferdam"]),
    Row::new(CofferdamConfig, ".cofferdam*/", &[".cofferdam/policy.yaml", ".cofferdamrc"]),
    Row::new(CofferdamConfig, ".config/cofferdam/", &[".config/cofferdam/config.yaml"]),
    Row::new(Secret, "id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk,xmss}", &["id_rsa", ".ssh/id_ed25519"])
        .because(KEY)
        .but_not(&["id_rsa.pub", "grid_rsa"]),
    Row::new(Secret, "*.{p12,pfx,jks,keystore,kdbx,ppk,kdb}", &["a.p12", "release.keystore"]).because(KEY),
    Row::new(Secret, "{.netrc,_netrc,.pgpass,.git-credentials,.pypirc,.htpasswd,.vault-token,.my.cnf,.s3cfg,.boto}", &[".netrc", ".git-credentials"]).because(LOGIN),
    Row::new(Secret, "{.aws/credentials,.docker/config.json,.kube/config,.cargo/credentials,.cargo/credentials.toml,.config/gh/hosts.yml,.azure/accesstokens.json}", &[".aws/credentials", ".kube/config"]).because(LOGIN),
    Row::new(Secret, ".gnupg/", &[".gnupg/private-keys-v1.d/x.key"]).because(KEY),
];
