//! Refresh, revoke and what survives, against a small HTTP server on loopback.

use std::collections::VecDeque;
use std::time::Duration;

use drawbridge_core::{ManualClock, WallMs};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

pub(super) const START: WallMs = WallMs(1_800_000_000_000);

/// Tokens in memory, shared by several accounts as the secret store is by several processes.
#[derive(Debug, Default)]
pub(super) struct MemoryVault {
    pub(super) tokens: Mutex<Option<Tokens>>,
    turn: Arc<Mutex<bool>>,
    broken: std::sync::atomic::AtomicBool,
    renewing: std::sync::atomic::AtomicBool,
}

struct Turn(Arc<Mutex<bool>>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = false;
    }
}

impl TokenVault for MemoryVault {
    fn load(&self) -> Result<Option<Tokens>, VaultFault> {
        Ok(self.tokens.lock().unwrap().clone())
    }

    fn save(&self, tokens: &Tokens) -> Result<(), VaultFault> {
        if self.broken.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(VaultFault("the disk is full".to_owned()));
        }
        *self.tokens.lock().unwrap() = Some(tokens.clone());
        Ok(())
    }

    fn clear(&self) -> Result<(), VaultFault> {
        *self.tokens.lock().unwrap() = None;
        Ok(())
    }

    fn turn(&self) -> Result<Box<dyn Send>, VaultFault> {
        loop {
            let mut taken = self.turn.lock().unwrap();
            if !*taken {
                *taken = true;
                return Ok(Box::new(Turn(self.turn.clone())));
            }
            drop(taken);
            std::thread::yield_now();
        }
    }

    fn note_renewal(&self, under_way: bool) -> bool {
        self.renewing.swap(under_way, std::sync::atomic::Ordering::SeqCst)
    }
}

/// A platform that answers from a list and remembers what it was asked.
pub(super) struct Platform {
    pub(super) url: String,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) body: String,
}

