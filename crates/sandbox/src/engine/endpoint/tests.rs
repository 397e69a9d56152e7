use proptest::prelude::*;

use super::*;

fn ssh(user: Option<&str>, host: &str, port: Option<u16>) -> Result<Endpoint, Unreachable> {
    let user = user.map(str::to_owned);
    Ok(Endpoint::Ssh(Destination { user, host: host.to_owned(), port }))
}

#[test]
fn hosts_are_named_as_clients_name_them() {
    let parse = Endpoint::parse;
    assert_eq!(parse("unix:///run/d.sock"), Ok(Endpoint::Socket("/run/d.sock".into())));
    assert_eq!(parse("ssh://box"), ssh(None, "box", None));
    assert_eq!(parse("ssh://me@box.example:2222/"), ssh(Some("me"), "box.example", Some(2222)));
    assert_eq!(parse("ssh://me@[fe80::1]:22"), ssh(Some("me"), "fe80::1", Some(22)));
    for (text, shown) in [
        ("tcp://127.0.0.1:2375", "tcp://127.0.0.1:2375"),
        ("tcp://localhost", "tcp://127.0.0.1:2375"),
        ("tcp://localhost:1/", "tcp://127.0.0.1:1"),
        ("tcp://[::1]:99", "tcp://[::1]:99"),
        ("tcp://127.9.9.9:99", "tcp://127.9.9.9:99"),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), shown);
    }
}

#[test]
fn what_could_be_a_flag_is_no_host() {
    for host in ["-oProxyCommand=x", "-F/etc/passwd", "a b", "a;b", "a$b", "a\nb", "", "é", "a,b"]
    {
        let text = format!("ssh://{host}");
        assert!(matches!(Endpoint::parse(&text), Err(Unreachable::Host | Unreachable::More)));
        let user = Endpoint::parse(&format!("ssh://{host}@box"));
        assert!(matches!(user, Err(Unreachable::User | Unreachable::More)), "{host}: {user:?}");
        assert!(Endpoint::try_from(text).is_err(), "nor in a note");
    }
    assert_eq!(Endpoint::parse("ssh://box/run/x.sock"), Err(Unreachable::More));
    for port in ["0", "65536", "+1", "-1", "x", ""] {
        assert_eq!(Endpoint::parse(&format!("ssh://box:{port}")), Err(Unreachable::Host), "{port}");
    }
}

#[test]
fn beyond_this_host_nothing_goes_unencrypted() {
    for host in ["192.168.1.2:2375", "example.com:2375", "0.0.0.0:1", "[::]:1", "localhost.example"]
    {
        let refused = Endpoint::parse(&format!("tcp://{host}")).unwrap_err();
        assert_eq!(refused, Unreachable::Plain, "{host}");
        assert!(refused.is_elsewhere() && refused.remedy().contains("ssh://"));
    }
    for bad in ["", ":2375", "127.0.0.1:99999", "[::1", "127.0.0.1:1:2"] {
        assert_eq!(Endpoint::parse(&format!("tcp://{bad}")), Err(Unreachable::Port), "{bad}");
    }
}

#[test]
fn with_keys_a_port_is_one_in_tls_and_a_note_keeps_both() {
    let keys = Path::new("/home/me/.docker");
    for (text, url, note) in [
        ("tcp://box.example", "tcp://box.example:2376", "tls://box.example:2376/home/me/.docker"),
        ("tcp://127.0.0.1:1/", "tcp://127.0.0.1:1", "tls://127.0.0.1:1/home/me/.docker"),
        ("tcp://[::1]:1", "tcp://[::1]:1", "tls://[::1]:1/home/me/.docker"),
    ] {
        let found = Endpoint::parse_with(text, keys).unwrap();
        assert_eq!((found.url(), found.to_string()), (url.to_owned(), note.to_owned()));
        assert_eq!(Endpoint::try_from(note.to_owned()), Ok(found.clone()));
        let names: Vec<_> = found.variables().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"]);
    }
    let ssh = Endpoint::parse_with("ssh://box", keys);
    assert_eq!(ssh, Endpoint::parse("ssh://box"));
    // A flag, nobody, a path, and keys that would be looked for elsewhere by somebody else.
    for bad in
        ["tcp://-x:1", "tcp://", "tcp://a b", "tcp://h:0", "tcp://::1", "tcp://h/p", "tcp://u@h"]
    {
        assert!(Endpoint::parse_with(bad, keys).is_err(), "{bad}");
    }
    assert_eq!(Endpoint::parse_with("tcp://h", Path::new("keys")), Err(Unreachable::Keys));
    for bad in ["tls://box:1", "tls:///keys", "tls://-x:1/keys", "tls://h:x/keys"] {
        assert!(Endpoint::try_from(bad.to_owned()).is_err(), "{bad}");
    }
    // Only what we wrote ourselves says it so.
    assert!(matches!(Endpoint::parse("tls://h:1/keys"), Err(Unreachable::Kind { .. })));
}

#[test]
fn a_password_is_refused_and_not_repeated() {
    let refused = Endpoint::parse("ssh://me:hunter2@box").unwrap_err();
    assert_eq!(refused, Unreachable::Password);
    let shown = format!("{refused} {refused:?}");
    assert!(!shown.contains("hunter2"));
    let kind = Endpoint::parse("hunter2@box wrong\x1b[2J://x").unwrap_err();
    assert!(!kind.to_string().contains("hunter2"), "{kind}");
}

proptest! {
    /// Notes and records bring back what was written into them.
    #[test]
    fn text_and_back(user in "[a-z_][a-z0-9._-]{0,8}", host in "[a-z0-9][a-z0-9.-]{0,12}", port in 1_u16..) {
        for text in [format!("ssh://{user}@{host}:{port}"), format!("tcp://127.0.0.1:{port}"), format!("/run/{user}")] {
            let endpoint = Endpoint::try_from(text.clone()).unwrap();
            prop_assert_eq!(endpoint.to_string(), text);
            let written = serde_json::to_string(&endpoint).unwrap();
            prop_assert_eq!(serde_json::from_str::<Endpoint>(&written).unwrap(), endpoint);
        }
    }

    #[test]
    fn nonsense_is_refused_and_no_panic(text in ".{0,60}") {
        if let Ok(Endpoint::Ssh(Destination { user, host, .. })) = Endpoint::parse(&text) {
            prop_assert!(!host.starts_with('-') && !user.is_some_and(|user| user.starts_with('-')));
        }
    }
}
