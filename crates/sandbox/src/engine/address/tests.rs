use super::*;

fn place(config: &Path) -> Surroundings {
    Surroundings {
        uid: 1000,
        program: PathBuf::new(),
        runtime_dir: Some("/run/user/1000".into()),
        docker_host: None,
        docker_context: None,
        docker_tls: None,
        docker_certs: None,
        docker_config: config.to_owned(),
        container_host: None,
    }
}

fn context(config: &Path, dir: &str, meta: &str) {
    let dir = config.join("contexts/meta").join(dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("meta.json"), meta).unwrap();
}

fn sockets(paths: &[&str]) -> Address {
    super::sockets(paths.iter().map(PathBuf::from).collect())
}

#[test]
fn the_usual_places() {
    let nowhere = place(Path::new("/nonexistent"));
    let docker_at = ["/run/docker.sock", "/var/run/docker.sock", "/run/user/1000/docker.sock"];
    assert_eq!(docker(&nowhere), sockets(&docker_at));
    let podman_at = ["/run/user/1000/podman/podman.sock", "/run/podman/podman.sock"];
    assert_eq!(podman(&nowhere), sockets(&podman_at));
    let root = Surroundings { uid: 0, ..nowhere };
    assert_eq!(podman(&root), sockets(&[podman_at[1], podman_at[0]]));
}

#[test]
fn a_variable_is_the_only_place() {
    let with = |host: &str| {
        let host = Some(host.to_owned());
        docker(&Surroundings { docker_host: host, ..place(Path::new("/nonexistent")) })
    };
    assert_eq!(with("unix:///tmp/d.sock"), sockets(&["/tmp/d.sock"]));
    assert_eq!(with(""), docker(&place(Path::new("/nonexistent"))));
    for bad in ["unix://relative", "/run/docker.sock", "what"] {
        assert!(matches!(with(bad), Address::Unreadable(_)), "{bad}");
    }
}

fn with_tls(host: &str, tls: &str) -> Address {
    let (docker_host, docker_tls) = (Some(host.to_owned()), Some(tls.to_owned()));
    docker(&Surroundings { docker_host, docker_tls, ..place(Path::new("/nonexistent")) })
}

#[test]
fn another_host_is_reached_by_ssh_or_in_tls() {
    let at = |text: &str| Address::At(vec![Endpoint::try_from(text.to_owned()).unwrap()]);
    assert_eq!(with_tls("ssh://me@box", ""), at("ssh://me@box"));
    assert_eq!(with_tls("ssh://me@box", "1"), at("ssh://me@box"));
    assert_eq!(with_tls("tcp://127.0.0.1:1", ""), at("tcp://127.0.0.1:1"));
    assert_eq!(with_tls("tcp://box", "1"), at("tls://box:2376/nonexistent"));
    assert_eq!(with_tls("tcp://[::1]:1", "1"), at("tls://[::1]:1/nonexistent"));
    let certs = Surroundings {
        docker_host: Some("tcp://127.0.0.1:99".to_owned()),
        docker_tls: Some("1".to_owned()),
        docker_certs: Some("/keys of mine".into()),
        ..place(Path::new("/nonexistent"))
    };
    assert_eq!(docker(&certs), at("tls://127.0.0.1:99/keys of mine"));
    match with_tls("tcp://box:1", "") {
        Address::Elsewhere(Lack { remedy, .. }) => {
            assert!(remedy.contains("ssh://") && remedy.contains("DOCKER_TLS_VERIFY=1"), "{remedy}")
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(with_tls("npipe:////./pipe/x", ""), Address::Elsewhere(_)));
}

#[test]
fn a_password_in_an_address_is_shown_nowhere() {
    let found = with_tls("ssh://me:secret@example.com", "");
    assert!(matches!(&found, Address::Unreadable(lack) if lack.reason.contains("password")));
    assert!(!format!("{found:?}").contains("secret"));
}

#[test]
fn podman_is_one_of_this_host() {
    let at = |host: &str| {
        let host = Some(host.to_owned());
        podman(&Surroundings { container_host: host, ..place(Path::new("/nonexistent")) })
    };
    assert_eq!(at("unix:///p.sock"), sockets(&["/p.sock"]));
    for far in ["ssh://core@box:22", "tcp://127.0.0.1:1"] {
        assert!(matches!(at(far), Address::Elsewhere(_)), "{far}");
    }
}

#[test]
fn a_context_with_keys_is_one_with_tls() {
    let dir = tempfile::tempdir().unwrap();
    let meta = |skips: bool| {
        let docker = format!(r#"{{"Host":"tcp://127.0.0.1:2376","SkipTLSVerify":{skips}}}"#);
        format!(r#"{{"Name":"far","Endpoints":{{"docker":{docker}}}}}"#)
    };
    context(dir.path(), "aa", &meta(false));
    let found =
        || docker(&Surroundings { docker_context: Some("far".to_owned()), ..place(dir.path()) });
    let plain = Endpoint::parse("tcp://127.0.0.1:2376").unwrap();
    assert_eq!(found(), Address::At(vec![plain]));
    let keys = dir.path().join("contexts/tls/aa/docker");
    fs::create_dir_all(&keys).unwrap();
    let encrypted = Endpoint::parse_with("tcp://127.0.0.1:2376", &keys).unwrap();
    assert_eq!(found(), Address::At(vec![encrypted]));
    // Whoever it is that answers there: never.
    context(dir.path(), "aa", &meta(true));
    assert!(matches!(found(), Address::Elsewhere(lack) if lack.remedy.contains("ca=")));
}

#[test]
fn contexts_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    context(dir.path(), "00", "{not json");
    context(
        dir.path(),
        "aa",
        r#"{"Name":"mine","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///m.sock"}}}"#,
    );
    fs::write(dir.path().join("config.json"), r#"{"currentContext":"mine","auths":{}}"#).unwrap();
    assert_eq!(docker(&place(dir.path())), sockets(&["/m.sock"]));

    let named = |name: &str| {
        docker(&Surroundings { docker_context: Some(name.to_owned()), ..place(dir.path()) })
    };
    assert!(matches!(named("default"), Address::At(paths) if paths.len() == 3));
    assert!(matches!(named("other"), Address::Unreadable(_)));
}

#[test]
fn a_broken_configuration_is_said_and_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), "{").unwrap();
    assert!(matches!(docker(&place(dir.path())), Address::Unreadable(_)));
    fs::remove_file(dir.path().join("config.json")).unwrap();
    fs::create_dir(dir.path().join("config.json")).unwrap();
    assert!(matches!(docker(&place(dir.path())), Address::Unreadable(_)));
}
