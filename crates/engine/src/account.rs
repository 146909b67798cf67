//! The account at the platform: sign-in, the token pair, refresh, revoke (spec section 1).
//!
//! Refresh tokens rotate as a family: using an old one again revokes them all. So there is one refresh at a time over
//! every link and every process, the stored pair is read again after waiting for the turn, and a new pair is stored before
//! its first use. This module opens no browser and dials no link.

mod callback;
mod exchange;
mod listener;
mod platform;
mod sign_in;
mod tokens;
mod vault;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::{Clock, WallMs};
use secrecy::SecretString;
use tokio::sync::watch;

pub use callback::PasteFault;
pub use platform::{PlatformUrl, PlatformUrlFault};
pub use sign_in::{SignIn, SignInHandle};
pub use tokens::{Bearer, Tokens};
pub use vault::{TokenVault, VaultFault};

use crate::net::NetConfig;
use crate::view::{AccountState, AccountView};
use exchange::{CodeGrant, Exchange};

/// Why something about the account did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// There are no tokens.
    #[error("you are not signed in; sign in first")]
    SignedOut,
    /// The platform does not accept the code or the refresh token any more.
    #[error("the platform refused the sign-in ({status}); sign in again")]
    Refused {
        /// Its HTTP status.
        status: u16,
    },
    /// The platform does not know this program's client id, or takes it for another kind of client.
    #[error("the platform does not know this client id (401); check oauth_client_id and platform_url in config.toml")]
    UnknownClient,
    /// The platform cannot be reached, or is not well. Everything is kept; trying again makes sense.
    #[error("the platform cannot be reached: {why}; your tokens are kept, try again later")]
    Unreachable {
        /// In words.
        why: String,
    },
    /// The platform's answer makes no sense to us.
    #[error("the sign-in did not work: {why}")]
    Unusable {
        /// In words.
        why: String,
    },
    /// An address cannot be used as it is configured.
    #[error("the sign-in cannot be set up: {why}")]
    Configuration {
        /// In words.
        why: String,
    },
    /// The place for secrets did not work.
    #[error("the tokens cannot be read or stored: {why}")]
    Store {
        /// In words.
        why: String,
    },
    /// The platform did not revoke a token.
    #[error("the platform did not revoke the tokens ({status}); they are kept, try again")]
    RevokeRefused {
        /// Its HTTP status.
        status: u16,
    },
    /// The person said no at the platform, or the platform ended the attempt.
    #[error("the platform did not give access ({}); nothing was stored", shown_error(.error))]
    Denied {
        /// The OAuth error, as the platform wrote it.
        error: String,
    },
    /// None of the registered ports is free.
    #[error(
        "all ports from 41899 to 41910 are in use, so the browser could not come back; nothing was stored, close another sign-in and try again"
    )]
    PortsTaken,
    /// Nobody finished the page in time.
    #[error("nobody finished the sign-in page within 5 minutes; nothing was stored, start it again")]
    TimedOut,
    /// Too many visits with a wrong state.
    #[error("too many visits with a wrong sign-in state came; nothing was stored, start it again")]
    TooManyStrays,
    /// The person gave up.
    #[error("the sign-in was cancelled; nothing was stored")]
    Cancelled,
}

impl AccountError {
    /// Tells whether the same call may work later without the person.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Store { .. } => true,
            Self::SignedOut
            | Self::Refused { .. }
            | Self::UnknownClient
            | Self::Unusable { .. }
            | Self::Configuration { .. }
            | Self::RevokeRefused { .. }
            | Self::Denied { .. }
            | Self::PortsTaken
            | Self::TimedOut
            | Self::TooManyStrays
            | Self::Cancelled => false,
        }
    }

    /// Returns the stable name, for the page and the control socket.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SignedOut => "signed_out",
            Self::Refused { .. } => "sign_in_refused",
            Self::UnknownClient => "unknown_client",
            Self::Unreachable { .. } => "platform_unreachable",
            Self::Unusable { .. } => "unusable_answer",
            Self::Configuration { .. } => "configuration",
            Self::Store { .. } => "secret_store",
            Self::RevokeRefused { .. } => "revoke_refused",
            Self::Denied { .. } => "denied",
            Self::PortsTaken => "ports_taken",
            Self::TimedOut => "timed_out",
            Self::TooManyStrays => "too_many_strays",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The OAuth error is text from outside.
