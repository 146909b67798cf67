//! Signing in and taking the sign-in back. A running engine does it itself, so that there is one pair of tokens.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use drawbridge_core::{SystemClock, escape_outside_text};
use drawbridge_engine::account::{Account, AccountError, AccountOptions, PlatformUrl, PlatformUrlFault};
use drawbridge_engine::accounts::{Chosen, Fixed, open_book};
use drawbridge_engine::control::Client;
use drawbridge_engine::managed::check_platform;
use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::view::AccountState;
use drawbridge_engine::{Command, Reply};
use drawbridge_os::private;
use drawbridge_store::accounts::DEFAULT;
use drawbridge_store::config::{FlagOverrides, Loaded};
use drawbridge_store::secrets::NoPlaceForSecrets;
use tokio::sync::mpsc;

use crate::args::AuthArgs;
use crate::coded::{CONFIGURATION, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{accounts, browser, configuration, out, signals};

/// How often the engine is asked how the sign-in goes.
const LOOK: Duration = Duration::from_millis(200);
/// The engine's picture may be behind by so much.
const PICTURE_LAG: Duration = Duration::from_secs(1);

pub(crate) async fn sign_in(args: AuthArgs) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let wanted = Wanted::find(&place, args.profile.as_deref(), args.platform_url, args.client_id).await?;
    let made = wanted.made.clone();
    let done = sign_in_to(&place, wanted, args.no_browser).await;
    if let (Some(id), Err(_)) = (&made, &done) {
        // An address with a slip of the pen would stay for ever.
        if let Err(fault) = accounts::remove_quietly(&place, id).await {
            out::complain(&format!("the new account {id} stays, signed out: {fault:#}"));
        }
    }
    done
}

async fn sign_in_to(place: &Place, wanted: Wanted, no_browser: bool) -> anyhow::Result<u8> {
    if let Some(mut client) = place.engine().await? {
        let now = client.snapshot().await?.account;
        // An engine of an earlier version has one account, and does not name it.
        let its = now.id == wanted.chosen.id || now.id.is_empty();
        if its && wanted.named && now.platform_url != wanted.chosen.platform.shown() {
            let other = escape_outside_text(&now.platform_url);
            bail!("Drawbridge is running with this account at {other}, so nothing was done; end it first");
        }
        if its {
            return by_engine(client, no_browser).await;
        }
    }
    let id = wanted.chosen.id.clone();
    let code = by_ourselves(open(place, wanted).await?, no_browser).await?;
    if accounts::of_start(place).is_ok_and(|in_use| in_use.id != id) {
        out::complain(&format!("another account is in use; `drawbridge accounts use {id}` makes it this one"));
    }
    Ok(code)
}

async fn by_ourselves(account: Account, no_browser: bool) -> anyhow::Result<u8> {
    let ended = signals::ended()?;
    let attempt = account.sign_in().await.map_err(with_code)?;
    show(attempt.authorize_url(), no_browser)?;
    let mut pasted = pasted_lines();
    let finish = attempt.finish();
    tokio::pin!(finish, ended);
    let mut cancelled = false;
    loop {
        tokio::select! {
            done = &mut finish => {
                done.map_err(with_code)?;
                out::complain("you are signed in");
                return Ok(0);
            }
            () = &mut ended, if !cancelled => {
                cancelled = true;
                account.cancel_sign_in();
            }
            Some(address) = pasted.recv() => {
                if let Err(fault) = account.paste_redirect(&address).await {
                    out::complain(&fault.to_string());
                }
            }
        }
    }
}

async fn by_engine(mut client: Client, no_browser: bool) -> anyhow::Result<u8> {
    let ended = signals::ended()?;
    tokio::pin!(ended);
    let Reply::AuthorizeUrl { url } = client.send(&Command::SignIn).await? else { return Err(odd_answer()) };
    show(&url, no_browser)?;
    let mut pasted = pasted_lines();
    let started = tokio::time::Instant::now();
    let mut round = tokio::time::interval(LOOK);
    let mut seen = false;
    loop {
        tokio::select! {
            () = &mut ended => {
                client.send(&Command::CancelSignIn).await?;
                bail!("the sign-in was cancelled; nothing was stored");
            }
            Some(address) = pasted.recv() => {
                if let Err(fault) = client.send(&Command::PasteRedirect { address }).await {
                    out::complain(&fault.to_string());
                }
            }
            _ = round.tick() => {
                let now = client.snapshot().await?.account;
                if now.state == AccountState::SigningIn {
                    seen = true;
                    if now.authorize_url.as_ref().is_some_and(|other| *other != url) {
                        bail!("another sign-in was started meanwhile; finish that one");
                    }
                    continue;
                }
                if !seen && started.elapsed() < PICTURE_LAG {
                    continue;
                }
                return match (now.state, now.problem) {
                    (AccountState::SignedIn, None) => {
                        out::complain("you are signed in");
                        Ok(0)
                    }
                    (_, problem) => bail!("{}", escape_outside_text(&problem.unwrap_or_else(|| "you are not signed in".to_owned()))),
                };
            }
        }
    }
}

