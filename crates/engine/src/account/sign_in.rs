//! One sign-in attempt, from the free port to the stored tokens (spec 1.2).
//!
//! The attempt ends with the first visit that carries the right state, by the person, after 300 s, or after 20 visits
//! with a wrong state. A repeat of the right visit sees the same page and exchanges nothing (FB-35).

use std::time::Duration;

use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::callback::{PasteFault, Visit, judge, pasted_target};
use super::exchange::CodeGrant;
use super::listener::{Knock, Listener, Page};
use super::{Account, AccountError};

/// How long a sign-in waits for the person.
const SIGN_IN_LIFE: Duration = Duration::from_secs(300);
/// Visits with a wrong state after which somebody is guessing.
const MAX_WRONG_STATES: u32 = 20;
/// How long the page stays up for a browser that visits twice.
const LINGER: Duration = Duration::from_millis(1500);
/// How long visitors may still take their pages once the attempt is over.
const LAST_PAGES: Duration = Duration::from_secs(2);
/// The only scope (spec 1.1).
const SCOPE: &str = "USE_TOOLS";

/// A sign-in whose port is bound. [`SignIn::finish`] runs it.
#[derive(Debug)]
pub struct SignIn {
    account: Account,
    listener: Listener,
    authorize_url: String,
    state: SecretString,
    verifier: SecretString,
    handle: SignInHandle,
    pastes: mpsc::Receiver<Paste>,
}

/// What the person can do with a running sign-in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SignInHandle {
    pastes: mpsc::Sender<Paste>,
    cancel: CancellationToken,
}

#[derive(Debug)]
struct Paste {
    address: String,
    answer: oneshot::Sender<Result<(), PasteFault>>,
}

impl SignInHandle {
    /// Takes the whole address of the page where the browser ended up, for when it cannot reach this computer.
    ///
    /// # Errors
    /// [`PasteFault`] when the address is not the one of this attempt; the attempt goes on.
    pub async fn paste(&self, address: &str) -> Result<(), PasteFault> {
        let (answer, verdict) = oneshot::channel();
        let paste = Paste { address: address.to_owned(), answer };
        self.pastes.send(paste).await.map_err(|_| PasteFault::Over)?;
        verdict.await.unwrap_or(Err(PasteFault::Over))
    }

    /// Ends the attempt and frees the port.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Tells whether both are handles of one attempt.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.pastes.same_channel(&other.pastes)
    }
}

/// Who waits for the end of the exchange.
enum Waiting {
    Visitor(oneshot::Sender<Page>),
    Nobody,
}

impl SignIn {
    pub(super) async fn prepare(account: Account) -> Result<Self, AccountError> {
        let listener = Listener::bind().await.ok_or(AccountError::PortsTaken)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256_len(64);
        let exchange = account.exchange();
        let configuration = |err: oauth2::url::ParseError| AccountError::Configuration { why: err.to_string() };
        let auth = AuthUrl::new(exchange.platform.authorize()).map_err(configuration)?;
        let redirect = RedirectUrl::new(listener.redirect_uri()).map_err(configuration)?;
        let client =
            BasicClient::new(ClientId::new(exchange.client_id.clone())).set_auth_uri(auth).set_redirect_uri(redirect);
        let (url, state) = client
            .authorize_url(|| CsrfToken::new_random_len(32))
            .add_scope(Scope::new(SCOPE.to_owned()))
            .set_pkce_challenge(challenge)
            .url();
        // Room for one: a second paste waits until the first is judged.
        let (pastes, pasted) = mpsc::channel(1);
        Ok(Self {
            account,
            listener,
            authorize_url: url.into(),
            state: SecretString::from(state.into_secret()),
            verifier: SecretString::from(verifier.into_secret()),
            handle: SignInHandle { pastes, cancel: CancellationToken::new() },
            pastes: pasted,
        })
    }

    /// Returns the page to open in a browser. The listener answers from the moment [`SignIn::finish`] runs; earlier
    /// visits wait.
    #[must_use]
    pub fn authorize_url(&self) -> &str {
        &self.authorize_url
    }

    /// Returns the handle by which the person pastes or cancels.
    #[must_use]
    pub fn handle(&self) -> SignInHandle {
        self.handle.clone()
    }

    /// Waits for the person, exchanges the code, stores the tokens, then frees the port. The account's view tells the
    /// end at once; this returns about two seconds later, when browsers that visit twice have seen their page.
    ///
    /// # Errors
    /// [`AccountError`]; tokens from before stay as they were.
    pub async fn finish(self) -> Result<(), AccountError> {
        let account = self.account.clone();
        let handle = self.handle.clone();
        let ended = self.run().await;
        account.sign_in_ended(&handle, ended.as_ref().err());
        ended
    }