fn shown_error(error: &str) -> String {
    drawbridge_core::shorten_middle(&drawbridge_core::escape_outside_text(error), 60)
}

/// What an account is made of.
#[derive(Debug)]
pub struct AccountOptions {
    /// The platform.
    pub platform: PlatformUrl,
    /// The OAuth client id.
    pub client_id: String,
    /// How to reach it.
    pub net: NetConfig,
    /// Where the tokens rest.
    pub vault: Arc<dyn TokenVault>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}

/// What a refresh brought.
#[derive(Debug, Clone)]
pub struct Renewal {
    /// The token to use now.
    pub bearer: Bearer,
    /// This call got it from the platform (audit `TOKEN_REFRESHED`); else somebody else had it renewed already.
    pub renewed: bool,
}

/// The account at the platform. Cheap to clone; all clones are one account.
#[derive(Debug, Clone)]
pub struct Account(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    exchange: Exchange,
    vault: Arc<dyn TokenVault>,
    clock: Arc<dyn Clock>,
    /// One refresh or revoke at a time in this process.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    view: watch::Sender<AccountView>,
}

#[derive(Debug, Default)]
struct State {
    tokens: Option<Tokens>,
    /// A new pair that could not be stored yet: it must not be used and must not be lost.
    unsaved: Option<Tokens>,
    sign_in: Option<SignInHandle>,
}

impl Account {
    /// Opens the account with what is stored.
    ///
    /// # Errors
    /// [`AccountError::Store`] when the place for secrets does not answer.
    pub async fn open(options: AccountOptions) -> Result<Self, AccountError> {
        let AccountOptions { platform, client_id, net, vault, clock } = options;
        let view = AccountView {
            state: AccountState::SignedOut,
            id: "default".to_owned(),
            platform_url: platform.shown().to_owned(),
            authorize_url: None,
            problem: None,
        };
        let account = Self(Arc::new(Inner {
            exchange: Exchange { platform, client_id, net },
            vault,
            clock,
            turn: tokio::sync::Mutex::new(()),
            state: Mutex::new(State::default()),
            view: watch::Sender::new(view),
        }));
        let tokens = account.in_vault(|vault| vault.load()).await?;
        account.keep(tokens);
        Ok(account)
    }

    /// Returns what the window shows of the account.
    #[must_use]
    pub fn view(&self) -> AccountView {
        self.0.view.borrow().clone()
    }

