//! Where a server is, and how it is reached: by TLS, or in the clear on the loopback.

use std::net::IpAddr;

use reqwest::{Certificate, Url};
use rustls::crypto::CryptoProvider;

use super::CONNECT;

/// A server, and what it wants to see.
#[derive(Clone)]
pub struct Address {
    /// As in `http://127.0.0.1:7411` or `https://host`.
    pub url: String,
    pub token: String,
    /// PEM of the authority that the server's certificate is of; without, those of the system count.
    pub ca: Option<Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("{url:?} is not the URL of a server: write it as http://127.0.0.1:7411")]
    Url { url: String },
    #[error("{url} is not on this host, and a token must not go there in the clear: use https")]
    Clear { url: String },
    #[error("the token is empty or has characters that no token has")]
    Token,
    #[error("the certificate of the authority cannot be read")]
    Authority { source: reqwest::Error },
    #[error("cannot set up a client")]
    Setup { source: reqwest::Error },
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Address {
    pub(super) fn open(&self) -> Result<(reqwest::Client, Url), AddressError> {
        let base = self.base()?;
        if self.token.is_empty() || !self.token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AddressError::Token);
        }
        provider();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
            // Whom a token goes to is decided here and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT);
        if let Some(pem) = &self.ca {
            let certificates = Certificate::from_pem_bundle(pem)
                .map_err(|source| AddressError::Authority { source })?;
            builder = builder.tls_certs_only(certificates);
        }
        let http = builder.build().map_err(|source| AddressError::Setup { source })?;
        Ok((http, base))
    }

    fn base(&self) -> Result<Url, AddressError> {
        let wrong = || AddressError::Url { url: self.url.clone() };
        let base = Url::parse(&self.url).map_err(|_| wrong())?;
        let host = base.host_str().ok_or_else(wrong)?;
        let is_plain = base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.path() == "/";
        match base.scheme() {
            _ if !is_plain => Err(wrong()),
            "https" => Ok(base),
            "http" if is_here(host) => Ok(base),
            "http" => Err(AddressError::Clear { url: self.url.clone() }),
            _ => Err(wrong()),
        }
    }
}

pub(super) fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What carries out the ciphers, for the whole process; the first to say so decides.
pub(crate) fn provider() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may be faster with the same one.
        rustls::crypto::ring::default_provider().install_default().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(url: &str, token: &str) -> Result<(), AddressError> {
        Address { url: url.to_owned(), token: token.to_owned(), ca: None }.open().map(drop)
    }

    #[test]
    fn a_token_goes_over_tls_or_stays_here() {
        for url in
            ["http://127.0.0.1:7411", "http://[::1]:1/", "http://localhost", "https://example.org"]
        {
            opened(url, "t").unwrap_or_else(|error| panic!("{url}: {error}"));
        }
        for url in ["http://10.0.0.1", "http://example.org", "http://127.0.0.1.example.org"] {
            assert!(matches!(opened(url, "t"), Err(AddressError::Clear { .. })), "{url}");
        }
        for url in [
            "",
            "x",
            "ftp://127.0.0.1",
            "http://a:b@127.0.0.1",
            "http://127.0.0.1/v1",
            "http://127.0.0.1/?a",
        ] {
            assert!(matches!(opened(url, "t"), Err(AddressError::Url { .. })), "{url}");
        }
    }

    #[test]
    fn a_token_is_one_word() {
        for token in ["", "a b", "a\n", "ä"] {
            assert!(
                matches!(opened("http://127.0.0.1", token), Err(AddressError::Token)),
                "{token:?}"
            );
        }
    }
}
