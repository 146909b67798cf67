//! Answers of the token address, and clocks that are wrong.

use super::*;

const NOW: WallMs = WallMs(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);

fn read(body: &str) -> Result<Tokens, AnswerFault> {
    read_answer(body.as_bytes(), None, Arrival { here: NOW, there: None })
}

fn before(moment: WallMs, by: Duration) -> WallMs {
    WallMs(moment.0 - i64::try_from(by.as_millis()).unwrap())
}

#[test]
fn both_forms_of_expiry_are_read_and_neither_is_needed() {
    let stated = read(r#"{"token_type":"Bearer","access_token":"a","access_token_expires_at":"2027-01-15T09:00:00+00:00","refresh_token":"r","refresh_token_expires_at":"2027-02-14T08:00:00Z","scopes":["USE_TOOLS"],"new":1}"#).unwrap();
    let zoneless = read(r#"{"access_token":"a","access_token_expires_at":"2027-01-15T09:00:00","refresh_token":"r"}"#);
    let counted = read(r#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#).unwrap();
    let silent = read(r#"{"access_token":"a","refresh_token":"r"}"#).unwrap();

    assert_eq!(stated.expires_at, Some(NOW.plus(HOUR)));
    assert_eq!(stated.refresh_expires_at, Some(NOW.plus(DAY * 30)));
    assert_eq!(zoneless.unwrap().expires_at, Some(NOW.plus(HOUR)));
    assert_eq!(counted.expires_at, Some(NOW.plus(HOUR)));
    assert_eq!((silent.expires_at, silent.refresh_expires_at), (None, None));
    assert_eq!(counted.renewal_age(), Some(Duration::from_secs(2880)));
    assert_eq!(silent.renewal_age(), None);
}

#[test]
fn a_stated_moment_is_counted_by_the_platforms_own_clock() {
    let body = r#"{"access_token":"a","access_token_expires_at":"2027-01-15T09:00:00Z","refresh_token":"r","refresh_token_expires_at":"2027-02-14T08:00:00Z"}"#;
    for here in [NOW.plus(DAY), before(NOW, DAY), WallMs(0)] {
        let tokens = read_answer(body.as_bytes(), None, Arrival { here, there: Some(NOW) }).unwrap();

        assert_eq!(tokens.expires_at, Some(here.plus(HOUR)), "an hour from now, whatever the clock says");
        assert_eq!(tokens.refresh_expires_at, Some(here.plus(DAY * 30)));
        assert_eq!(tokens.renewal_age(), Some(Duration::from_secs(2880)));
    }
    // Without the platform's clock a moment that has passed already says nothing, instead of "renew at once, for ever".
    let ahead = read_answer(body.as_bytes(), None, Arrival { here: NOW.plus(DAY), there: None }).unwrap();
    assert_eq!((ahead.expires_at, ahead.renewal_age()), (None, None));
}

#[test]
fn the_date_of_an_answer_is_read() {
    assert_eq!(date("Fri, 15 Jan 2027 08:00:00 GMT"), Some(NOW));
    assert_eq!(date("yesterday"), None);
}

#[test]
fn a_missing_refresh_token_keeps_the_old_one_only_in_a_refresh() {
    let body = r#"{"access_token":"a"}"#;
    let arrival = Arrival { here: NOW, there: None };
    let old = SecretString::from("old");
    let kept = read_answer(body.as_bytes(), Some((&old, Some(NOW.plus(DAY)))), arrival).unwrap();

    assert_eq!((kept.refresh.expose_secret(), kept.refresh_expires_at), ("old", Some(NOW.plus(DAY))));
    assert_eq!(read(body).unwrap_err(), AnswerFault::NoRefreshToken);
}

#[test]
fn answers_without_usable_tokens_are_refused_and_senseless_lives_are_none() {
    assert_eq!(read("<html>").unwrap_err(), AnswerFault::Form);
    assert_eq!(read("[]").unwrap_err(), AnswerFault::Form);
    assert_eq!(read(r#"{"access_token":"","refresh_token":"r"}"#).unwrap_err(), AnswerFault::NoAccessToken);
    assert_eq!(read(r#"{"access_token":5,"refresh_token":"r"}"#).unwrap_err(), AnswerFault::NoAccessToken);
    for unsendable in ["a\\r\\nX-Evil: 1", "a b", "a\\u0000", "\u{202e}a"] {
        let body = format!(r#"{{"access_token":"{unsendable}","refresh_token":"r"}}"#);
        assert_eq!(read(&body).unwrap_err(), AnswerFault::NoAccessToken, "{unsendable}");
    }
    assert_eq!(
        read(r#"{"token_type":"mac","access_token":"a","refresh_token":"r"}"#).unwrap_err(),
        AnswerFault::NotBearer
    );
    for life in ["-5", "1e300", "\"soon\"", "null", "99999999999"] {
        let body = format!(r#"{{"access_token":"a","refresh_token":"r","expires_in":{life}}}"#);
        assert_eq!(read(&body).unwrap().expires_at, None, "{life}");
    }
}

#[test]
fn a_token_may_be_stale_when_it_ends_soon_or_nobody_knows() {
    let bearer = |expires_at, obtained_at| Bearer { token: SecretString::from("t"), expires_at, obtained_at };

    assert!(bearer(None, None).may_be_stale(NOW));
    assert!(bearer(Some(NOW.plus(Duration::from_secs(60))), None).may_be_stale(NOW));
    assert!(!bearer(Some(NOW.plus(Duration::from_secs(61))), Some(NOW)).may_be_stale(NOW));
    // The clock was put back since: what it says of the end is worth nothing.
    assert!(bearer(Some(NOW.plus(HOUR)), Some(NOW)).may_be_stale(before(NOW, DAY)));
}

#[test]
fn a_sign_in_runs_out_by_its_stated_end_or_its_usual_life() {
    let tokens = |refresh_expires_at| Tokens {
        access: SecretString::from("a"),
        refresh: SecretString::from("r"),
        expires_at: Some(NOW.plus(HOUR)),
        refresh_expires_at,
        obtained_at: Some(NOW),
        origin: None,
    };
    let stated = tokens(Some(NOW.plus(DAY * 7)));

    assert!(!stated.has_run_out(NOW.plus(DAY * 7 - HOUR), false));
    assert!(stated.has_run_out(NOW.plus(DAY * 7), false));
    assert!(!stated.has_run_out(NOW.plus(DAY * 8), true), "a clock that is a day ahead ends nothing");
    assert!(stated.has_run_out(NOW.plus(DAY * 9), true));
    assert!(!tokens(None).has_run_out(NOW.plus(DAY * 29), false));
    assert!(tokens(None).has_run_out(NOW.plus(DAY * 30), false));
}
