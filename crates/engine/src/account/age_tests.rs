//! What ends a sign-in and what does not: other platforms, clocks that are wrong, age, and a program that was killed.

use std::time::Duration;

use drawbridge_core::{ManualClock, WallMs};
use secrecy::ExposeSecret as _;

use super::tests::{MemoryVault, Platform, START, tokens};
use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);
const STATED: &str = r#"{"token_type":"Bearer","access_token":"a2","access_token_expires_at":"2027-01-15T09:00:00Z","refresh_token":"r2","refresh_token_expires_at":"2027-02-14T08:00:00Z"}"#;
const STATED_AGAIN: &str = r#"{"token_type":"Bearer","access_token":"a3","access_token_expires_at":"2027-01-15T09:00:00Z","refresh_token":"r3","refresh_token_expires_at":"2027-02-14T08:00:00Z"}"#;
const REFUSED: (u16, &str) = (400, r#"{"error":"invalid_grant"}"#);

struct Desk {
    account: Account,
    vault: Arc<MemoryVault>,
    clock: Arc<ManualClock>,
}

impl Desk {
    /// Opens an account whose vault holds this pair, at this moment of this computer's clock.
    async fn open(url: &str, client_id: &str, stored: Option<Tokens>, wall: WallMs) -> Self {
        let vault = Arc::new(MemoryVault::default());
        *vault.tokens.lock().unwrap() = stored;
        Self::with(url, client_id, vault, wall).await
    }

    async fn with(url: &str, client_id: &str, vault: Arc<MemoryVault>, wall: WallMs) -> Self {
        let clock = Arc::new(ManualClock::starting_at(wall));
        let options = AccountOptions {
            id: "default".to_owned(),
            platform: PlatformUrl::parse(url).unwrap(),
            client_id: client_id.to_owned(),
            net: NetConfig::direct(),
            vault: vault.clone(),
            clock: clock.clone(),
        };
        Self { account: Account::open(options).await.unwrap(), vault, clock }
    }

    fn stored(&self) -> Tokens {
        self.vault.tokens.lock().unwrap().clone().unwrap()
    }

    fn state(&self) -> AccountState {
        self.account.view().state
    }
}

fn from(platform: &str, client_id: &str) -> Option<TokenOrigin> {
    Some(TokenOrigin { platform: platform.to_owned(), client_id: client_id.to_owned() })
}

fn day_before(moment: WallMs) -> WallMs {
    WallMs(moment.0 - 24 * 3600 * 1000)
}

#[tokio::test]
async fn tokens_of_another_platform_or_client_are_never_sent_and_never_lost() {
    let platform = Platform::answering(&[]).await;
    for origin in [from("https://other.example", "c"), from(&platform.url, "other-client")] {
        let stored = Tokens { origin: origin.clone(), ..tokens("a1", "r1") };
        let desk = Desk::open(&platform.url, "c", Some(stored), START).await;

        let fault = desk.account.bearer().unwrap_err();
        assert_eq!(fault.code(), "other_platform");
        let named = origin.unwrap();
        assert!(fault.to_string().contains(if named.client_id == "c" {
            "https://other.example"
        } else {
            "other-client"
        }));
        assert_eq!(desk.account.refresh_if(&SecretString::from("x")).await.unwrap_err(), fault);
        assert!(desk.account.refresh_if_due().await.unwrap().is_none());
        assert_eq!(desk.account.revoke().await.unwrap_err(), fault);

        let view = desk.account.view();
        assert_eq!((view.state, view.problem), (AccountState::SignedOut, Some(fault.to_string())));
        assert!(desk.account.has_tokens());
        assert_eq!(desk.stored().refresh.expose_secret(), "r1");
    }
    assert!(platform.asked().is_empty(), "not one byte went out");
}

#[tokio::test]
async fn both_forms_of_an_address_are_one_platform() {
    let platform = Platform::answering(&[]).await;
    let stored = Tokens { origin: from(&platform.url, "c"), ..tokens("a1", "r1") };

    let desk = Desk::open(&platform.url.replace("http://", "ws://"), "c", Some(stored), START).await;

    assert_eq!(desk.account.bearer().unwrap().token.expose_secret(), "a1");
}

#[tokio::test]
async fn a_pair_of_an_earlier_version_counts_for_the_present_platform_and_is_named_by_the_next_one() {
    let platform = Platform::answering(&[(200, STATED)]).await;
    let desk = Desk::open(&platform.url, "c", Some(tokens("a1", "r1")), START).await;

    desk.account.refresh_if(&desk.account.bearer().unwrap().token).await.unwrap();

    assert_eq!(desk.stored().origin, from(&platform.url, "c"));
    let elsewhere = Desk::with("https://other.example", "c", desk.vault.clone(), START).await;
    assert_eq!(elsewhere.account.bearer().unwrap_err().code(), "other_platform");
}

#[tokio::test]
async fn a_clock_that_is_wrong_by_a_day_renews_once_and_ends_nothing() {
    for wall in [START.plus(DAY), day_before(START)] {
        let platform = Platform::answering(&[(200, STATED), (200, STATED_AGAIN)]).await;
        let old = Tokens { expires_at: None, obtained_at: None, ..tokens("a1", "r1") };
        let desk = Desk::open(&platform.url, "c", Some(old), wall).await;
        desk.account.refresh_if(&desk.account.bearer().unwrap().token).await.unwrap();

        for _ in 0..10 {
            desk.clock.advance(Duration::from_secs(30));
            assert!(desk.account.refresh_if_due().await.unwrap().is_none());
        }
        assert_eq!((platform.asked().len(), desk.state()), (1, AccountState::SignedIn));
        assert!(!desk.account.bearer().unwrap().may_be_stale(desk.clock.wall()));

        desk.clock.advance(Duration::from_secs(2880));
        assert!(desk.account.refresh_if_due().await.unwrap().unwrap().renewed);
        // A restart with the same wrong clock.
        let again = Desk::with(&platform.url, "c", desk.vault.clone(), desk.clock.wall()).await;
        assert!(again.account.refresh_if_due().await.unwrap().is_none());
        assert_eq!((platform.asked().len(), again.state()), (2, AccountState::SignedIn));
    }
}

#[tokio::test]
async fn a_clock_that_is_put_right_costs_one_renewal_at_most() {
    let platform = Platform::answering(&[(200, STATED), (200, STATED_AGAIN)]).await;
    let desk = Desk::open(&platform.url, "c", Some(tokens("a1", "r1")), START.plus(DAY)).await;
    desk.account.refresh_if_due().await.unwrap();
    assert_eq!(platform.asked().len(), 1, "read from the store, it looked a day old");

    desk.clock.set_wall(START);
    assert!(desk.account.refresh_if_due().await.unwrap().is_none());
    assert!(desk.account.bearer().unwrap().may_be_stale(START), "nobody knows the age by this clock");
    desk.clock.advance(Duration::from_secs(2880));
    assert!(desk.account.refresh_if_due().await.unwrap().unwrap().renewed, "the clock that never jumps tells");
    assert!(desk.account.refresh_if_due().await.unwrap().is_none());

    desk.clock.set_wall(START.plus(DAY * 2));
    assert!(desk.account.refresh_if_due().await.is_err(), "a third pair was not to be had");
    assert_eq!(platform.asked().len(), 3);
}

#[tokio::test]
async fn a_sign_in_that_ran_out_says_so_and_is_not_tried_again_and_again() {
    let platform = Platform::answering(&[REFUSED, REFUSED]).await;
    let stored = Tokens { refresh_expires_at: Some(START.plus(DAY * 7)), ..tokens("a1", "r1") };
    let desk = Desk::open(&platform.url, "c", Some(stored), START.plus(DAY * 7 + HOUR)).await;
    assert_eq!(desk.state(), AccountState::SignedIn, "an hour may be the clock's fault");

    let fault = desk.account.refresh_if_due().await.unwrap_err();

    assert_eq!((fault.clone(), desk.state()), (AccountError::RunOut, AccountState::Expired));
    assert!(!fault.is_passing());
    assert_eq!(desk.account.view().problem.unwrap(), "your sign-in has run out; sign in again");
    assert!(desk.account.refresh_if_due().await.unwrap().is_none());
    desk.account.refused();
    assert_eq!(desk.state(), AccountState::Expired, "the halt of the link knows less");
    assert_eq!(platform.asked().len(), 1);
}

#[tokio::test]
async fn what_looks_run_out_by_a_clock_years_ahead_is_still_tried_and_believed_when_it_works() {
    let platform = Platform::answering(&[]).await;
    let stored = Tokens { refresh_expires_at: Some(START.plus(DAY * 30)), ..tokens("a1", "r1") };
    let desk = Desk::open(&platform.url, "c", Some(stored), START.plus(DAY * 1000)).await;

    assert_eq!(desk.state(), AccountState::Expired);
    assert!(desk.account.bearer().is_ok(), "the link dials with it");
    desk.account.accepted();
    assert_eq!((desk.state(), desk.account.view().problem), (AccountState::SignedIn, None));
}

#[tokio::test]
async fn a_refusal_after_a_renewal_that_was_cut_off_names_the_cause() {
    let platform = Platform::answering(&[(503, ""), REFUSED, REFUSED]).await;
    let desk = Desk::open(&platform.url, "c", Some(tokens("a1", "r1")), START).await;
    let refused = desk.account.bearer().unwrap().token;
    // As a program leaves it that was killed between the platform's answer and the store.
    desk.vault.note_renewal(true);

    assert!(desk.account.refresh_if(&refused).await.unwrap_err().is_passing());
    let fault = desk.account.refresh_if(&refused).await.unwrap_err();
    assert_eq!((fault.clone(), desk.state()), (AccountError::CutOff { status: 400 }, AccountState::Refused));
    assert!(desk.account.view().problem.unwrap().contains("in the middle of renewing"));

    // Told once; what is refused later has another cause.
    assert_eq!(desk.account.refresh_if(&refused).await.unwrap_err(), AccountError::Refused { status: 400 });
}

#[tokio::test]
async fn forgetting_here_asks_nobody_and_also_drops_what_is_for_another_platform() {
    let platform = Platform::answering(&[]).await;
    for origin in [None, from("https://other.example", "c")] {
        let stored = Tokens { origin, ..tokens("a1", "r1") };
        let desk = Desk::open(&platform.url, "c", Some(stored), START).await;

        desk.account.forget().await.unwrap();

        assert!(desk.vault.tokens.lock().unwrap().is_none());
        let view = desk.account.view();
        assert_eq!((view.state, view.problem), (AccountState::SignedOut, None));
        assert_eq!(desk.account.bearer().unwrap_err(), AccountError::SignedOut);
    }
    assert!(platform.asked().is_empty());
}
