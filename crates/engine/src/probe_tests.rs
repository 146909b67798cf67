//! What answers and clocks mean.

use tokio_tungstenite::tungstenite::http::HeaderValue;

use super::*;

const NOON: i64 = 1_796_040_000;

fn skew(ours: i64, date: Option<&'static str>) -> (StepState, String, bool) {
    let mut headers = HeaderMap::new();
    if let Some(date) = date {
        headers.insert(DATE, HeaderValue::from_static(date));
    }
    let (state, text, fix) = skew_in_words(ours, &headers);
    (state, text, fix.is_some())
}

#[test]
fn the_clock_is_compared_in_both_directions() {
    let date = Some("Mon, 30 Nov 2026 12:00:00 GMT");
    let told = |ours: i64| {
        let (state, text, fix) = skew(ours, date);
        (state, text.trim_start_matches("this computer's clock ").to_owned(), fix)
    };

    assert_eq!(told(NOON + 1), (StepState::Ok, "agrees with the platform's (1 s apart)".to_owned(), false));
    assert_eq!(told(NOON - 60).0, StepState::Ok);
    assert_eq!(told(NOON + 61), (StepState::Warn, "is 61 s ahead of the platform's".to_owned(), true));
    assert_eq!(told(NOON - 3600), (StepState::Warn, "is 3600 s (60 minutes) behind the platform's".to_owned(), true));
    let day = "is 86400 s (24 hours) behind the platform's: certificates and the sign-in depend on it".to_owned();
    assert_eq!(told(NOON - 86_400), (StepState::Fail, day, true));
    assert!(told(NOON + 10 * 86_400).1.starts_with("is 864000 s (10 days) ahead"));
}

#[test]
fn a_platform_that_tells_no_time_is_not_judged() {
    for date in [None, Some("yesterday"), Some(""), Some("Mon, 99 Nov 2026 12:00:00 GMT")] {
        assert_eq!(skew(NOON, date).0, StepState::Skipped, "{date:?}");
    }
    assert_eq!(skew(i64::MAX, Some("Mon, 30 Nov 2026 12:00:00 GMT")).0, StepState::Fail);
}

#[test]
fn only_a_no_is_the_right_answer_to_a_request_without_a_token() {
    let states = [401, 403, 429, 500, 503, 101, 200, 302, 404, 407].map(|status| answer_in_words(status).0);

    let (ok, warn, fail) = (StepState::Ok, StepState::Warn, StepState::Fail);
    assert_eq!(states, [ok, ok, warn, warn, warn, warn, fail, fail, fail, fail]);
    assert!(answer_in_words(302).2.unwrap().contains("sign-in page"));
}
