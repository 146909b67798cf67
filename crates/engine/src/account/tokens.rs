//! The token pair and the answers of the token address (spec 1.3).

use std::time::Duration;

use drawbridge_core::WallMs;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// A token this close to its end counts as ended.
const NEARLY_EXPIRED: Duration = Duration::from_secs(60);
/// A life longer than this is no statement but a wrong clock.
const LONGEST_LIFE: Duration = Duration::from_secs(400 * 24 * 3600);
/// How long a refresh token lives where the platform does not say (spec 1.3).
const USUAL_REFRESH_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Clocks are wrong by a day, and no more, often enough: before this much has passed, nothing is called run out.
const CLOCK_SLACK: Duration = Duration::from_secs(26 * 3600);

/// Whom a token pair is for. It is never sent to anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOrigin {
    /// Base of the platform's addresses, in its `http(s)` form.
    pub platform: String,
    /// The OAuth client id.
    pub client_id: String,
}

/// The pair of tokens of one account.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// Opens the platform, for about an hour.
    pub access: SecretString,
    /// Gets the next pair. Good for one use.
    pub refresh: SecretString,
    /// When the access token ends by this computer's clock, if the platform said so.
    pub expires_at: Option<WallMs>,
    /// When the refresh token ends by this computer's clock, if the platform said so.
    pub refresh_expires_at: Option<WallMs>,
    /// When we got it, if known.
    pub obtained_at: Option<WallMs>,
    /// Whom it is for. Not known of pairs that an earlier version stored.
    pub origin: Option<TokenOrigin>,
}

/// What a link needs to dial.
#[derive(Debug, Clone)]
pub struct Bearer {
    /// The access token.
    pub token: SecretString,
    /// When it ends by this computer's clock, if known.
    pub expires_at: Option<WallMs>,
    /// When we got it, if known.
    pub obtained_at: Option<WallMs>,
}

impl Bearer {
    /// Returns how long the token still lives. None when nobody knows: the platform did not say, or the clock stands before
    /// the moment when we got it, so that it was set meanwhile.
    #[must_use]
    pub fn left(&self, now: WallMs) -> Option<Duration> {
        if self.obtained_at.is_some_and(|start| now < start) {
            return None;
        }
        let left = self.expires_at?.0.saturating_sub(now.0);
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// Tells whether a 403 may really mean "token too old": it has ended, ends within 60 s, or nobody knows (spec 1.4).
    #[must_use]
    pub fn may_be_stale(&self, now: WallMs) -> bool {
        self.left(now).is_none_or(|left| left <= NEARLY_EXPIRED)
    }
}

impl Tokens {
    pub(crate) fn bearer(&self) -> Bearer {
        Bearer { token: self.access.clone(), expires_at: self.expires_at, obtained_at: self.obtained_at }
    }

    /// Returns how long after it was got the pair is to be renewed in the background: at 80 % of the access token's life.
    pub(crate) fn renewal_age(&self) -> Option<Duration> {
        let (end, start) = (self.expires_at?, self.obtained_at?);
        let life = u64::try_from(end.0.saturating_sub(start.0)).ok().filter(|life| *life > 0)?;
        Some(Duration::from_millis(life / 5 * 4))
    }

    /// Tells whether the refresh token has run out by age, as far as this computer's clock can be believed. Without the
    /// platform's word its usual life counts.
    pub(crate) fn has_run_out(&self, now: WallMs, slack: bool) -> bool {
        let usual = || self.obtained_at.map(|start| start.plus(USUAL_REFRESH_LIFE));
        let slack = if slack { CLOCK_SLACK } else { Duration::ZERO };
        self.refresh_expires_at.or_else(usual).is_some_and(|end| end.plus(slack) <= now)
    }
}

/// Why an answer with status 200 cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerFault {
    #[error("it is not a JSON object")]
    Form,
    #[error("it holds no access token that could be sent")]
    NoAccessToken,
    #[error("it holds no refresh token")]
    NoRefreshToken,
    #[error("its token is not a bearer token")]
    NotBearer,
}

/// When an answer came, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// This computer's clock.
    pub(crate) here: WallMs,
    /// The platform's clock, as its answer says it.
    pub(crate) there: Option<WallMs>,
}

/// Reads a good answer. `kept` is the refresh token that stays good when a refresh answer names none, with its end.
///
/// A platform that states moments states them by its own clock, so that they are counted from its clock's now: a clock that is
/// wrong here changes nothing.
pub(crate) fn read_answer(
    body: &[u8],
    kept: Option<(&SecretString, Option<WallMs>)>,
    arrival: Arrival,
) -> Result<Tokens, AnswerFault> {
    let value: Value = serde_json::from_slice(body).map_err(|_| AnswerFault::Form)?;
    let object = value.as_object().ok_or(AnswerFault::Form)?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(AnswerFault::NotBearer);
    }
    // It goes into a header (RFC 6750): anything else could never be used.
    let sendable = |token: &&str| token.bytes().all(|byte| byte.is_ascii_graphic());
    let access = text("access_token").filter(sendable).ok_or(AnswerFault::NoAccessToken)?;
    let counted = |key: &str| object.get(key).and_then(seconds);
    let stated = |key: &str| text(key).and_then(instant).and_then(|end| life_until(end, arrival));
    let end = |life: Duration| arrival.here.plus(life);
    let refresh_life = || counted("refresh_expires_in").or_else(|| stated("refresh_token_expires_at"));
    let (refresh, refresh_expires_at) = match (text("refresh_token"), kept) {
        (Some(fresh), _) => (SecretString::from(fresh), refresh_life().map(end)),
        (None, Some((kept, until))) => (kept.clone(), refresh_life().map(end).or(until)),
        (None, None) => return Err(AnswerFault::NoRefreshToken),
    };
    let life = counted("expires_in").or_else(|| stated("access_token_expires_at"));
    Ok(Tokens {
        access: SecretString::from(access),
        refresh,
        expires_at: life.map(end),
        refresh_expires_at,
        obtained_at: Some(arrival.here),
        origin: None,
    })
}

/// Reads a number of seconds, also one written as text.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|life| *life <= LONGEST_LIFE)
}

/// Counts a life from the platform's own now; without it from ours, where that makes sense.
fn life_until(end: WallMs, arrival: Arrival) -> Option<Duration> {
    let left = end.0.saturating_sub(arrival.there.unwrap_or(arrival.here).0);
    let life = Duration::from_millis(u64::try_from(left).ok()?);
    (Duration::ZERO < life && life <= LONGEST_LIFE).then_some(life)
}

/// Reads an ISO 8601 time; one without a zone is UTC.
fn instant(text: &str) -> Option<WallMs> {
    let zoned = text.parse::<jiff::Timestamp>();
    let stamp = zoned.or_else(|_| format!("{text}Z").parse::<jiff::Timestamp>()).ok()?;
    Some(WallMs(stamp.as_millisecond()))
}

/// Reads the `Date` header of an answer.
pub(crate) fn date(text: &str) -> Option<WallMs> {
    let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(WallMs(zoned.timestamp().as_millisecond()))
}

/// Compares two tokens without telling by time where they differ.
pub(crate) fn same(one: &SecretString, other: &SecretString) -> bool {
    use subtle::ConstantTimeEq as _;
    one.expose_secret().as_bytes().ct_eq(other.expose_secret().as_bytes()).into()
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
