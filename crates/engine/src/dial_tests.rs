//! Dials and requests against real sockets: a server that encrypts, a proxy that demands a password and misbehaves.

use std::path::{Path, PathBuf};

use drawbridge_testkit::proxy::{Manner, Proxy};
use drawbridge_testkit::tls::TlsFront;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::net::NetSettings;

const PLATFORM: &str = "wss://platform.test/ws/local-executor";

fn bearer() -> SecretString {
    SecretString::from("the-bearer")
}

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// Answers each request with this text, under a certificate. The certificate's host is known to the proxy alone.
async fn company(certificate: &str, answer: &'static str) -> (TlsFront, Proxy) {
    let plain = plain_platform(answer).await;
    let front = TlsFront::bind().await.unwrap().lead_to(plain, &pem(certificate), &pem("platform.key")).unwrap();
    let proxy = Proxy::start(Some(("user", "se&cret")), &[("platform.test", front.port())]).await.unwrap();
    (front, proxy)
}

/// A network with this proxy, as an address, and the test root or not.
fn net(proxy: &str, root: bool) -> NetConfig {
    let settings = NetSettings {
        proxy: Some(proxy.to_owned()),
        no_proxy: Some(String::new()),
        extra_roots: root.then(|| pem("root.pem")),
    };
    NetConfig::with_environment(&settings, |_| None).unwrap()
}

fn through(proxy: &Proxy) -> NetConfig {
    net(&format!("http://user:se&cret@127.0.0.1:{}", proxy.port()), true)
}

async fn refused(net: &NetConfig) -> DialError {
    dial(PLATFORM, &bearer(), net).await.unwrap_err()
}

