//! Over TLS: with the right certificate it answers, without TLS it does not.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use cofferdam_server::http::{Bound, HttpSettings, ListenError, TlsFiles};
use rcgen::CertifiedKey;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::server::Server;
use crate::wire::Ask;

fn made(dir: &std::path::Path) -> (TlsFiles, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: dir.join("cert.pem"), key: dir.join("key.pem") };
    std::fs::write(&files.certificate, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    (files, cert.der().clone())
}

#[test]
fn a_client_that_knows_the_certificate_is_answered_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (files, certificate) = made(dir.path());
    let server = Server::with(|settings| settings.tls = Some(files));
    let ask = |roots: RootCertStore| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(session, TcpStream::connect(server.address).unwrap());
        let head = format!(
            "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            server.admin
        );
        stream.write_all(head.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    let mut known = RootCertStore::empty();
    known.add(certificate).unwrap();
    assert!(ask(known).unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
    ask(RootCertStore::empty()).unwrap_err();
    // In the clear there is one answer, to whatever is asked: what to write instead.
    for path in ["/healthz", "/v1/me", "/none"] {
        let reply = Ask::get(path).token(&server.admin).send(server.address);
        let problem = reply.refused(400, "tls-wanted");
        assert!(problem["remedy"].as_str().unwrap().contains("https://"), "{problem}");
    }
}

#[tokio::test]
async fn beyond_the_loopback_nothing_is_served_in_the_clear() {
    let listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let settings = HttpSettings { listen, tls: None, host_names: Vec::new(), rate: None };
    assert!(matches!(Bound::new(&settings).await, Err(ListenError::NeedsTls(_))));
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = made(dir.path());
    Bound::new(&HttpSettings { tls: Some(files.clone()), ..settings.clone() }).await.unwrap();
    let swapped = TlsFiles { certificate: files.key.clone(), key: files.certificate.clone() };
    assert!(matches!(
        Bound::new(&HttpSettings { tls: Some(swapped), ..settings }).await,
        Err(ListenError::Tls(_))
    ));
}
