//! By which names a view can be reached.

use crate::helper::{place, run};
use crate::served::serve;

#[test]
fn at_all_addresses_a_client_with_the_token_may_use_any_name() {
    let place = place(2);
    let mut served = serve(&place, "--host 0.0.0.0 --token my-own-token");
    let port = served.host.split(':').nth(1).unwrap().to_owned();
    served.host = format!("127.0.0.1:{port}");
    let name = format!("the-machine.lan:{port}");
    let cookie = format!("Cookie: kcf-track-{port}=my-own-token\r\n");
    let ask = |method: &str, path: &str, head: &str| {
        let ask = format!("{method} {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
        served.send(ask.as_bytes()).status
    };
    let get = |path: &str, head: &str| ask("GET", path, head);
    let host = format!("Host: {name}\r\n");
    assert_eq!(get("/?token=my-own-token", &host), 200);
    assert_eq!(get("/news", &format!("{host}{cookie}")), 200);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://{name}\r\n")), 200);
    // A page of another site whose name was made to stand for this machine.
    assert_eq!(get("/", &host), 403);
    assert_eq!(get("/?token=my-own-tokem", &host), 403);
    assert_eq!(get("/news", &format!("{host}Cookie: kcf-track-{port}=another-token\r\n")), 403);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://evil.example\r\n")), 403);
    assert_eq!(get("/news", &format!("{host}{cookie}Origin: http://the-machine.lan:1\r\n")), 403);
    let json = "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"do\":\"play\"}";
    assert_eq!(ask("POST", "/command", &format!("{host}{json}")), 403);
    // No name at all, or two.
    assert_eq!(get("/news", &cookie), 421);
    assert_eq!(get("/news", &format!("{host}{host}{cookie}")), 421);
    // At one address its own name is demanded of those, too, who know the token.
    let served = serve(&place, "--token my-own-token");
    let ask = "GET /?token=my-own-token HTTP/1.1\r\nHost: the-machine.lan\r\nConnection: close\r\n\r\n";
    assert_eq!(served.send(ask.as_bytes()).status, 421);
}

#[test]
fn a_host_may_have_the_brackets_of_an_address() {
    let place = place(1);
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let served = serve(&place, "--host [::1]");
        let ask = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.host);
        assert!(served.host.starts_with("[::1]:"), "{}", served.host);
        assert_eq!(served.send(ask.as_bytes()).status, 200);
    }
    // A port has a flag of its own.
    let refused = run(["view", "--host", "127.0.0.1:9000"]).arg(place.seq()).assert();
    refused.code(1).stderr(predicates::str::contains("127.0.0.1:9000:8787: "));
}
