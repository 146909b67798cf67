//! Sign-in as the real server does it (spec 1): a page with two buttons, codes used once, PKCE, and refresh tokens
//! that rotate as a family. It keeps tokens in memory only and knows a single person.

use crate::outbox::Out;
use crate::state::{Asking, Code, Inner, Refusal, Shared, Token, secret};
use crate::{ConsentMode, page};
use axum::body::Bytes;
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

type Fields = HashMap<String, String>;
/// Life of an authorization code.
const CODE_LIFE: Duration = Duration::from_secs(600);
/// Open sign-in pages; any page can make the browser open one, so the oldest gives way.
const ASKING_MAX: usize = 64;

pub(crate) async fn authorize(State(shared): State<Arc<Shared>>, Query(query): Query<Fields>) -> Response {
    open(&shared, &query)
}

/// Answers an authorize address as a visit of it would; gives the address to which the visitor is sent.
pub(crate) fn visit(shared: &Arc<Shared>, address: &str) -> Option<String> {
    let query = Query::<Fields>::try_from_uri(&address.parse().ok()?).ok()?;
    let answer = open(shared, &query.0);
    answer.headers().get(header::LOCATION)?.to_str().ok().map(str::to_owned)
}

fn open(shared: &Arc<Shared>, query: &Fields) -> Response {
    let get = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
    let known = shared.look().oauth.clients.contains(get("client_id"));
    if !known || !redirect_allowed(get("redirect_uri")) {
        return (StatusCode::BAD_REQUEST, Html(page::notice("This sign-in link is not valid", "The program or the address it wants to return to is not registered here. Start the sign-in again from Drawbridge."))).into_response();
    }
    let asking = Asking {
        client: get("client_id").to_owned(),
        redirect: get("redirect_uri").to_owned(),
        challenge: get("code_challenge").to_owned(),
        state: get("state").to_owned(),
    };
    let refusal = if get("response_type") != "code" {
        Some("unsupported_response_type")
    } else if get("scope") != "USE_TOOLS" {
        Some("invalid_scope")
    } else if get("code_challenge_method") != "S256" || asking.challenge.len() != 43 || asking.state.is_empty() {
        Some("invalid_request")
    } else {
        None
    };
    if let Some(error) = refusal {
        return back(&asking, &[("error", error)]);
    }
    let mode = shared.look().oauth.consent;
    match mode {
        ConsentMode::Allow => allow(shared, asking),
        ConsentMode::Deny => back(&asking, &[("error", "access_denied")]),
        ConsentMode::Ask => {
            let ticket = secret();
            let html = page::sign_in(&ticket);
            shared.change(|s| {
                s.oauth.asking.push_back((ticket, asking));
                if s.oauth.asking.len() > ASKING_MAX {
                    s.oauth.asking.pop_front();
                }
            });
            Html(html).into_response()
        }
    }
}

pub(crate) async fn decide(State(shared): State<Arc<Shared>>, Form(form): Form<Fields>) -> Response {
    let ticket = form.get("ticket").cloned().unwrap_or_default();
    let asked = shared.change(|s| {
        let at = s.oauth.asking.iter().position(|(t, _)| *t == ticket)?;
        s.oauth.asking.remove(at)
    });
    let Some((_, asking)) = asked else {
        return (
            StatusCode::BAD_REQUEST,
            Html(page::notice(
                "This question was already answered",
                "Start the sign-in again from Drawbridge if you want to change your answer.",
            )),
        )
            .into_response();
    };
    if form.get("decision").map(String::as_str) == Some("allow") {
        allow(&shared, asking)
    } else {
        back(&asking, &[("error", "access_denied")])
    }
}

fn allow(shared: &Shared, asking: Asking) -> Response {
    let code = secret();
    let answer = back(&asking, &[("code", &code)]);
    shared.change(|s| {
        s.oauth.codes.retain(|_, c| c.born.elapsed() <= CODE_LIFE);
        s.oauth.codes.insert(code, Code { asked: asking, spent_by: None, born: Instant::now() });
    });
    answer
}

fn redirect_allowed(uri: &str) -> bool {
    (41899..=41910).any(|port| uri == format!("http://localhost:{port}/callback"))
}

fn back(asking: &Asking, pairs: &[(&str, &str)]) -> Response {
    let mut to = format!("{}?", asking.redirect);
    for (name, value) in pairs {
        to.push_str(&format!("{name}={value}&"));
    }
    to.push_str("state=");
    for byte in asking.state.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            to.push_str(&format!("%{byte:02X}"));
        }
    }
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, axum::Json(json!({ "error": error, "detail": error }))).into_response()
}