const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Answers every request with the given text.
async fn plain_platform(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn the_bearer_reaches_the_platform_through_a_proxy_that_never_sees_it() {
    let (_front, proxy) = company("platform.pem", UNAUTHORIZED).await;

    let err = refused(&through(&proxy)).await;

    assert_eq!(err.upgrade_status(), Some(401), "{err}");
    assert!(proxy.saw("CONNECT platform.test:443 HTTP/1.1\r\n"));
    // "user:se&cret"
    assert!(proxy.saw("Proxy-Authorization: Basic dXNlcjpzZSZjcmV0\r\n"));
    assert!(!proxy.saw("the-bearer") && !proxy.saw("Bearer") && !proxy.saw("local-executor"));
}

#[tokio::test]
async fn a_proxy_that_wants_a_password_says_so_and_ours_is_never_shown() {
    let (_front, proxy) = company("platform.pem", UNAUTHORIZED).await;
    let port = proxy.port();

    let missing = refused(&net(&format!("127.0.0.1:{port}"), true)).await;
    let wrong = refused(&net(&format!("http://user:hunter2@127.0.0.1:{port}"), true)).await;

    for err in [&missing, &wrong] {
        assert_eq!((err.step, err.status, err.upgrade_status()), (DialStep::Proxy, Some(407), None));
        assert!(err.message.starts_with(&format!("the proxy 127.0.0.1:{port}: proxy refused (407): it ")), "{err}");
        assert!(!format!("{err} {err:?}").contains("hunter2"), "{err:?}");
    }
    assert!(missing.message.ends_with("it wants a user name and password"), "{missing}");
    assert_eq!(
        missing.remedy.unwrap(),
        "put them into url under [proxy] in config.toml (http://USER:PASSWORD@HOST:PORT), then start Drawbridge again"
    );
    assert!(wrong.message.ends_with("it does not accept the user name and password"), "{wrong}");
    assert_eq!(wrong.remedy.unwrap(), "correct them in url under [proxy] in config.toml, then start Drawbridge again");
}

#[tokio::test]
async fn each_way_of_a_proxy_to_refuse_has_its_words() {
    let (_front, proxy) = company("platform.pem", UNAUTHORIZED).await;
    let net = through(&proxy);
    for (answer, status, words) in [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", Some(403), "it does not allow a connection to platform.test:443"),
        ("HTTP/1.0 503 Busy\r\n\r\n", Some(503), "it cannot reach platform.test:443 itself"),
        ("HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\n\r\n", Some(302), "it wants to lead elsewhere"),
        ("HTTP/1.1 400 Bad\r\n\r\n", Some(400), "it opens no way to platform.test:443"),
        (
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM\r\n\r\n",
            Some(407),
            "a kind of sign-in that Drawbridge does not know (negotiate, ntlm)",
        ),
        ("HTTP/1.1 2000 What\r\n\r\n", None, "its answer is not HTTP"),
        ("HTTP/1.1 \r\n\r\n", None, "its answer is not HTTP"),
        ("HTTP/1.1 200 OK\r\nVia: ", None, "it closed the connection in the middle of its answer"),
        ("", None, "it closed the connection without an answer"),
    ] {
        proxy.behave(Manner::Say(answer.as_bytes().to_vec()));

        let err = refused(&net).await;

        assert_eq!((err.step, err.status), (DialStep::Proxy, status), "{err}");
        assert!(err.message.contains(words) && err.remedy.is_some(), "{err}");
    }
}

#[tokio::test]
async fn what_is_no_proxy_at_all_is_left_alone() {
    let (_front, proxy) = company("platform.pem", UNAUTHORIZED).await;
    let net = through(&proxy);
    for manner in [
        // It waits for us for ever after its greeting.
        Manner::Greet(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        Manner::Say(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00".to_vec()),
        Manner::Say([b"HTTP/1.1 200 OK\r\n".to_vec(), vec![b'x'; 20_000]].concat()),
        Manner::Close,
    ] {
        proxy.behave(manner);

        let err = refused(&net).await;

        assert_eq!((err.step, err.status), (DialStep::Proxy, None), "{err}");
        assert_eq!(
            err.remedy.unwrap(),
            "check the proxy in url under [proxy] in config.toml; after a change, start Drawbridge again"
        );
    }
    // Bytes of its own in the tunnel are no business of the platform: nothing is trusted.
    proxy.behave(Manner::Prepend(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec()));
    let err = refused(&net).await;
    assert_eq!(err.step, DialStep::Tls, "{err}");
    assert!(!proxy.saw("the-bearer"));
}

#[tokio::test]
async fn a_proxy_that_never_answers_is_given_up() {
    let (_front, proxy) = company("platform.pem", UNAUTHORIZED).await;
    proxy.behave(Manner::Silent);
    let net = through(&proxy);
    let target = Target::parse(PLATFORM).unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();

    let opened = tunnel::open(tcp, target.proxy(&net).unwrap(), &target, Duration::from_millis(300)).await;

    let err = opened.unwrap_err();
    assert_eq!(err.step, DialStep::Proxy);
    assert!(err.message.ends_with("it did not answer within 1 s"), "{err}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_a_matter_of_the_proxy() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // A label of 64 letters is no name, so no network is asked.
    let nowhere = format!("{}.test", "a".repeat(64));

    let away = refused(&net(&format!("http://user:hunter2@{closed}"), true)).await;
    let unknown = refused(&net(&format!("http://user:hunter2@{nowhere}:3128"), true)).await;

    assert_eq!((away.step, unknown.step), (DialStep::Proxy, DialStep::Proxy));
    assert!(away.message.starts_with(&format!("the proxy {closed} cannot be reached (TCP): nobody listens")), "{away}");
    assert!(
        unknown.message.starts_with(&format!("the host of the proxy, {nowhere}, was not found (DNS)")),
        "{unknown}"
    );
    assert!(!format!("{away:?} {unknown:?}").contains("hunter2"));
}

#[tokio::test]
async fn each_fault_of_a_certificate_has_its_words() {
    for (certificate, root, words, remedy) in [
        ("platform.pem", false, "unknown issuer \"Drawbridge test root\"", "extra_roots under [tls]"),
        ("own.pem", true, "unknown issuer: it is signed by itself (\"appliance.test\")", "extra_roots under [tls]"),
        ("expired.pem", true, "its certificate ended on 2021-01-01", "this computer's clock, which says 20"),
        ("future.pem", true, "its certificate holds only from 2090-01-01 on", "check this computer's clock"),
        ("other.pem", true, "its certificate is for another host (other.example)", "sign-in page"),
    ] {
        let (_front, proxy) = company(certificate, UNAUTHORIZED).await;
        let net = net(&format!("http://user:se&cret@127.0.0.1:{}", proxy.port()), root);

        let err = refused(&net).await;
        let request = http::post(&net, "https://platform.test/api/oauth/token", &[], b"code=the-code".to_vec()).await;

        assert_eq!(err.step, DialStep::Tls, "{certificate}: {err}");
        assert!(err.message.starts_with("no secure connection (TLS) to platform.test: "), "{err}");
        assert!(err.message.contains(words), "{err}");
        assert!(err.remedy.as_ref().unwrap().contains(remedy), "{err}");
        // The sign-in meets the same fault in the same words; only the minute may have passed.
        assert_eq!(request.err().map(|err| (err.step, err.message)), Some((err.step, err.message)));
        assert!(!proxy.saw("the-bearer") && !proxy.saw("the-code"));
    }
}

#[tokio::test]
async fn a_port_that_speaks_no_tls_says_so() {
    let plain = Proxy::start(None, &[]).await.unwrap();
    plain.behave(Manner::Greet(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));

    let url = format!("wss://localhost:{}/ws", plain.port());
    let err = dial(&url, &bearer(), &net("none", true)).await.unwrap_err();

    assert_eq!(err.step, DialStep::Tls);
    assert!(err.message.ends_with("the other side does not speak TLS at this port"), "{err}");
}

#[tokio::test]
async fn a_request_brings_the_answer_through_the_proxy_in_secret() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
                  5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n";
    let (_front, proxy) = company("platform.pem", answer).await;

    let net = through(&proxy);
    let got =
        http::post(&net, "https://platform.test/token", &[("Accept", "*/*")], b"the-code".to_vec()).await.unwrap();

    assert_eq!((got.status, got.body), (200, b"{\"a\":1}".to_vec()));
    assert!(!proxy.saw("the-code") && !proxy.saw("/token"));
}

#[tokio::test]
async fn an_answer_that_is_none_fails_at_the_http_step() {
    let long: &'static str = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(300 * 1024)).leak();
    for (answer, words) in [
        ("", "connection closed before message completed"),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "invalid HTTP version parsed"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "end of file before message length reached"),
        (long, "the answer is too long"),
    ] {
        let port = plain_platform(answer).await;

        let got = http::post(&NetConfig::direct(), &format!("http://127.0.0.1:{port}/token"), &[], Vec::new()).await;

        let err = got.err().unwrap();
        assert_eq!(err.step, DialStep::Http, "{err}");
        assert!(err.message.starts_with("the platform gave no usable answer (HTTP): "), "{err}");
        assert!(err.message.contains(words), "{err}");
    }
}

#[tokio::test]
async fn the_request_names_its_host_and_follows_nothing() {
    let port = plain_platform("HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n").await;

    let got = http::post(&NetConfig::direct(), &format!("http://localhost:{port}/token"), &[], Vec::new()).await;

    assert_eq!(got.unwrap().status, 307);
}

#[tokio::test]
async fn the_platforms_answer_to_the_upgrade_is_kept_with_its_wish_to_wait() {
    let refused = plain_platform("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").await;
    let busy = plain_platform("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n").await;
    let long = plain_platform("HTTP/1.1 429 Slow\r\nRetry-After: 90000\r\nContent-Length: 0\r\n\r\n").await;
    let direct = NetConfig::direct();
    let mut ends = Vec::new();
    for port in [refused, busy, long] {
        let err = dial(&format!("ws://127.0.0.1:{port}/ws"), &bearer(), &direct).await.unwrap_err();
        ends.push((err.step, err.upgrade_status(), err.retry_after.map(|wait| wait.as_secs())));
    }

    assert_eq!(
        ends,
        [
            (DialStep::Upgrade, Some(401), None),
            (DialStep::Upgrade, Some(503), Some(7)),
            (DialStep::Upgrade, Some(429), Some(300)),
        ]
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let port = plain_platform("HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n").await;

    let err = dial(&format!("ws://127.0.0.1:{port}/ws"), &bearer(), &NetConfig::direct()).await.unwrap_err();

    assert_eq!((err.step, err.status), (DialStep::Upgrade, Some(302)));
}

#[tokio::test]
async fn earlier_steps_name_themselves() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let direct = NetConfig::direct();
    let step = async |url: &str| dial(url, &bearer(), &direct).await.unwrap_err().step;

    assert_eq!(step(&format!("ws://{closed}/ws")).await, DialStep::Tcp);
    assert_eq!(step("ws://platform.example/ws").await, DialStep::Address);
    assert_eq!(step("https://127.0.0.1/ws").await, DialStep::Address);
    assert_eq!(step("nonsense").await, DialStep::Address);
}
