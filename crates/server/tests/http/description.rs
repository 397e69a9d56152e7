//! The description of the API: a file under test, served as it stands.

use std::path::Path;

use crate::server::Server;
use crate::wire::Ask;

#[test]
fn the_reference_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let text = format!("{}\n", cofferdam_server::http::openapi().unwrap());
    if std::env::var_os("COFFERDAM_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/openapi.json is not what the code says: run `cargo xtask bless`");
}

#[test]
fn it_is_served_and_rendered() {
    let server = Server::start();
    let api = Ask::get("/openapi.json").send(server.address).expect(200).json();
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{}", api["openapi"]);
    let page = Ask::get("/docs").send(server.address).expect(200);
    assert!(page.header("content-security-policy").unwrap().contains("style-src 'self'"));
    let page = String::from_utf8(page.body).unwrap();
    assert!(
        !page.contains("<script") && !page.contains("//cdn"),
        "no script, nothing from elsewhere"
    );
    for path in api["paths"].as_object().unwrap().keys() {
        assert!(page.contains(path.as_str()), "{path}");
    }
    Ask::get("/docs/style.css").send(server.address).expect(200);
}

/// Each operation says how it refuses, who may ask, and what its id in the path looks like.
#[test]
fn every_operation_is_described() {
    let api: serde_json::Value =
        serde_json::from_str(&cofferdam_server::http::openapi().unwrap()).unwrap();
    let paths = api["paths"].as_object().unwrap();
    assert!(paths.len() > 40, "{}", paths.len());
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(
                operation["responses"]["4XX"]["content"]["application/problem+json"].is_object(),
                "{method} {path}"
            );
            let open = operation["security"] == serde_json::json!([{}]);
            assert_eq!(open, ["/healthz", "/readyz"].contains(&path.as_str()), "{method} {path}");
        }
    }
}

/// What a list and a create have in common, whatever they are of.
#[test]
fn every_list_has_pages_and_every_create_takes_a_key() {
    let api: serde_json::Value =
        serde_json::from_str(&cofferdam_server::http::openapi().unwrap()).unwrap();
    let (mut lists, mut creates) = (0, 0);
    for (path, item) in api["paths"].as_object().unwrap() {
        let takes = |method: &str, name: &str| {
            let all = item[method]["parameters"].as_array();
            all.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == name))
        };
        let answer =
            item["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
                .as_str()
                .unwrap_or_default();
        // Of settings there are as many as there are.
        if answer.contains("/Page_") && path != "/v1/projects/{id}/policy" {
            assert!(takes("get", "limit") && takes("get", "after"), "GET {path}");
            lists += 1;
        }
        // An artifact is known by its attempt and its name.
        if item["post"]["responses"]["201"].is_object() && path != "/v1/runner/tasks/{id}/artifacts"
        {
            assert!(takes("post", "Idempotency-Key"), "POST {path}");
            creates += 1;
        }
    }
    assert!(lists >= 12 && creates >= 7, "{lists} {creates}");
}
