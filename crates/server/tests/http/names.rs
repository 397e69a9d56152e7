//! Who is let in: by the name that was asked for, by the page that asks.

use crate::server::Server;
use crate::wire::Ask;

pub(crate) fn a_name_that_was_rebound_is_refused_before_the_token_counts(server: Server) {
    for host in [
        "evil.example",
        &format!("evil.example:{}", server.address.port()),
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "user@127.0.0.1",
    ] {
        let problem =
            server.send(Ask::get("/v1/me").header("Host", host)).refused(403, "foreign-host");
        assert_eq!(problem["field"], "Host");
        Ask::get("/healthz").header("Host", host).send(server.address).refused(403, "foreign-host");
    }
    for host in ["localhost", "LocalHost:80", "127.0.0.1", "[::1]:7411"] {
        server.send(Ask::get("/v1/me").header("Host", host)).expect(200);
    }
    server
        .send(Ask::get("/v1/me").header("Host", "localhost").header("Host", "evil.example"))
        .refused(400, "bad-host");
    server
        .send(Ask::get("http://evil.example/v1/me").header("Host", "localhost"))
        .refused(400, "bad-host");
}

#[test]
fn a_name_of_the_owners_is_answered() {
    let server = Server::with(|settings| settings.host_names = vec!["ci.example.org".to_owned()]);
    server.send(Ask::get("/v1/me").header("Host", "CI.example.org:443")).expect(200);
    server
        .send(Ask::get("/v1/me").header("Host", "other.example.org"))
        .refused(403, "foreign-host");
}

pub(crate) fn a_page_of_another_origin_gets_nothing_done(server: Server) {
    let own = format!("http://{}", server.address);
    let ask = || Ask::get("/v1/me");
    server.send(ask().header("Origin", &own)).expect(200);
    server.send(ask().header("Sec-Fetch-Site", "same-origin")).expect(200);
    for origin in ["null", "http://evil.example", "http://localhost:3000", "https://127.0.0.1", ""]
    {
        server.send(ask().header("Origin", origin)).refused(403, "foreign-origin");
    }
    for site in ["cross-site", "same-site", "nonsense"] {
        server.send(ask().header("Sec-Fetch-Site", site)).refused(403, "foreign-origin");
    }
    // What a form can send without asking: no page sees an answer, but it would have been done.
    let simple =
        Ask::new("POST", "/v1/projects").body("text/plain", r#"{"name":"a","root_path":"/tmp"}"#);
    server
        .send(simple.clone().header("Origin", "http://evil.example"))
        .refused(403, "foreign-origin");
    server.send(simple).refused(415, "not-json");
    // What a browser asks before it sends more: nothing is allowed.
    let preflight = Ask::new("OPTIONS", "/v1/tasks")
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "POST");
    let reply = server.send(preflight);
    assert!(
        reply.status >= 400 && reply.header("access-control-allow-origin").is_none(),
        "{reply:?}"
    );
    assert_eq!(server.get("/v1/projects").expect(200).json()["items"].as_array().unwrap().len(), 0);
}

pub(crate) fn a_followed_link_leads_to_a_page_and_to_nothing_else(server: Server) {
    let followed = |target: &str| {
        let ask = Ask::get(target).header("Sec-Fetch-Site", "cross-site");
        ask.header("Sec-Fetch-Mode", "navigate").header("Sec-Fetch-Dest", "document")
    };
    followed("/docs").send(server.address).expect(200);
    server.send(followed("/v1/me")).refused(403, "foreign-origin");
    let framed = Ask::get("/docs")
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "navigate")
        .header("Sec-Fetch-Dest", "iframe");
    framed.send(server.address).refused(403, "foreign-origin");
}

pub(crate) fn every_answer_tells_browsers_what_not_to_do_with_it(server: Server) {
    for reply in [server.get("/v1/me"), server.get("/none"), Ask::get("/docs").send(server.address)]
    {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert!(reply.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("access-control-allow-origin"), None);
        assert_eq!(reply.header("set-cookie"), None);
    }
}