/// Reads a form or JSON body into text fields. `None`: malformed, 422.
fn fields(headers: &HeaderMap, body: &Bytes, json_only: bool) -> Option<Fields> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        let read: HashMap<String, Value> = serde_json::from_slice(body).ok()?;
        return read.into_iter().map(|(k, v)| Some((k, v.as_str()?.to_owned()))).collect();
    }
    if json_only || !kind.starts_with("application/x-www-form-urlencoded") {
        return None;
    }
    let uri: axum::http::Uri = format!("/?{}", std::str::from_utf8(body).ok()?).parse().ok()?;
    Query::<Fields>::try_from_uri(&uri).ok().map(|q| q.0)
}

pub(crate) async fn token(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let (refusal, json_only) = shared.change(|s| (Refusal::take(&mut s.switches.refuse_token), s.switches.json_only));
    if let Some(refusal) = refusal {
        return http_refusal(&refusal);
    }
    let Some(form) = fields(&headers, &body, json_only) else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "malformed");
    };
    if json_only && !form.contains_key("client_secret") {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "client_secret missing");
    }
    let get = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    if !shared.look().oauth.clients.contains(get("client_id")) {
        return refused(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    let clocks = shared.clocks.clone();
    match get("grant_type") {
        "authorization_code" => shared.change(|s| {
            let Some(code) = s.oauth.codes.get_mut(get("code")) else {
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            };
            if let Some(family) = code.spent_by.clone() {
                revoke_family(s, &family, "user_revoked");
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            }
            let verifier = get("code_verifier");
            let hash = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
            let fits = (43..=128).contains(&verifier.len()) && hash == code.asked.challenge;
            if !fits
                || code.asked.redirect != get("redirect_uri")
                || code.asked.client != get("client_id")
                || code.born.elapsed() > CODE_LIFE
            {
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            }
            let family = secret();
            code.spent_by = Some(family.clone());
            issue(s, &family, get("client_id"), &clocks)
        }),
        "refresh_token" => shared.change(|s| {
            let Some(old) = s.oauth.refresh.get_mut(get("refresh_token")) else {
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            };
            let family = old.family.clone();
            if old.client != get("client_id") || old.expires <= Instant::now() || s.oauth.revoked.contains(&family) {
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            }
            if std::mem::replace(&mut old.spent, true) {
                revoke_family(s, &family, "user_revoked");
                return refused(StatusCode::BAD_REQUEST, "invalid_grant");
            }
            issue(s, &family, get("client_id"), &clocks)
        }),
        _ => refused(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
    }
}

fn issue(s: &mut Inner, family: &str, client: &str, clocks: &crate::Clocks) -> Response {
    let (access, refresh) = (secret(), secret());
    let now = Instant::now();
    s.oauth.access.retain(|_, t| t.expires > now);
    s.oauth.refresh.retain(|_, t| t.expires > now);
    let entry = |life: Duration| Token {
        family: family.to_owned(),
        client: client.to_owned(),
        expires: Instant::now() + life,
        spent: false,
    };
    s.oauth.access.insert(access.clone(), entry(clocks.access_token));
    s.oauth.refresh.insert(refresh.clone(), entry(clocks.refresh_token));
    let answer = json!({
        "token_type": "Bearer",
        "access_token": access,
        "access_token_expires_at": iso(clocks.access_token),
        "refresh_token": refresh,
        "refresh_token_expires_at": iso(clocks.refresh_token),
        "scopes": ["USE_TOOLS"],
    });
    ([(header::CACHE_CONTROL, "no-store")], axum::Json(answer)).into_response()
}

fn iso(from_now: Duration) -> String {
    jiff::Timestamp::try_from(SystemTime::now() + from_now).map(|t| t.to_string()).unwrap_or_default()
}

pub(crate) async fn revoke(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(&body) else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "malformed");
    };
    let (Some(token), Some(client)) = (asked["token"].as_str(), asked["client_id"].as_str()) else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "malformed");
    };
    if shared.change(|s| s.switches.ignore_revoke) {
        return std::future::pending().await;
    }
    shared.change(|s| {
        if !s.oauth.clients.contains(client) {
            return refused(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        let family = s.oauth.access.get(token).or_else(|| s.oauth.refresh.get(token)).map(|t| t.family.clone());
        if let Some(family) = family {
            revoke_family(s, &family, "user_revoked");
        }
        axum::Json(json!({ "status": "ok" })).into_response()
    })
}

/// Ends a family: its tokens no longer work, its sockets get SESSION_REVOKED and 4428.
pub(crate) fn revoke_family(s: &mut Inner, family: &str, reason: &str) {
    s.oauth.revoked.insert(family.to_owned());
    for link in s.links.values().filter(|l| l.family == family) {
        let _ = link.out.send(Out::Text(revoked_frame(reason)));
        let _ = link.out.close(4428, "Token revoked");
    }
}

pub(crate) fn revoked_frame(reason: &str) -> String {
    json!({ "type": "SESSION_REVOKED", "id": uuid::Uuid::new_v4().to_string(), "ts": crate::socket::now(), "payload": { "reason": reason } })
        .to_string()
}

pub(crate) fn http_refusal(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut answer = refused(status, "refused");
    if let Some(seconds) = refusal.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}
