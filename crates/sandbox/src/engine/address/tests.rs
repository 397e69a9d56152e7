use super::*;

fn place(config: &Path) -> Surroundings {
    Surroundings {
        uid: 1000,
        program: PathBuf::new(),
        runtime_dir: Some("/run/user/1000".into()),
        docker_host: None,
        docker_context: None,
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
    Address::Sockets(paths.iter().map(PathBuf::from).collect())
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
        assert!(matches!(with(bad), Address::Unreadable { .. }), "{bad}");
    }
}

#[test]
fn of_an_address_elsewhere_only_the_kind_is_kept() {
    let host = Some("ssh://me:secret@example.com".to_owned());
    let found = docker(&Surroundings { docker_host: host, ..place(Path::new("/nonexistent")) });
    assert!(matches!(&found, Address::Elsewhere { scheme, .. } if scheme == "ssh"), "{found:?}");
    assert!(!format!("{found:?}").contains("secret"));
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
    assert!(matches!(named("default"), Address::Sockets(paths) if paths.len() == 3));
    assert!(matches!(named("other"), Address::Unreadable { .. }));
}

#[test]
fn a_broken_configuration_is_said_and_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), "{").unwrap();
    assert!(matches!(docker(&place(dir.path())), Address::Unreadable { .. }));
    fs::remove_file(dir.path().join("config.json")).unwrap();
    fs::create_dir(dir.path().join("config.json")).unwrap();
    assert!(matches!(docker(&place(dir.path())), Address::Unreadable { .. }));
}