impl Platform {
    pub(super) async fn answering(answers: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut answers: VecDeque<(u16, String)> = answers.iter().map(|(s, b)| (*s, (*b).to_owned())).collect();
        let log = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers.pop_front().unwrap_or((500, String::new()));
                tokio::spawn(answer_one(stream, answer, log.clone()));
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The moment at which these tests begin, as an HTTP server writes it.
const DATE: &str = "Fri, 15 Jan 2027 08:00:00 GMT";

async fn answer_one(mut stream: TcpStream, (status, body): (u16, String), log: Arc<Mutex<Vec<Asked>>>) {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        bytes.push(stream.read_u8().await.unwrap());
        if bytes.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8(bytes.clone()).unwrap();
            let length = header(&head, "content-length").parse::<usize>().unwrap_or(0);
            break (head, length);
        }
    };
    let mut content = vec![0; length];
    stream.read_exact(&mut content).await.unwrap();
    log.lock().unwrap().push(Asked {
        path: head.split(' ').nth(1).unwrap().to_owned(),
        content_type: header(&head, "content-type"),
        body: String::from_utf8(content).unwrap(),
    });
    let answer = format!(
        "HTTP/1.1 {status} X\r\nDate: {DATE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

fn header(head: &str, name: &str) -> String {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
    line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

pub(super) fn tokens(access: &str, refresh: &str) -> Tokens {
    Tokens {
        access: SecretString::from(access),
        refresh: SecretString::from(refresh),
        expires_at: Some(START.plus(Duration::from_secs(3600))),
        refresh_expires_at: None,
        obtained_at: Some(START),
        origin: None,
    }
}

pub(super) async fn account(url: &str, vault: &Arc<MemoryVault>) -> Account {
    let options = AccountOptions {
        id: "default".to_owned(),
        platform: PlatformUrl::parse(url).unwrap(),
        client_id: "autogpt-local-executor".to_owned(),
        net: NetConfig::direct(),
        vault: vault.clone(),
        clock: Arc::new(ManualClock::starting_at(START)),
    };
    Account::open(options).await.unwrap()
}

async fn signed_in(url: &str) -> (Account, Arc<MemoryVault>) {
    let vault = Arc::new(MemoryVault::default());
    *vault.tokens.lock().unwrap() = Some(tokens("a1", "r1"));
    (account(url, &vault).await, vault)
}

fn stored(vault: &MemoryVault) -> Option<(String, String)> {
    let tokens = vault.tokens.lock().unwrap().clone()?;
    Some((tokens.access.expose_secret().to_owned(), tokens.refresh.expose_secret().to_owned()))
}

fn pair(access: &str, refresh: &str) -> Option<(String, String)> {
    Some((access.to_owned(), refresh.to_owned()))
}

const SECOND: &str = r#"{"token_type":"Bearer","access_token":"a2","refresh_token":"r2","expires_in":3600}"#;

#[tokio::test]
async fn many_links_that_are_refused_at_once_refresh_once() {
    let platform = Platform::answering(&[(200, SECOND)]).await;
    let (account, vault) = signed_in(&platform.url).await;
    let refused = account.bearer().unwrap().token;

    let (one, two, three) =
        tokio::join!(account.refresh_if(&refused), account.refresh_if(&refused), account.refresh_if(&refused));

    let got: Vec<_> = [one, two, three].map(|got| got.unwrap()).into_iter().collect();
    assert!(got.iter().all(|renewal| renewal.bearer.token.expose_secret() == "a2"));
    assert_eq!(got.iter().filter(|renewal| renewal.renewed).count(), 1);
    assert_eq!(platform.asked().len(), 1);
    assert_eq!(platform.asked()[0].path, "/api/oauth/token");
    assert_eq!(platform.asked()[0].body, "grant_type=refresh_token&refresh_token=r1&client_id=autogpt-local-executor");
    assert_eq!(stored(&vault), pair("a2", "r2"));
}

#[tokio::test]
async fn two_processes_of_one_account_refresh_once() {
    let platform = Platform::answering(&[(200, SECOND)]).await;
    let (first, vault) = signed_in(&platform.url).await;
    let second = account(&platform.url, &vault).await;
    let refused = first.bearer().unwrap().token;

    let (one, two) = tokio::join!(first.refresh_if(&refused), second.refresh_if(&refused));

    assert_eq!(one.unwrap().bearer.token.expose_secret(), "a2");
    assert_eq!(two.unwrap().bearer.token.expose_secret(), "a2");
    assert_eq!(platform.asked().len(), 1);
}

#[tokio::test]
async fn a_platform_that_takes_only_json_gets_json() {
    let platform = Platform::answering(&[(422, "{}"), (200, SECOND)]).await;
    let (account, _) = signed_in(&platform.url).await;

    account.refresh_if(&account.bearer().unwrap().token).await.unwrap();

    let asked = platform.asked();
    assert_eq!(asked[1].content_type, "application/json");
    let body: serde_json::Value = serde_json::from_str(&asked[1].body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({
            "grant_type": "refresh_token",
            "refresh_token": "r1",
            "client_id": "autogpt-local-executor",
            "client_secret": "",
        })
    );
}

#[tokio::test]
async fn each_answer_to_a_refresh_has_its_meaning_and_keeps_the_stored_pair() {
    let page = "<!doctype html><title>Back soon</title>";
    for (status, body, code, passing) in [
        (400, "{}", "sign_in_refused", false),
        (400, page, "sign_in_refused", false),
        (401, "{}", "unknown_client", false),
        (403, r#"{"detail":"no"}"#, "sign_in_refused", false),
        (422, "{}", "unusable_answer", false),
        (429, "{}", "platform_unreachable", true),
        (503, "{}", "platform_unreachable", true),
        // Not the platform itself: maintenance, a guard before it, an address that moved for an hour.
        (200, page, "platform_unreachable", true),
        (200, "", "platform_unreachable", true),
        (403, page, "platform_unreachable", true),
        (302, "{}", "platform_unreachable", true),
        (404, "{}", "platform_unreachable", true),
        // The platform itself, and nothing that helps.
        (200, r#"{"access_token":7}"#, "unusable_answer", false),
    ] {
        let platform = Platform::answering(&[(status, body), (status, body)]).await;
        let (account, vault) = signed_in(&platform.url).await;

        let err = account.refresh_if(&account.bearer().unwrap().token).await.unwrap_err();

        assert_eq!((err.code(), err.is_passing()), (code, passing), "{status} {body}");
        assert_eq!(stored(&vault), pair("a1", "r1"), "{status}");
        let expected = if code == "sign_in_refused" { AccountState::Refused } else { AccountState::SignedIn };
        assert_eq!(account.view().state, expected, "{status}");
    }
}

#[tokio::test]
async fn a_platform_that_is_gone_is_a_passing_fault() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (account, vault) = signed_in(&format!("http://{closed}")).await;

    let err = account.refresh_if(&account.bearer().unwrap().token).await.unwrap_err();

    assert!(err.is_passing(), "{err}");
    assert_eq!(stored(&vault), pair("a1", "r1"));
}

#[tokio::test]
async fn a_new_pair_that_cannot_be_stored_is_kept_and_not_asked_for_again() {
    let platform = Platform::answering(&[(200, SECOND)]).await;
    let (account, vault) = signed_in(&platform.url).await;
    let refused = account.bearer().unwrap().token;
    vault.broken.store(true, std::sync::atomic::Ordering::SeqCst);

    let failed = account.refresh_if(&refused).await.unwrap_err();
    assert_eq!(failed.code(), "secret_store");
    assert_eq!(account.bearer().unwrap().token.expose_secret(), "a1");

    vault.broken.store(false, std::sync::atomic::Ordering::SeqCst);
    account.refresh_if(&refused).await.unwrap();

    assert_eq!(stored(&vault), pair("a2", "r2"));
    assert_eq!(platform.asked().len(), 1);
}

#[tokio::test]
async fn a_refresh_goes_on_when_its_caller_goes_away() {
    let platform = Platform::answering(&[(200, SECOND)]).await;
    let (account, vault) = signed_in(&platform.url).await;
    let refused = account.bearer().unwrap().token;

    let polled_once = tokio::time::timeout(Duration::ZERO, account.refresh_if(&refused)).await;
    assert!(polled_once.is_err());
    while stored(&vault) == pair("a1", "r1") {
        tokio::task::yield_now().await;
    }
    account.settle().await;

    assert_eq!(account.bearer().unwrap().token.expose_secret(), "a2");
}

#[tokio::test]
async fn a_refresh_is_due_at_eighty_percent_of_life() {
    let platform = Platform::answering(&[(200, SECOND)]).await;
    let vault = Arc::new(MemoryVault::default());
    *vault.tokens.lock().unwrap() = Some(tokens("a1", "r1"));
    let clock = Arc::new(ManualClock::starting_at(START));
    let options = AccountOptions {
        id: "default".to_owned(),
        platform: PlatformUrl::parse(&platform.url).unwrap(),
        client_id: "c".to_owned(),
        net: NetConfig::direct(),
        vault,
        clock: clock.clone(),
    };
    let account = Account::open(options).await.unwrap();

    assert!(account.refresh_if_due().await.unwrap().is_none());
    clock.advance(Duration::from_secs(2880));
    assert!(account.refresh_if_due().await.unwrap().unwrap().renewed);
    assert!(account.refresh_if_due().await.unwrap().is_none());
}

#[tokio::test]
async fn revoke_names_both_tokens_and_clears_only_after_both() {
    let platform = Platform::answering(&[(200, ""), (500, ""), (204, ""), (200, "{}")]).await;
    let (account, vault) = signed_in(&platform.url).await;

    let failed = account.revoke().await.unwrap_err();
    assert_eq!(failed, AccountError::RevokeRefused { status: 500 });
    assert_eq!(stored(&vault), pair("a1", "r1"));

    account.revoke().await.unwrap();
    assert_eq!(stored(&vault), None);
    assert_eq!(account.view().state, AccountState::SignedOut);
    let bodies: Vec<serde_json::Value> =
        platform.asked()[2..].iter().map(|asked| serde_json::from_str(&asked.body).unwrap()).collect();
    let expected = |token: &str, hint: &str| {
        serde_json::json!({
            "token": token,
            "token_type_hint": hint,
            "client_id": "autogpt-local-executor",
            "client_secret": "",
        })
    };
    assert_eq!(bodies, [expected("a1", "access_token"), expected("r1", "refresh_token")]);
}

#[tokio::test]
async fn nothing_can_be_asked_of_an_account_that_is_signed_out() {
    let platform = Platform::answering(&[]).await;
    let account = account(&platform.url, &Arc::default()).await;

    assert_eq!(account.bearer().unwrap_err(), AccountError::SignedOut);
    assert_eq!(account.refresh_if(&SecretString::from("x")).await.unwrap_err(), AccountError::SignedOut);
    assert_eq!(account.revoke().await.unwrap_err(), AccountError::SignedOut);
    assert!(platform.asked().is_empty());
}

#[tokio::test]
async fn no_token_shows_in_debug_output() {
    let (account, _) = signed_in("http://127.0.0.1:9").await;

    let shown = format!("{account:?} {:?}", account.bearer());

    assert!(!shown.contains("a1") && !shown.contains("r1"), "{shown}");
}
