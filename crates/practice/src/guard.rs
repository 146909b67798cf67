//! Who may talk to the platform: a right `Host`, no foreign `Origin`, and a token for the script API. Being on this
//! computer proves nothing, since every web page the person opens can reach loopback.

use crate::state::Shared;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Refuses a foreign `Host` (rebinding) or `Origin`, and sets the headers that keep pages from being framed or injected.
pub(crate) async fn origin(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let port = shared.port;
    let (extra, clock_ahead_s) = {
        let state = shared.look();
        (state.hosts.clone(), state.switches.clock_ahead_s)
    };
    let own = |value: &HeaderValue, plain: &str, encrypted: &str| {
        ["127.0.0.1", "localhost"].iter().any(|host| value.as_bytes() == format!("{plain}{host}:{port}").as_bytes())
            || extra.iter().any(|host| value.as_bytes() == format!("{encrypted}{host}").as_bytes())
    };
    let headers = request.headers();
    let host_fits = headers.get(header::HOST).is_some_and(|v| own(v, "", ""));
    let origin_fits = headers.get(header::ORIGIN).is_none_or(|v| own(v, "http://", "https://"));
    // A machine is no web page: no Origin at all may open its sockets.
    let socket = request.uri().path().starts_with("/ws/") && headers.contains_key(header::ORIGIN);
    if !host_fits || !origin_fits || socket {
        return (StatusCode::FORBIDDEN, "This address answers only its own pages.").into_response();
    }
    if shared.look().stopped {
        return (StatusCode::SERVICE_UNAVAILABLE, "The practice platform is stopping.").into_response();
    }
    let mut answer = next.run(request).await;
    let set = answer.headers_mut();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                  form-action 'self' http://localhost:*; frame-ancestors 'none'; base-uri 'none'";
    set.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    set.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    set.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(date) = (clock_ahead_s != 0).then(|| wrong_date(clock_ahead_s)).flatten() {
        set.insert(header::DATE, date);
    }
    answer
}

/// The time of a clock that is so many seconds ahead, as HTTP writes it.
fn wrong_date(ahead_s: i64) -> Option<HeaderValue> {
    let now = jiff::Timestamp::now().checked_add(jiff::SignedDuration::from_secs(ahead_s)).ok()?;
    HeaderValue::from_str(&jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok()?).ok()
}

/// Refuses script calls without the token of this run.
pub(crate) async fn token(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let given = request.headers().get("x-practice-token").map(HeaderValue::as_bytes).unwrap_or_default();
    // Compared by hash, so that the time taken says nothing about the token.
    if Sha256::digest(given) != Sha256::digest(shared.api_token.as_bytes()) {
        return (StatusCode::UNAUTHORIZED, "This call needs the token of this run.").into_response();
    }
    next.run(request).await
}
