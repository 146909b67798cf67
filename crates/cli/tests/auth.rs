//! Signing in and taking it back, with the real listener on its registered ports and a browser played by an HTTP client.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::process::Output;

use drawbridge_practice::{ConsentMode, Refusal, Switches};
use drawbridge_testkit::turn::ports_turn;
use rig::{Rig, said, within};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// A running `auth` that has printed its page.
struct Auth {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    page: String,
}

impl Auth {
    async fn start(rig: &Rig) -> Self {
        let mut child = rig.command(&["auth", "--no-browser"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let page = within(lines.next_line()).await.unwrap().unwrap();
        Self { child, lines, page }
    }

    /// The address where the browser comes back.
    fn callback(&self) -> String {
        let at = self.page.find("redirect_uri=").unwrap() + "redirect_uri=".len();
        let value = self.page[at..].split('&').next().unwrap();
        value.replace("%3A", ":").replace("%2F", "/")
    }

    async fn end(mut self) -> Output {
        assert_eq!(within(self.lines.next_line()).await.unwrap(), None, "one line and nothing else");
        within(self.child.wait_with_output()).await.unwrap()
    }
}

async fn visit(address: &str) -> u16 {
    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
    within(browser.get(address).send()).await.unwrap().status().as_u16()
}

async fn sign_in(rig: &Rig) -> Output {
    let auth = Auth::start(rig).await;
    assert_eq!(visit(&auth.page).await, 200);
    auth.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_keeps_tokens_for_start_and_may_run_again() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::new().await;

    let output = sign_in(&rig).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let first = rig.tokens().unwrap();
    rig.assert_nothing_in_clear(&[], &output.stderr);

    let output = sign_in(&rig).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_ne!(rig.tokens().unwrap().access.expose_secret(), first.access.expose_secret());
    assert_eq!(rig.start(&[]).await.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn strays_change_nothing_and_the_right_visit_counts_once() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::new().await;
    let auth = Auth::start(&rig).await;
    let back = auth.callback();

    assert_eq!(visit(&back.replace("/callback", "/favicon.ico")).await, 404);
    assert_eq!(visit(&format!("{back}?state=bad&code=x")).await, 400);
    assert_eq!(visit(&format!("{back}?error=access_denied&state=bad")).await, 400);
    assert!(rig.tokens().is_none());
    assert_eq!(visit(&auth.page).await, 200);

    let output = auth.end().await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(rig.tokens().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_or_a_refused_exchange_ends_with_1_and_keeps_what_was_there() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::new().await;
    rig.script.consent(ConsentMode::Deny);
    let output = sign_in_anyhow(&rig).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("nothing was stored"), "{}", said(&output));
    assert!(rig.tokens().is_none());

    rig.script.consent(ConsentMode::Allow);
    rig.script.switches(Switches {
        refuse_token: Some(Refusal { status: 400, times: 9, retry_after: None }),
        ..Switches::default()
    });
    let output = sign_in_anyhow(&rig).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(rig.tokens().is_none());
}

/// As [`sign_in`], whatever the browser shows at the end.
async fn sign_in_anyhow(rig: &Rig) -> Output {
    let auth = Auth::start(rig).await;
    visit(&auth.page).await;
    auth.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_free_port_auth_ends_with_1() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::new().await;
    let taken: Vec<_> =
        (41_899..=41_910).filter_map(|port| std::net::TcpListener::bind(("127.0.0.1", port)).ok()).collect();

    let output = rig.run(&["auth", "--no-browser"]).await;

    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("41899") && said(&output).contains("nothing was stored"), "{}", said(&output));
    assert!(output.stdout.is_empty() && rig.tokens().is_none());
    drop(taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_auth_frees_its_port_and_ends_with_1() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::new().await;
    let auth = Auth::start(&rig).await;
    let id = auth.child.id().unwrap().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();

    let output = auth.end().await;

    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(std::net::TcpListener::bind("127.0.0.1:41899").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_engine_signs_in_and_out_itself() {
    let _turn = ports_turn().await.unwrap();
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let before = rig.tokens().unwrap();

    let output = sign_in(&rig).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_ne!(rig.tokens().unwrap().access.expose_secret(), before.access.expose_secret());

    rig.script.consent(ConsentMode::Deny);
    let output = sign_in_anyhow(&rig).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(rig.tokens().is_some(), "a denied attempt takes nothing away");

    rig.expect(0, &["revoke"]).await;
    assert!(rig.tokens().is_none());
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn revoke_takes_back_both_tokens_or_keeps_both() {
    let rig = Rig::signed_in().await;
    let tokens = rig.tokens().unwrap();
    let offline = rig.command(&["revoke"]).env("DRAWBRIDGE_PLATFORM_URL", "http://127.0.0.1:1").output().await.unwrap();
    assert_eq!(offline.status.code(), Some(1));
    assert!(said(&offline).contains("kept"), "{}", said(&offline));
    assert_eq!(rig.tokens().unwrap().access.expose_secret(), tokens.access.expose_secret());

    rig.expect(0, &["revoke"]).await;
    assert!(rig.tokens().is_none());
    rig.expect(1, &["revoke"]).await;
    rig.expect(77, &["start", "--headless"]).await;

    rig.seed(&tokens);
    let output = rig.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(77), "revoked tokens are worth nothing: {}", said(&output));
}
