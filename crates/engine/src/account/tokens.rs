//! The token pair and the answers of the token address (spec 1.3).

use std::time::Duration;

use drawbridge_core::WallMs;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// A token this close to its end counts as ended.
const NEARLY_EXPIRED: Duration = Duration::from_secs(60);

/// The pair of tokens of one account.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// Opens the platform, for about an hour.
    pub access: SecretString,
    /// Gets the next pair. Good for one use.
    pub refresh: SecretString,
    /// When the access token ends, if the platform said so.
    pub expires_at: Option<WallMs>,
    /// When we got it, if known.
    pub obtained_at: Option<WallMs>,
}

/// What a link needs to dial.
#[derive(Debug, Clone)]
pub struct Bearer {
    /// The access token.
    pub token: SecretString,
    /// When it ends, if known.
    pub expires_at: Option<WallMs>,
}

impl Bearer {
    /// Tells whether a 403 may really mean "token too old": it has ended, ends within 60 s, or nobody knows (spec 1.4).
    #[must_use]
    pub fn may_be_stale(&self, now: WallMs) -> bool {
        self.expires_at.is_none_or(|end| end <= now.plus(NEARLY_EXPIRED))
    }
}

impl Tokens {
    pub(crate) fn bearer(&self) -> Bearer {
        Bearer { token: self.access.clone(), expires_at: self.expires_at }
    }

    /// Returns the moment of 80 % of the access token's life, when a refresh in the background is due.
    pub(crate) fn refresh_due(&self) -> Option<WallMs> {
        let (end, start) = (self.expires_at?, self.obtained_at?);
        let life = end.0.saturating_sub(start.0).max(0);
        Some(WallMs(start.0.saturating_add(life / 5 * 4)))
    }
}

/// Why an answer with status 200 cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerFault {
    #[error("it is not a JSON object")]
    Form,
    #[error("it holds no access token")]
    NoAccessToken,
    #[error("it holds no refresh token")]
    NoRefreshToken,
    #[error("its token is not a bearer token")]
    NotBearer,
}

/// Reads a good answer. `kept` is the refresh token that stays good when a refresh answer names none.
pub(crate) fn read_answer(body: &[u8], kept: Option<&SecretString>, now: WallMs) -> Result<Tokens, AnswerFault> {
    let value: Value = serde_json::from_slice(body).map_err(|_| AnswerFault::Form)?;
    let object = value.as_object().ok_or(AnswerFault::Form)?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(AnswerFault::NotBearer);
    }
    let access = text("access_token").ok_or(AnswerFault::NoAccessToken)?;
    let refresh = match (text("refresh_token"), kept) {
        (Some(fresh), _) => SecretString::from(fresh),
        (None, Some(kept)) => kept.clone(),
        (None, None) => return Err(AnswerFault::NoRefreshToken),
    };
    let stated = text("access_token_expires_at").and_then(instant);
    let counted = object
        .get("expires_in")
        .and_then(|seconds| seconds.as_f64().or_else(|| seconds.as_str()?.parse().ok()))
        .filter(|seconds| seconds.is_finite() && (0.0..1e10).contains(seconds))
        .map(|seconds| now.plus(Duration::from_secs_f64(seconds)));
    Ok(Tokens { access: SecretString::from(access), refresh, expires_at: stated.or(counted), obtained_at: Some(now) })
}

/// Reads an ISO 8601 time; one without a zone is UTC.
fn instant(text: &str) -> Option<WallMs> {
    let zoned = text.parse::<jiff::Timestamp>();
    let stamp = zoned.or_else(|_| format!("{text}Z").parse::<jiff::Timestamp>()).ok()?;
    Some(WallMs(stamp.as_millisecond()))
}

/// Compares two tokens without telling by time where they differ.
pub(crate) fn same(one: &SecretString, other: &SecretString) -> bool {
    use subtle::ConstantTimeEq as _;
    one.expose_secret().as_bytes().ct_eq(other.expose_secret().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallMs = WallMs(1_800_000_000_000);

    fn read(body: &str) -> Result<Tokens, AnswerFault> {
        read_answer(body.as_bytes(), None, NOW)
    }

    #[test]
    fn both_forms_of_expiry_are_read_and_neither_is_needed() {
        let stated = read(r#"{"token_type":"Bearer","access_token":"a","access_token_expires_at":"2027-01-15T09:00:00+00:00","refresh_token":"r","scopes":["USE_TOOLS"],"new":1}"#).unwrap();
        let zoneless =
            read(r#"{"access_token":"a","access_token_expires_at":"2027-01-15T09:00:00","refresh_token":"r"}"#);
        let counted = read(r#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#).unwrap();
        let silent = read(r#"{"access_token":"a","refresh_token":"r"}"#).unwrap();

        assert_eq!(stated.expires_at, Some(WallMs(1_800_003_600_000)));
        assert_eq!(zoneless.unwrap().expires_at, Some(WallMs(1_800_003_600_000)));
        assert_eq!(counted.expires_at, Some(WallMs(1_800_003_600_000)));
        assert_eq!(silent.expires_at, None);
        assert_eq!(counted.refresh_due(), Some(WallMs(1_800_002_880_000)));
        assert_eq!(silent.refresh_due(), None);
    }

    #[test]
    fn a_missing_refresh_token_keeps_the_old_one_only_in_a_refresh() {
        let body = r#"{"access_token":"a"}"#;
        let kept = read_answer(body.as_bytes(), Some(&SecretString::from("old")), NOW).unwrap();

        assert_eq!(kept.refresh.expose_secret(), "old");
        assert_eq!(read(body).unwrap_err(), AnswerFault::NoRefreshToken);
    }

    #[test]
    fn answers_without_usable_tokens_are_refused() {
        assert_eq!(read("<html>").unwrap_err(), AnswerFault::Form);
        assert_eq!(read("[]").unwrap_err(), AnswerFault::Form);
        assert_eq!(read(r#"{"access_token":"","refresh_token":"r"}"#).unwrap_err(), AnswerFault::NoAccessToken);
        assert_eq!(read(r#"{"access_token":5,"refresh_token":"r"}"#).unwrap_err(), AnswerFault::NoAccessToken);
        assert_eq!(
            read(r#"{"token_type":"mac","access_token":"a","refresh_token":"r"}"#).unwrap_err(),
            AnswerFault::NotBearer
        );
    }

    #[test]
    fn a_token_may_be_stale_when_it_ends_soon_or_nobody_knows() {
        let bearer = |expires_at| Bearer { token: SecretString::from("t"), expires_at };

        assert!(bearer(None).may_be_stale(NOW));
        assert!(bearer(Some(NOW.plus(Duration::from_secs(60)))).may_be_stale(NOW));
        assert!(!bearer(Some(NOW.plus(Duration::from_secs(61)))).may_be_stale(NOW));
    }
}
