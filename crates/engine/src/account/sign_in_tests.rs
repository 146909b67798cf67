//! The listener on its real ports. The ports are shared by the whole machine, so these tests take turns by a lock file.

use std::io;
use std::sync::Arc;

use drawbridge_testkit::turn::ports_turn;
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::super::tests::{MemoryVault, Platform, account};
use super::*;
use crate::account::listener::PORTS;
use crate::view::AccountState;

const FIRST: &str = r#"{"token_type":"Bearer","access_token":"a1","refresh_token":"r1","expires_in":3600}"#;

struct Started {
    account: Account,
    vault: Arc<MemoryVault>,
    platform: Platform,
    port: u16,
    state: String,
    challenge: String,
    end: tokio::task::JoinHandle<Result<(), AccountError>>,
    _turn: std::fs::File,
}

async fn start(answers: &[(u16, &str)]) -> Started {
    let turn = ports_turn().await.unwrap();
    let platform = Platform::answering(answers).await;
    let vault = Arc::new(MemoryVault::default());
    let account = account(&platform.url, &vault).await;
    let sign_in = account.sign_in().await.unwrap();
    let url = oauth2::url::Url::parse(sign_in.authorize_url()).unwrap();
    let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let redirect = value("redirect_uri");
    let port = redirect.trim_start_matches("http://localhost:").trim_end_matches("/callback").parse().unwrap();
    assert_eq!(
        (value("response_type"), value("client_id"), value("scope"), value("code_challenge_method")),
        ("code".into(), "autogpt-local-executor".into(), "USE_TOOLS".into(), "S256".into())
    );
    let (state, challenge) = (value("state"), value("code_challenge"));
    let end = tokio::spawn(sign_in.finish());
    Started { account, vault, platform, port, state, challenge, end, _turn: turn }
}

