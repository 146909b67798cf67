//! The requests to the platform's OAuth addresses: code for tokens, refresh, revoke (spec 1.2 to 1.5).
//!
//! The `oauth2` crate builds each request; its reading of the answer is not used, since it knows neither this platform's
//! expiry fields nor its faults without an OAuth body. No value of a request or answer ever reaches a log.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_core::{Clock, WallMs};
use oauth2::basic::BasicClient;
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, HttpRequest, HttpResponse, PkceCodeVerifier, RedirectUrl, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::AccountError;
use super::platform::PlatformUrl;
use super::tokens::{Arrival, TokenOrigin, Tokens, date, read_answer};
use crate::dial::http::{self, Answer};
use crate::dial::{DialError, DialStep};
use crate::net::NetConfig;

/// The OAuth client of this program at one platform.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) platform: PlatformUrl,
    pub(super) client_id: String,
    pub(super) net: NetConfig,
}

/// What the browser brought back, with what only we know.
pub(super) struct CodeGrant {
    pub(super) code: String,
    pub(super) verifier: PkceCodeVerifier,
    pub(super) redirect_uri: String,
}

impl Exchange {
    /// Names whom tokens of this exchange are for.
    pub(super) fn origin(&self) -> TokenOrigin {
        TokenOrigin { platform: self.platform.shown().to_owned(), client_id: self.client_id.clone() }
    }

    /// Exchanges an authorization code.
    pub(super) async fn code(&self, grant: CodeGrant, clock: &dyn Clock) -> Result<Tokens, AccountError> {
        let redirect = RedirectUrl::new(grant.redirect_uri).map_err(|err| configuration(&err))?;
        let client = self.client()?.set_redirect_uri(redirect);
        let request = client.exchange_code(AuthorizationCode::new(grant.code)).set_pkce_verifier(grant.verifier);
        let kept = Kept::default();
        // The verdict is ours, from the kept answer.
        let _ = request.request_async(&self.transport(&kept)).await;
        self.judge(kept.take(), None, clock)
    }

    /// Trades the refresh token of a pair for the next pair. The old refresh token is spent afterwards.
    pub(super) async fn refresh(&self, pair: &Tokens, clock: &dyn Clock) -> Result<Tokens, AccountError> {
        let client = self.client()?;
        let token = oauth2::RefreshToken::new(pair.refresh.expose_secret().to_owned());
        let request = client.exchange_refresh_token(&token);
        let kept = Kept::default();
        let _ = request.request_async(&self.transport(&kept)).await;
        self.judge(kept.take(), Some(pair), clock)
    }

    fn judge(
        &self,
        answer: Result<Answer, DialError>,
        kept: Option<&Tokens>,
        clock: &dyn Clock,
    ) -> Result<Tokens, AccountError> {
        let tokens = judge(answer, kept, clock.wall())?;
        Ok(Tokens { origin: Some(self.origin()), ..tokens })
    }

    /// Revokes one token.
    pub(super) async fn revoke(&self, token: &SecretString, hint: &str) -> Result<(), AccountError> {
        let mut body = Map::new();
        body.insert("token".to_owned(), Value::from(token.expose_secret()));
        body.insert("token_type_hint".to_owned(), Value::from(hint));
        body.insert("client_id".to_owned(), Value::from(self.client_id.as_str()));
        body.insert("client_secret".to_owned(), Value::from(""));
        let body = Value::Object(body).to_string().into_bytes();
        let sent = self.post(&self.platform.revoke(), "application/json", body).await;
        let answer = sent.map_err(unreachable)?;
        match answer.status {
            200..=299 => Ok(()),
            status => Err(AccountError::RevokeRefused { status }),
        }
    }

    fn client(&self) -> Result<Client, AccountError> {
        let auth = AuthUrl::new(self.platform.authorize()).map_err(|err| configuration(&err))?;
        let token = TokenUrl::new(self.platform.token()).map_err(|err| configuration(&err))?;
        Ok(BasicClient::new(ClientId::new(self.client_id.clone())).set_auth_uri(auth).set_token_uri(token))
    }