    /// Returns a receiver that always holds the newest view.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<AccountView> {
        self.0.view.subscribe()
    }

    /// Returns the platform.
    #[must_use]
    pub fn platform(&self) -> &PlatformUrl {
        &self.0.exchange.platform
    }

    /// Returns how to reach the platform; the dial uses the same.
    #[must_use]
    pub fn net(&self) -> &NetConfig {
        &self.0.exchange.net
    }

    /// Returns the token to dial with.
    ///
    /// # Errors
    /// [`AccountError::SignedOut`].
    pub fn bearer(&self) -> Result<Bearer, AccountError> {
        self.lock().tokens.as_ref().map(Tokens::bearer).ok_or(AccountError::SignedOut)
    }

    /// Returns a token other than the refused one: the one that another link or process got meanwhile, else a fresh one.
    /// Goes on to its end when the caller goes away, since a spent refresh token without its successor ends the sign-in.
    ///
    /// # Errors
    /// [`AccountError::SignedOut`]; [`AccountError::Refused`] when the person must sign in again; a passing one
    /// ([`AccountError::is_passing`]) when trying again makes sense.
    pub async fn refresh_if(&self, refused: &SecretString) -> Result<Renewal, AccountError> {
        let (account, refused) = (self.clone(), refused.clone());
        let work = tokio::spawn(async move { account.refresh_in_turn(&refused).await });
        work.await.unwrap_or_else(|_| Err(AccountError::Unreachable { why: "the refresh was ended".to_owned() }))
    }

    /// Returns when the next refresh in the background is due: at 80 % of the token's life. None when nobody knows.
    #[must_use]
    pub fn refresh_due(&self) -> Option<WallMs> {
        self.lock().tokens.as_ref().and_then(Tokens::refresh_due)
    }

    /// Refreshes if it is due now.
    ///
    /// # Errors
    /// As [`Account::refresh_if`].
    pub async fn refresh_if_due(&self) -> Result<Option<Renewal>, AccountError> {
        let due = self.refresh_due().is_some_and(|due| due <= self.0.clock.wall());
        if due { self.refresh_if(&self.bearer()?.token).await.map(Some) } else { Ok(None) }
    }

    /// Waits until no refresh or revoke is under way. To be called before the process ends.
    pub async fn settle(&self) {
        drop(self.0.turn.lock().await);
    }

    /// Reads the stored pair again, after another process signed in or out.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn reload(&self) -> Result<(), AccountError> {
        let _turn = self.0.turn.lock().await;
        let tokens = self.in_vault(|vault| vault.load()).await?;
        self.keep(tokens);
        Ok(())
    }

    /// Binds a port and makes the page's address. An attempt that still runs is given up first.
    ///
    /// # Errors
    /// [`AccountError::PortsTaken`], [`AccountError::Configuration`].
    pub async fn sign_in(&self) -> Result<SignIn, AccountError> {
        self.cancel_sign_in();
        let sign_in = SignIn::prepare(self.clone()).await?;
        self.lock().sign_in = Some(sign_in.handle());
        self.0.view.send_modify(|view| {
            view.state = AccountState::SigningIn;
            view.authorize_url = Some(sign_in.authorize_url().to_owned());
            view.problem = None;
        });
        Ok(sign_in)
    }

    /// Gives the running sign-in the address where the browser ended up.
    ///
    /// # Errors
    /// [`PasteFault`]; the attempt goes on.
    pub async fn paste_redirect(&self, address: &str) -> Result<(), PasteFault> {
        let handle = self.lock().sign_in.clone();
        match handle {
            Some(handle) => handle.paste(address).await,
            None => Err(PasteFault::Over),
        }
    }

    /// Gives up a running sign-in.
    pub fn cancel_sign_in(&self) {
        let handle = self.lock().sign_in.take();
        if let Some(handle) = handle {
            handle.cancel();
        }
    }

    /// Revokes both tokens at the platform and drops them here only when both went well. Stop the links first: the
    /// platform closes them.
    ///
    /// # Errors
    /// [`AccountError`]; the tokens are kept then.
    pub async fn revoke(&self) -> Result<(), AccountError> {
        let _turn = self.0.turn.lock().await;
        let _everywhere = self.in_vault(|vault| vault.turn()).await?;
        let tokens = self.in_vault(|vault| vault.load()).await?.ok_or(AccountError::SignedOut)?;
        let exchange = &self.0.exchange;
        for (token, hint) in [(&tokens.access, "access_token"), (&tokens.refresh, "refresh_token")] {
            if !secrecy::ExposeSecret::expose_secret(token).is_empty() {
                exchange.revoke(token, hint).await.inspect_err(|err| self.show_problem(err))?;
            }
        }
        self.in_vault(|vault| vault.clear()).await?;
        self.keep(None);
        Ok(())
    }

    /// Drops the tokens here alone. The platform still honours them.
    ///
    /// # Errors
    /// [`AccountError::Store`].
    pub async fn forget(&self) -> Result<(), AccountError> {
        let _turn = self.0.turn.lock().await;
        let _everywhere = self.in_vault(|vault| vault.turn()).await?;
        self.in_vault(|vault| vault.clear()).await?;
        self.keep(None);
        Ok(())
    }

    /// Shows that the platform refused a token for good (second 401, or 403).
    pub fn refused(&self) {
        self.0.view.send_modify(|view| {
            view.state = AccountState::Refused;
            view.problem = Some("the platform refused your sign-in; sign in again".to_owned());
        });
    }

    async fn refresh_in_turn(&self, refused: &SecretString) -> Result<Renewal, AccountError> {
        let _turn = self.0.turn.lock().await;
        if let Some(bearer) = self.other_than(refused) {
            return Ok(Renewal { bearer, renewed: false });
        }
        let _everywhere = self.in_vault(|vault| vault.turn()).await?;
        let unsaved = self.lock().unsaved.take();
        if let Some(tokens) = unsaved {
            return self.save_renewed(tokens).await;
        }
        let stored = self.in_vault(|vault| vault.load()).await?;
        self.keep(stored.clone());
        let stored = stored.ok_or(AccountError::SignedOut)?;
        if let Some(bearer) = self.other_than(refused) {
            return Ok(Renewal { bearer, renewed: false });
        }
        match self.0.exchange.refresh(&stored.refresh, self.0.clock.wall()).await {
            Ok(fresh) => self.save_renewed(fresh).await,
            Err(err) => {
                if let AccountError::Refused { .. } = err {
                    self.refused();
                } else {
                    self.show_problem(&err);
                }
                Err(err)
            }
        }
    }

    async fn save_renewed(&self, fresh: Tokens) -> Result<Renewal, AccountError> {
        let bearer = fresh.bearer();
        match self.adopt(fresh.clone()).await {
            Ok(()) => Ok(Renewal { bearer, renewed: true }),
            Err(err) => {
                // The old refresh token is spent: without this pair the sign-in would be lost.
                self.lock().unsaved = Some(fresh);
                Err(err)
            }
        }
    }

    fn other_than(&self, refused: &SecretString) -> Option<Bearer> {
        let state = self.lock();
        state.tokens.as_ref().filter(|tokens| !tokens::same(&tokens.access, refused)).map(Tokens::bearer)
    }

    fn exchange(&self) -> &Exchange {
        &self.0.exchange
    }

    async fn exchange_code(&self, grant: CodeGrant) -> Result<Tokens, AccountError> {
        self.0.exchange.code(grant, self.0.clock.wall()).await
    }

    /// Stores a new pair and only then uses it.
    async fn adopt(&self, tokens: Tokens) -> Result<(), AccountError> {
        let stored = tokens.clone();
        self.in_vault(move |vault| vault.save(&stored)).await.inspect_err(|err| self.show_problem(err))?;
        self.keep(Some(tokens));
        Ok(())
    }

    fn keep(&self, tokens: Option<Tokens>) {
        let state = if tokens.is_some() { AccountState::SignedIn } else { AccountState::SignedOut };
        let mut inner = self.lock();
        inner.tokens = tokens;
        inner.unsaved = None;
        drop(inner);
        self.0.view.send_modify(|view| {
            if view.state != AccountState::SigningIn {
                view.state = state;
            }
            view.problem = None;
        });
    }

    /// Shows how a sign-in ended, unless a newer attempt runs already.
    fn sign_in_ended(&self, attempt: &SignInHandle, problem: Option<&AccountError>) {
        let mut state = self.lock();
        match &state.sign_in {
            Some(running) if !running.is(attempt) => return,
            // Cancelled by a newer attempt, or told already.
            None if self.0.view.borrow().state != AccountState::SigningIn => return,
            Some(_) | None => state.sign_in = None,
        }
        let signed_in = state.tokens.is_some();
        drop(state);
        self.0.view.send_modify(|view| {
            view.state = if signed_in { AccountState::SignedIn } else { AccountState::SignedOut };
            view.authorize_url = None;
            view.problem = problem.map(ToString::to_string);
        });
    }

    fn show_problem(&self, err: &AccountError) {
        self.0.view.send_modify(|view| view.problem = Some(err.to_string()));
    }

    async fn in_vault<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TokenVault) -> Result<T, VaultFault> + Send + 'static,
    ) -> Result<T, AccountError> {
        let vault = self.0.vault.clone();
        let done = tokio::task::spawn_blocking(move || work(vault.as_ref())).await;
        let ended = |_| VaultFault("Drawbridge is shutting down".to_owned());
        done.map_err(ended).flatten().map_err(|fault| AccountError::Store { why: fault.0 })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