async fn visit(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("{request}\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn strays_change_nothing_and_the_right_visit_twice_exchanges_once() {
    let started = start(&[(200, FIRST)]).await;
    let port = started.port;
    let right = format!("GET /callback?code=the%2Fcode&state={} HTTP/1.1", started.state);

    assert_eq!(status(&visit(port, "GET /favicon.ico HTTP/1.1").await), "404");
    assert_eq!(status(&visit(port, "GET /callback?state=bad&code=x HTTP/1.1").await), "400");
    assert_eq!(status(&visit(port, "GET /callback?error=access_denied&state=bad HTTP/1.1").await), "400");
    assert_eq!(status(&visit(port, &right.replace("GET", "POST")).await), "405");
    assert_eq!(status(&visit(port, &format!("GET /{} HTTP/1.1", "x".repeat(9000))).await), "414");
    assert_eq!(started.account.view().state, AccountState::SigningIn);
    let (first, second) = tokio::join!(visit(port, &right), visit(port, &right));
    let third = visit(port, &right).await;

    for page in [&first, &second, &third] {
        assert_eq!(status(page), "200");
        assert!(page.contains("You are signed in"));
        assert!(page.contains("Cache-Control: no-store\r\n") && page.contains("Referrer-Policy: no-referrer\r\n"));
        assert!(!page.contains("the%2Fcode") && !page.contains("the/code") && !page.contains(&started.state));
    }
    started.end.await.unwrap().unwrap();
    let asked = started.platform.asked();
    assert_eq!(asked.len(), 1);
    let form: std::collections::BTreeMap<String, String> =
        oauth2::url::form_urlencoded::parse(asked[0].body.as_bytes()).into_owned().collect();
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code"], "the/code");
    assert_eq!(form["client_id"], "autogpt-local-executor");
    assert_eq!(form["redirect_uri"], format!("http://localhost:{port}/callback"));
    let verifier = oauth2::PkceCodeVerifier::new(form["code_verifier"].clone());
    assert_eq!(form["code_verifier"].len(), 86);
    assert_eq!(PkceCodeChallenge::from_code_verifier_sha256(&verifier).as_str(), started.challenge);
    assert_eq!(started.account.view().state, AccountState::SignedIn);
    assert_eq!(started.vault.tokens.lock().unwrap().as_ref().unwrap().refresh.expose_secret(), "r1");
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a check that is skipped says so")]
async fn a_browser_that_prefers_ipv6_gets_through() {
    let started = start(&[(200, FIRST)]).await;
    let Ok(mut stream) = TcpStream::connect(("::1", started.port)).await else {
        println!("skipped: this machine has no IPv6 loopback");
        return;
    };

    let request = format!("GET /callback?code=c&state={} HTTP/1.1\r\n\r\n", started.state);
    stream.write_all(request.as_bytes()).await.unwrap();

    started.end.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_port_that_somebody_else_has_on_either_family_is_passed_over() {
    let turn = ports_turn().await.unwrap();
    let first = *PORTS.start();
    let taken_v4 = TcpListener::bind(("127.0.0.1", first)).await.unwrap();
    let taken_v6 = TcpListener::bind(("::1", first + 1)).await;

    let listener = Listener::bind().await.unwrap();

    let expected = if taken_v6.is_ok() { first + 2 } else { first + 1 };
    assert_eq!(listener.port(), expected);
    drop((taken_v4, taken_v6, turn));
}

#[tokio::test]
async fn ports_of_which_somebody_has_one_family_each_are_all_taken() {
    let turn = ports_turn().await.unwrap();
    if TcpListener::bind(("::1", *PORTS.start())).await.is_err() {
        // Without IPv6 there is one family to take.
        return;
    }
    let account = account("http://127.0.0.1:9", &Arc::default()).await;
    for only in [&["::1"][..], &["127.0.0.1", "::1"][..]] {
        let mut taken = Vec::new();
        for (at, port) in PORTS.enumerate() {
            taken.push(TcpListener::bind((only[at % only.len()], port)).await.unwrap());
        }

        assert_eq!(account.sign_in().await.unwrap_err(), AccountError::PortsTaken, "{only:?}");

        // One of them free again is enough.
        drop(taken.pop());
        let attempt = account.sign_in().await.unwrap();
        assert!(attempt.authorize_url().contains(&PORTS.end().to_string()));
    }
    drop(turn);
}

#[tokio::test]
async fn without_a_free_port_the_sign_in_says_so() {
    let turn = ports_turn().await.unwrap();
    let mut taken = Vec::new();
    for port in PORTS {
        taken.push(TcpListener::bind(("127.0.0.1", port)).await.unwrap());
    }
    let account = account("http://127.0.0.1:9", &Arc::default()).await;

    let refused = account.sign_in().await.unwrap_err();

    assert_eq!(refused, AccountError::PortsTaken);
    assert_eq!(account.view().state, AccountState::SignedOut);
    drop((taken, turn));
}

#[tokio::test]
async fn the_persons_no_ends_the_attempt_and_old_tokens_stay() {
    let started = start(&[]).await;
    *started.vault.tokens.lock().unwrap() = Some(super::super::tests::tokens("a0", "r0"));
    started.account.reload().await.unwrap();

    let page =
        visit(started.port, &format!("GET /callback?error=access_denied&state={} HTTP/1.1", started.state)).await;

    assert!(page.contains("Not signed in"));
    assert_eq!(started.end.await.unwrap(), Err(AccountError::Denied { error: "access_denied".to_owned() }));
    assert!(started.platform.asked().is_empty());
    assert_eq!(started.account.view().state, AccountState::SignedIn);
    assert_eq!(started.account.bearer().unwrap().token.expose_secret(), "a0");
}

#[tokio::test]
async fn a_refused_exchange_tells_browser_and_person_and_stores_nothing() {
    let started = start(&[(400, r#"{"error":"invalid_grant"}"#)]).await;

    let page = visit(started.port, &format!("GET /callback?code=c&state={} HTTP/1.1", started.state)).await;

    assert!(page.contains("Not signed in"));
    assert_eq!(started.end.await.unwrap(), Err(AccountError::Refused { status: 400 }));
    assert!(started.vault.tokens.lock().unwrap().is_none());
    assert!(started.account.view().problem.unwrap().contains("refused"));
}

#[tokio::test]
async fn guessing_states_ends_the_attempt_after_twenty() {
    let started = start(&[]).await;

    for _ in 0..20 {
        assert_eq!(status(&visit(started.port, "GET /callback?code=c&state=guess HTTP/1.1").await), "400");
    }

    assert_eq!(started.end.await.unwrap(), Err(AccountError::TooManyStrays));
}

#[tokio::test]
async fn a_pasted_address_is_judged_like_a_visit() {
    let started = start(&[(200, FIRST)]).await;
    let address = |port: u16, state: &str| format!("http://localhost:{port}/callback?code=pasted&state={state}");
    let (account, port) = (&started.account, started.port);

    let wrong_state = account.paste_redirect(&address(port, "bad")).await;
    let other_port = account.paste_redirect(&address(port + 20, &started.state)).await;
    let elsewhere = account.paste_redirect("https://evil.example/callback?code=c&state=s").await;
    account.paste_redirect(&address(port, &started.state)).await.unwrap();

    assert_eq!(wrong_state, Err(PasteFault::WrongState));
    assert_eq!((other_port, elsewhere), (Err(PasteFault::OtherAddress), Err(PasteFault::OtherAddress)));
    started.end.await.unwrap().unwrap();
    assert!(started.platform.asked()[0].body.contains("code=pasted"));
    assert_eq!(started.account.paste_redirect("x").await, Err(PasteFault::Over));
}

#[tokio::test]
async fn cancel_frees_the_port() {
    let started = start(&[]).await;

    started.account.cancel_sign_in();

    assert_eq!(started.end.await.unwrap(), Err(AccountError::Cancelled));
    assert_eq!(
        TcpStream::connect(("127.0.0.1", started.port)).await.unwrap_err().kind(),
        io::ErrorKind::ConnectionRefused
    );
    assert_eq!(started.account.view().state, AccountState::SignedOut);
}

#[tokio::test]
async fn a_second_attempt_takes_over_from_the_first() {
    let started = start(&[(200, FIRST)]).await;

    let second = started.account.sign_in().await.unwrap();
    let url = second.authorize_url().to_owned();
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    assert_eq!(started.end.await.unwrap(), Err(AccountError::Cancelled));
    let port: u16 = url.split("localhost%3A").nth(1).unwrap()[..5].parse().unwrap();
    let end = tokio::spawn(second.finish());
    visit(port, &format!("GET /callback?code=c&state={state} HTTP/1.1")).await;

    end.await.unwrap().unwrap();
    assert_eq!(started.account.view().state, AccountState::SignedIn);
}

#[tokio::test]
async fn cancel_frees_the_port_at_once_also_while_a_browser_holds_a_connection() {
    let started = start(&[]).await;
    let mut view = started.account.subscribe();
    let browser = TcpStream::connect(("127.0.0.1", started.port)).await.unwrap();

    started.account.cancel_sign_in();

    let told = view.wait_for(|view| view.state == AccountState::SignedOut).await.unwrap().clone();
    assert_eq!(told.problem_code.as_deref(), Some("cancelled"));
    TcpListener::bind(("127.0.0.1", started.port)).await.unwrap();
    drop(browser);
    assert_eq!(started.end.await.unwrap(), Err(AccountError::Cancelled));
}

#[tokio::test]
async fn connections_that_are_held_open_do_not_keep_the_browser_out() {
    let started = start(&[(200, FIRST)]).await;
    let mut held = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", started.port)).await.unwrap();
        // Some say nothing, some half of it.
        if number % 2 == 0 {
            stream.write_all(b"GET /callback?code=x HTTP/1.1\r\n").await.unwrap();
        }
        held.push(stream);
    }
    let right = format!("GET /callback?code=c&state={} HTTP/1.1", started.state);

    let page = tokio::time::timeout(Duration::from_secs(5), visit(started.port, &right)).await.unwrap();

    assert!(status(&page) == "200" && page.contains("You are signed in"), "{page}");
    started.end.await.unwrap().unwrap();
    drop(held);
}