pub(crate) async fn revoke(profile: Option<String>) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        bail!("you are not signed in, so there is nothing to revoke");
    }
    // Here, the contract knows 0 and 1 alone.
    let kept = |fault: anyhow::Error| anyhow::anyhow!("{fault:#}; nothing was revoked");
    let wanted = Wanted::of(&place, profile.as_deref()).map_err(kept)?;
    // Held to the end: no engine may start with tokens that are being revoked.
    let mut reach = place.reach().await?;
    if !by_its_engine(&mut reach, &wanted, &Command::SignOut).await? {
        open(&place, wanted).await.map_err(kept)?.revoke().await?;
    }
    out::complain("the sign-in was revoked at the platform and dropped here");
    Ok(0)
}

/// Drops the tokens of an account here alone.
pub(crate) async fn forget(profile: Option<String>) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        bail!("no sign-in is kept here");
    }
    let wanted = Wanted::of(&place, profile.as_deref())?;
    let mut reach = place.reach().await?;
    if !by_its_engine(&mut reach, &wanted, &Command::ForgetTokens).await? {
        open(&place, wanted).await?.forget().await?;
    }
    out::complain(
        "the tokens were dropped here alone; the platform still honours them until they end. To end them there too, take this computer's access back in the platform's own settings",
    );
    Ok(0)
}

/// Sends a command to the running engine if it uses this very account. False: it does not, or none runs.
async fn by_its_engine(reach: &mut Reach, wanted: &Wanted, command: &Command) -> anyhow::Result<bool> {
    let Reach::Running(client) = reach else { return Ok(false) };
    let now = client.snapshot().await?.account;
    // An engine of an earlier version has one account, and does not name it.
    let its = now.id == wanted.chosen.id || now.id.is_empty();
    if its {
        client.send(command).await?;
    }
    Ok(its)
}

/// The account that a command is about, with what it takes to reach its platform.
struct Wanted {
    chosen: Chosen,
    net: NetSettings,
    /// The command line names the platform or the client id.
    named: bool,
    /// This command added it, under this id.
    made: Option<String>,
}

impl Wanted {
    /// Finds an account: the named one, else the one that a start would use.
    ///
    /// # Errors
    /// There is none of this name, or its platform may not be used.
    fn of(place: &Place, profile: Option<&str>) -> anyhow::Result<Self> {
        let loaded = configuration::load(place, FlagOverrides::default())?;
        let configured = accounts::configured(&loaded);
        let book = open_book(&place.folders.state);
        let chosen = match profile {
            None => Chosen::of_start(&book, &configured, Fixed::of(&loaded)),
            Some(named) => match book.find(named) {
                Some(id) => Chosen::of(&book, &id, &configured),
                None => bail!("{}", accounts::unknown(&book, named)),
            },
        };
        Self::checked(&loaded, chosen, false, None)
    }