    async fn run(mut self) -> Result<(), AccountError> {
        let (knock, mut knocks) = mpsc::channel(4);
        let mut visitors = JoinSet::new();
        let deadline = Instant::now() + SIGN_IN_LIFE;
        let mut wrong_states = 0;
        let found = loop {
            tokio::select! {
                visitor = self.listener.accept() => {
                    visitors.spawn(visitor.serve(knock.clone()));
                }
                Some(_) = visitors.join_next() => {}
                Some(Knock { target, answer }) = knocks.recv() => {
                    let page = match judge(&target, &self.state) {
                        Visit::Code(code) => break Ok((code, Waiting::Visitor(answer))),
                        Visit::Failed(error) => {
                            let _ = answer.send(Page::Denied);
                            break Err(AccountError::Denied { error });
                        }
                        Visit::Elsewhere => Page::NotFound,
                        Visit::WrongState => {
                            wrong_states += 1;
                            Page::WrongState
                        }
                    };
                    let _ = answer.send(page);
                    if wrong_states >= MAX_WRONG_STATES {
                        break Err(AccountError::TooManyStrays);
                    }
                }
                Some(Paste { address, answer }) = self.pastes.recv() => {
                    let visit = pasted_target(&address, self.listener.port()).map(|target| judge(&target, &self.state));
                    let verdict = match visit {
                        Ok(Visit::Code(code)) => {
                            let _ = answer.send(Ok(()));
                            break Ok((code, Waiting::Nobody));
                        }
                        Ok(Visit::Failed(error)) => {
                            let _ = answer.send(Ok(()));
                            break Err(AccountError::Denied { error });
                        }
                        Ok(Visit::WrongState) => PasteFault::WrongState,
                        Ok(Visit::Elsewhere) => PasteFault::OtherAddress,
                        Err(fault) => fault,
                    };
                    let _ = answer.send(Err(verdict));
                }
                () = self.handle.cancel.cancelled() => break Err(AccountError::Cancelled),
                () = sleep_until(deadline) => break Err(AccountError::TimedOut),
            }
        };
        self.pastes.close();
        let ended = match found {
            Ok((code, waiting)) => self.exchange(code, waiting, &knock, &mut knocks, &mut visitors).await,
            Err(err) => Err(err),
        };
        // The port first: whoever sees that the attempt is over may start the next one on it.
        drop(self.listener);
        self.account.sign_in_ended(&self.handle, ended.as_ref().err());
        drop((knock, knocks));
        let _ = tokio::time::timeout(LAST_PAGES, async { while visitors.join_next().await.is_some() {} }).await;
        ended
    }

    /// Exchanges the code once, whoever visits meanwhile and shortly after.
    async fn exchange(
        &mut self,
        code: String,
        first: Waiting,
        knock: &mpsc::Sender<Knock>,
        knocks: &mut mpsc::Receiver<Knock>,
        visitors: &mut JoinSet<()>,
    ) -> Result<(), AccountError> {
        let account = self.account.clone();
        let verifier = PkceCodeVerifier::new(self.verifier.expose_secret().to_owned());
        let grant = CodeGrant { code, verifier, redirect_uri: self.listener.redirect_uri() };
        let work = account.exchange_code(grant);
        tokio::pin!(work);
        let mut waiting: Vec<oneshot::Sender<Page>> = match first {
            Waiting::Visitor(answer) => vec![answer],
            Waiting::Nobody => Vec::new(),
        };
        let mut ended = None;
        let mut until = Instant::now() + SIGN_IN_LIFE;
        loop {
            tokio::select! {
                result = &mut work, if ended.is_none() => {
                    // Stored here and not in `work`: cancelling must not leave it open whether it was.
                    let result = match result {
                        Ok(tokens) => account.adopt_in_turn(tokens).await,
                        Err(err) => Err(err),
                    };
                    account.sign_in_ended(&self.handle, result.as_ref().err());
                    for answer in waiting.drain(..) {
                        let _ = answer.send(page_for(&result));
                    }
                    until = Instant::now() + LINGER;
                    ended = Some(result);
                }
                visitor = self.listener.accept() => {
                    visitors.spawn(visitor.serve(knock.clone()));
                }
                Some(_) = visitors.join_next() => {}
                Some(Knock { target, answer }) = knocks.recv() => {
                    match (judge(&target, &self.state), &ended) {
                        (Visit::Code(_) | Visit::Failed(_), None) => waiting.push(answer),
                        (Visit::Code(_) | Visit::Failed(_), Some(ended)) => {
                            let _ = answer.send(page_for(ended));
                        }
                        (Visit::Elsewhere, _) => {
                            let _ = answer.send(Page::NotFound);
                        }
                        (Visit::WrongState, _) => {
                            let _ = answer.send(Page::WrongState);
                        }
                    }
                }
                () = self.handle.cancel.cancelled() => return ended.unwrap_or(Err(AccountError::Cancelled)),
                () = sleep_until(until) => return ended.unwrap_or(Err(AccountError::TimedOut)),
            }
        }
    }
}

fn page_for(ended: &Result<(), AccountError>) -> Page {
    if ended.is_ok() { Page::SignedIn } else { Page::Failed }
}

#[cfg(test)]
#[path = "sign_in_tests.rs"]
mod tests;