    /// Sends what `oauth2` built, as a form; where the platform takes only JSON, once more as JSON (spec 1.2, 6).
    fn transport(&self, kept: &Kept) -> impl Fn(HttpRequest) -> Sending + use<> {
        let (exchange, kept) = (self.clone(), kept.clone());
        move |request| {
            let (exchange, kept) = (exchange.clone(), kept.clone());
            Box::pin(async move {
                let form = request.into_body();
                let address = exchange.platform.token();
                let mut sent = exchange.post(&address, "application/x-www-form-urlencoded", form.clone()).await;
                if matches!(&sent, Ok(Answer { status: 415 | 422, .. })) {
                    sent = exchange.post(&address, "application/json", form_as_json(&form)).await;
                }
                kept.put(sent);
                // Never seen by anybody: the answer was kept for our own reading.
                Err(DialError::new(DialStep::Http, "the answer was kept"))
            })
        }
    }

    async fn post(&self, address: &str, content_type: &str, body: Vec<u8>) -> Result<Answer, DialError> {
        let headers = [("Content-Type", content_type), ("Accept", "application/json"), ("Cache-Control", "no-store")];
        http::post(&self.net, address, &headers, body).await
    }
}

type Client = BasicClient<
    oauth2::EndpointSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointSet,
>;

type Sending = Pin<Box<dyn Future<Output = Result<HttpResponse, DialError>> + Send>>;

/// Where the transport leaves the platform's answer for us.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<Result<Answer, DialError>>>>);

impl Kept {
    fn put(&self, answer: Result<Answer, DialError>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn take(&self) -> Result<Answer, DialError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.unwrap_or_else(|| Err(DialError::new(DialStep::Address, "the request could not be built")))
    }
}

/// Decides what an answer of the token address means (table of spec 1.3).
fn judge(answer: Result<Answer, DialError>, kept: Option<&Tokens>, here: WallMs) -> Result<Tokens, AccountError> {
    let answer = answer.map_err(unreachable)?;
    let kept = kept.map(|pair| (&pair.refresh, pair.refresh_expires_at));
    let arrival = Arrival { here, there: answer.date.as_deref().and_then(date) };
    let (renews, is_page) = (kept.is_some(), !is_object(&answer.body));
    match answer.status {
        // A page where tokens are expected comes from whatever stands before the platform: maintenance, a guard, a wrong turn.
        // That says nothing about the sign-in, which must outlive it.
        200..=299 | 403 if renews && is_page => Err(AccountError::Unreachable {
            why: format!("something before it answered with a page instead of tokens ({})", answer.status),
        }),
        200..=299 => read_answer(&answer.body, kept, arrival)
            .map_err(|fault| AccountError::Unusable { why: format!("the platform's answer is not usable: {fault}") }),
        400 | 403 => Err(AccountError::Refused { status: answer.status }),
        401 => Err(AccountError::UnknownClient),
        408 | 429 | 500..=599 => {
            Err(AccountError::Unreachable { why: format!("the platform answered with {}", answer.status) })
        }
        415 | 422 => {
            tracing::error!(status = answer.status, "the platform calls the token request malformed");
            Err(AccountError::Unusable { why: format!("the platform calls the request malformed ({})", answer.status) })
        }
        // It has answered there before, and will again.
        status if renews => {
            Err(AccountError::Unreachable { why: format!("the platform answered with {status} instead of tokens") })
        }
        status => Err(AccountError::Unusable { why: format!("the platform answered with {status}") }),
    }
}

fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(body).is_ok()
}

fn form_as_json(form: &[u8]) -> Vec<u8> {
    let mut body = Map::new();
    for (name, value) in oauth2::url::form_urlencoded::parse(form) {
        body.insert(name.into_owned(), Value::from(value.into_owned()));
    }
    body.insert("client_secret".to_owned(), Value::from(""));
    Value::Object(body).to_string().into_bytes()
}

/// The step that failed stands in the text.
fn unreachable(fault: DialError) -> AccountError {
    AccountError::Unreachable { why: fault.to_string() }
}

fn configuration(err: &impl std::fmt::Display) -> AccountError {
    AccountError::Configuration { why: err.to_string() }
}