    /// As [`Wanted::of`], and adds the account if it is new. What the command line says of `default` holds for this once.
    ///
    /// # Errors
    /// As [`Wanted::of`]; or an account that is there has another address than the command line says.
    async fn find(
        place: &Place,
        profile: Option<&str>,
        platform_url: Option<String>,
        client_id: Option<String>,
    ) -> anyhow::Result<Self> {
        let named = platform_url.is_some() || client_id.is_some();
        let book = open_book(&place.folders.state);
        let known = profile.and_then(|named| book.find(named));
        let is_default = match profile {
            Some(_) => known.as_deref() == Some(DEFAULT),
            None => named || book.in_use() == DEFAULT,
        };
        if profile.is_none() && !is_default {
            return Self::of(place, None);
        }
        let flags = FlagOverrides { platform_url: platform_url.clone(), ..FlagOverrides::default() };
        let loaded = configuration::load(place, flags)?;
        let mut configured = accounts::configured(&loaded);
        if let Some(client_id) = &client_id {
            configured.client_id.clone_from(client_id);
        }
        match (profile, known) {
            (Some(name), None) => {
                let chosen = accounts::add_for_sign_in(place, &loaded, name, &configured).await?;
                let made = Some(chosen.id.clone());
                Self::checked(&loaded, Ok(chosen), named, made)
            }
            (_, Some(id)) if id != DEFAULT => {
                accounts::refuse_if_managed(&loaded)?;
                let chosen = Chosen::of(&book, &id, &configured);
                if let (Ok(chosen), true) = (&chosen, named) {
                    let asked =
                        PlatformUrl::parse(&configured.platform_url).map_err(|fault| as_configured(fault.into()))?;
                    let other_client = client_id.is_some_and(|client_id| client_id != chosen.client_id);
                    if other_client || (platform_url.is_some() && asked != chosen.platform) {
                        let (name, at) = (&chosen.name, chosen.platform.shown());
                        let why = format!(
                            "the account {name} is for {at} with the client id {}; take another name, or remove that account first",
                            chosen.client_id
                        );
                        return Err(coded(CONFIGURATION, anyhow::anyhow!(why)));
                    }
                }
                Self::checked(&loaded, chosen, false, None)
            }
            _ => {
                let fixed = named.then_some(Fixed::Run).or_else(|| Fixed::of(&loaded));
                let chosen = match profile {
                    Some(_) => Chosen::of(&book, DEFAULT, &configured),
                    None => Chosen::of_start(&book, &configured, fixed),
                };
                Self::checked(&loaded, chosen, named, None)
            }
        }
    }

    fn checked(
        loaded: &Loaded,
        chosen: Result<Chosen, PlatformUrlFault>,
        named: bool,
        made: Option<String>,
    ) -> anyhow::Result<Self> {
        let chosen = chosen.map_err(|fault| as_configured(fault.into()))?;
        check_platform(loaded.managed.as_ref(), &chosen.platform).map_err(|fault| as_configured(fault.into()))?;
        let config = &loaded.config;
        let net = NetSettings {
            proxy: config.proxy.url.clone(),
            no_proxy: config.proxy.no_proxy.clone(),
            extra_roots: config.tls.extra_roots.clone(),
        };
        Ok(Self { chosen, net, named, made })
    }
}

fn as_configured(fault: anyhow::Error) -> anyhow::Error {
    coded(CONFIGURATION, fault)
}

/// Opens an account of this state folder. Dials nobody.
async fn open(place: &Place, wanted: Wanted) -> anyhow::Result<Account> {
    let net = NetConfig::new(&wanted.net).map_err(|fault| as_configured(fault.into()))?;
    private::create_folder(&place.folders.state).map_err(|fault| as_configured(fault.into()))?;
    let for_blocking = place.clone();
    let secrets = tokio::task::spawn_blocking(move || for_blocking.secrets()).await?;
    let secrets = secrets.map_err(|fault: NoPlaceForSecrets| as_configured(fault.into()))?;
    let vault = Arc::new(wanted.chosen.vault(secrets, &place.folders.state));
    let Chosen { id, platform, client_id, .. } = wanted.chosen;
    let options = AccountOptions { id, platform, client_id, net, vault, clock: Arc::new(SystemClock) };
    Account::open(options).await.map_err(with_code)
}

fn with_code(fault: AccountError) -> anyhow::Error {
    if matches!(fault, AccountError::Store { .. } | AccountError::Configuration { .. }) {
        return coded(CONFIGURATION, fault);
    }
    fault.into()
}

/// Prints the page's address at once, alone on its line, and opens it unless that is not wanted.
fn show(address: &str, no_browser: bool) -> anyhow::Result<()> {
    out::line(address)?;
    if std::io::stdin().is_terminal() {
        out::complain("open this page in a browser; if it cannot come back here, paste the address where it ended up");
    }
    if !no_browser {
        browser::open(address);
    }
    Ok(())
}

/// Lines that a person pastes. Only from a terminal: whatever else stands at standard input is not for us.
fn pasted_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(4);
    if std::io::stdin().is_terminal() {
        // It waits in a read that nothing can end, so it is no task of the runtime.
        let reader = move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                    return;
                }
            }
        };
        drop(std::thread::Builder::new().name("paste".to_owned()).spawn(reader));
    }
    lines
}
