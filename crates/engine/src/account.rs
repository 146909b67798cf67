//! The account at the platform: sign-in, the token pair, refresh, revoke (spec section 1).
//!
//! Refresh tokens rotate as a family: using an old one again revokes them all. So there is one refresh at a time over
//! every link and every process, the stored pair is read again after waiting for the turn, and a new pair is stored before
//! its first use. A pair is sent to the platform it came from and to no other. This module opens no browser and dials no
//! link; which accounts there are is in [`crate::accounts`].

mod callback;
mod error;
mod exchange;
mod listener;
mod platform;
mod sign_in;
mod tokens;
mod vault;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use drawbridge_core::Clock;
use secrecy::SecretString;
use tokio::sync::watch;

pub use callback::PasteFault;
pub use error::AccountError;
pub(crate) use listener::PORTS as SIGN_IN_PORTS;
pub use platform::{PlatformUrl, PlatformUrlFault};
pub use sign_in::{SignIn, SignInHandle};
pub use tokens::{Bearer, TokenOrigin, Tokens};
pub use vault::{TokenVault, VaultFault};

use crate::net::NetConfig;
use crate::view::{AccountState, AccountView};
use exchange::{CodeGrant, Exchange};

fn tell(view: &mut AccountView, problem: Option<&AccountError>) {
    view.problem = problem.map(ToString::to_string);
    view.problem_code = problem.map(|err| err.code().to_owned());
    view.kept_for = match problem {
        Some(AccountError::OtherPlatform { kept, .. }) => Some(kept.clone()),
        Some(_) | None => None,
    };
}

