//! The names under which this server answers.
//!
//! A page of any origin can have its own name resolve to the loopback (DNS rebinding) and then speaks to us as its own
//! server: with its own name as `Host`. So a name is one of ours, or the request is refused.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;

/// Those of the loopback, the address listened on, and what the owner added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    listen: IpAddr,
    added: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host name: give a name as in `ci.example.org`, without scheme and port")]
pub struct NotAName(String);

impl Names {
    pub fn new(listen: SocketAddr, added: &[String]) -> Result<Self, NotAName> {
        let added = added.iter().map(|name| host_name(name)).collect::<Result<_, _>>()?;
        Ok(Self { listen: listen.ip(), added })
    }

    /// Whether `host`, as it stands in the header, is this server.
    pub(crate) fn has(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host();
        let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        match literal.unwrap_or(name).parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || (ip == self.listen && !ip.is_unspecified()),
            Err(_) => {
                let name = name.to_ascii_lowercase();
                name == "localhost" || self.added.contains(&name)
            }
        }
    }

    /// Whether a page of `origin` is one that was got from `host`.
    pub(crate) fn is_own_page(origin: &str, host: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    }
}

fn host_name(text: &str) -> Result<String, NotAName> {
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    };
    let is_name = text.len() <= 253 && text.split('.').all(label);
    if is_name || text.parse::<IpAddr>().is_ok() {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(NotAName(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(added: &[&str]) -> Result<Names, NotAName> {
        let added: Vec<String> = added.iter().map(ToString::to_string).collect();
        Names::new(SocketAddr::from(([127, 0, 0, 1], 7411)), &added)
    }

    #[test]
    fn only_names_of_ours_are_answered() {
        let names = names(&["CI.example.org"]).expect("a name");
        for host in [
            "localhost",
            "LOCALHOST:7411",
            "127.0.0.1:7411",
            "127.9.9.9",
            "[::1]:1",
            "ci.example.org:443",
        ] {
            assert!(names.has(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7411",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost.",
            "0.0.0.0:7411",
            "10.0.0.1",
            "a@localhost",
            "",
            "localhost/..",
            "ci.example.org.",
            "[::]:7411",
        ] {
            assert!(!names.has(host), "{host}");
        }
    }

    #[test]
    fn the_address_listened_on_is_a_name_unless_it_is_all_of_them() {
        let at = |ip: [u8; 4]| Names::new(SocketAddr::from((ip, 1)), &[]).expect("no names");
        assert!(at([10, 0, 0, 1]).has("10.0.0.1:1") && !at([10, 0, 0, 1]).has("10.0.0.2:1"));
        assert!(!at([0, 0, 0, 0]).has("0.0.0.0:1"));
    }

    #[test]
    fn an_own_page_has_the_very_host() {
        assert!(Names::is_own_page("http://localhost:7411", "localhost:7411"));
        for origin in
            ["null", "http://localhost:3000", "http://localhost", "http://evil.example:7411", ""]
        {
            assert!(!Names::is_own_page(origin, "localhost:7411"), "{origin}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", "http://a", "a:1", "a/b", "*.example.org", "a..b", "a b", "ä"] {
            assert!(names(&[name]).is_err(), "{name}");
        }
    }
}