/// What an account is made of.
#[derive(Debug)]
pub struct AccountOptions {
    /// Its stable id: `default`, or as it was added.
    pub id: String,
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
    /// When this process got the pair, by the clock that never jumps; none for a pair that was read.
    got: Option<Instant>,
    /// The platform refused the pair for good: asking again by ourselves is no use.
    refused: bool,
    /// A pair is stored that is for somebody else.
    foreign: Option<TokenOrigin>,
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
        let AccountOptions { id, platform, client_id, net, vault, clock } = options;
        let view = AccountView {
            state: AccountState::SignedOut,
            id,
            platform_url: platform.shown().to_owned(),
            authorize_url: None,
            problem: None,
            problem_code: None,
            kept_for: None,
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
    /// [`AccountError::SignedOut`]; [`AccountError::OtherPlatform`] when what is kept must not be sent here.
    pub fn bearer(&self) -> Result<Bearer, AccountError> {
        let state = self.lock();
        match (&state.tokens, &state.foreign) {
            (Some(tokens), _) => Ok(tokens.bearer()),
            (None, Some(origin)) => Err(self.other_platform(origin)),
            (None, None) => Err(AccountError::SignedOut),
        }
    }

    /// Tells whether tokens are kept for it, whatever the platform thinks of them.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        let state = self.lock();
        state.tokens.is_some() || state.foreign.is_some()
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

    /// Refreshes if it is due now: at 80 % of the access token's life, or at once when the clock was put ahead of that.
    /// Nothing is due while nobody knows that life, and after the platform refused for good.
    ///
    /// # Errors
    /// As [`Account::refresh_if`].
    pub async fn refresh_if_due(&self) -> Result<Option<Renewal>, AccountError> {
        if self.refresh_is_due() { self.refresh_if(&self.bearer()?.token).await.map(Some) } else { Ok(None) }
    }

    fn refresh_is_due(&self) -> bool {
        let (now, wall) = (self.0.clock.now(), self.0.clock.wall());
        let state = self.lock();
        let Some(tokens) = state.tokens.as_ref().filter(|_| !state.refused) else { return false };
        let (Some(age), Some(start)) = (tokens.renewal_age(), tokens.obtained_at) else { return false };
        // The wall clock counts what the computer slept; the other one cannot be set. Each renewal sets both anew, so that a
        // clock that jumps costs one renewal at most.
        start.plus(age) <= wall || state.got.is_some_and(|got| now.saturating_duration_since(got) >= age)
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
            tell(view, None);
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
        let tokens = self.mine(tokens).map_err(|origin| self.other_platform(&origin))?;
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

    /// Shows that the platform refused a token for good (second 401, or 403). What is known better already stays.
    pub fn refused(&self) {
        self.lock().refused = true;
        self.0.view.send_modify(|view| {
            if view.state != AccountState::Expired && view.state != AccountState::Refused {
                view.state = AccountState::Refused;
                view.problem = Some("the platform refused your sign-in; sign in again".to_owned());
                view.problem_code = Some("sign_in_refused".to_owned());
            }
        });
    }

    /// Shows that the platform took the token, whatever was thought of it before.
    pub fn accepted(&self) {
        let mut state = self.lock();
        if state.tokens.is_none() {
            return;
        }
        state.refused = false;
        drop(state);
        self.0.view.send_if_modified(|view| {
            let wrong = matches!(view.state, AccountState::Expired | AccountState::Refused);
            if wrong {
                view.state = AccountState::SignedIn;
                tell(view, None);
            }
            wrong
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
        let stored = self.mine(stored).map_err(|origin| self.other_platform(&origin))?;
        if let Some(bearer) = self.other_than(refused) {
            return Ok(Renewal { bearer, renewed: false });
        }
        let cut_off = self.in_vault(|vault| Ok(vault.note_renewal(true))).await?;
        match self.0.exchange.refresh(&stored, self.0.clock.as_ref()).await {
            Ok(fresh) => self.save_renewed(fresh).await,
            Err(err) => {
                let err = self.judged(err, cut_off, &stored);
                // What may have been spent before may still be so while the platform cannot be asked.
                if !(cut_off && err.is_passing()) {
                    self.in_vault(|vault| Ok(vault.note_renewal(false))).await?;
                }
                self.show_refresh_fault(&err);
                Err(err)
            }
        }
    }

    /// Says better why the platform refused, where that is known.
    fn judged(&self, err: AccountError, cut_off: bool, tokens: &Tokens) -> AccountError {
        let AccountError::Refused { status } = err else { return err };
        if tokens.has_run_out(self.0.clock.wall(), false) {
            AccountError::RunOut
        } else if cut_off {
            AccountError::CutOff { status }
        } else {
            err
        }
    }

    fn show_refresh_fault(&self, err: &AccountError) {
        let state = if *err == AccountError::RunOut {
            AccountState::Expired
        } else if matches!(err, AccountError::Refused { .. } | AccountError::CutOff { .. }) {
            AccountState::Refused
        } else {
            return self.show_problem(err);
        };
        self.lock().refused = true;
        self.0.view.send_modify(|view| {
            if view.state != AccountState::SigningIn {
                view.state = state;
            }
            tell(view, Some(err));
        });
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
        self.0.exchange.code(grant, self.0.clock.as_ref()).await
    }

    /// Stores the pair of a new sign-in when no refresh is under way, here or in another process: its end would cover this one.
    async fn adopt_in_turn(&self, tokens: Tokens) -> Result<(), AccountError> {
        let _turn = self.0.turn.lock().await;
        let _everywhere = self.in_vault(|vault| vault.turn()).await?;
        self.adopt(tokens).await
    }

    /// Stores a new pair and only then uses it.
    async fn adopt(&self, tokens: Tokens) -> Result<(), AccountError> {
        let stored = tokens.clone();
        let save = move |vault: &dyn TokenVault| {
            vault.save(&stored)?;
            vault.note_renewal(false);
            Ok(())
        };
        self.in_vault(save).await.inspect_err(|err| self.show_problem(err))?;
        self.keep(Some(tokens));
        self.lock().got = Some(self.0.clock.now());
        Ok(())
    }

    /// Tells whether a pair is for this platform and client id. One that an earlier version stored is taken for it.
    fn mine(&self, tokens: Tokens) -> Result<Tokens, TokenOrigin> {
        match &tokens.origin {
            Some(origin) if *origin != self.0.exchange.origin() => Err(origin.clone()),
            Some(_) | None => Ok(tokens),
        }
    }

    fn other_platform(&self, kept: &TokenOrigin) -> AccountError {
        let here = self.0.exchange.origin();
        let named = |origin: &TokenOrigin, with_client: bool| {
            let platform = drawbridge_core::escape_outside_text(&origin.platform);
            let client = drawbridge_core::escape_outside_text(&origin.client_id);
            if with_client { format!("{platform} with the client id {client}") } else { platform }
        };
        let same_platform = kept.platform == here.platform;
        AccountError::OtherPlatform { kept: named(kept, same_platform), here: named(&here, same_platform) }
    }

    fn keep(&self, tokens: Option<Tokens>) {
        let (tokens, foreign) = match tokens.map(|tokens| self.mine(tokens)) {
            Some(Ok(tokens)) => (Some(tokens), None),
            Some(Err(origin)) => (None, Some(origin)),
            None => (None, None),
        };
        let run_out = tokens.as_ref().is_some_and(|tokens| tokens.has_run_out(self.0.clock.wall(), true));
        let now = match &tokens {
            Some(_) if run_out => AccountState::Expired,
            Some(_) => AccountState::SignedIn,
            None => AccountState::SignedOut,
        };
        let problem = foreign.as_ref().map(|origin| self.other_platform(origin));
        let mut state = self.lock();
        let as_before = match (&state.tokens, &tokens) {
            (Some(before), Some(after)) => tokens::same(&before.access, &after.access),
            _ => false,
        };
        if !as_before {
            state.got = None;
            state.refused = false;
        }
        let refused = state.refused;
        state.tokens = tokens;
        state.foreign = foreign;
        state.unsaved = None;
        drop(state);
        self.0.view.send_modify(|view| {
            // A pair that was refused is not better for being read again.
            if view.state != AccountState::SigningIn && !refused {
                view.state = now;
            }
            tell(view, problem.as_ref());
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
        let resting = match &state.tokens {
            Some(_) if state.refused => AccountState::Refused,
            Some(tokens) if tokens.has_run_out(self.0.clock.wall(), true) => AccountState::Expired,
            Some(_) => AccountState::SignedIn,
            None => AccountState::SignedOut,
        };
        drop(state);
        self.0.view.send_modify(|view| {
            view.state = resting;
            view.authorize_url = None;
            tell(view, problem);
        });
    }

    fn show_problem(&self, err: &AccountError) {
        self.0.view.send_modify(|view| tell(view, Some(err)));
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

#[cfg(test)]
#[path = "account/age_tests.rs"]
mod age_tests;
