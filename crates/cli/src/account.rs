//! Signing in and taking the sign-in back. A running engine does it itself, so that there is one pair of tokens.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use drawbridge_core::{SystemClock, escape_outside_text};
use drawbridge_engine::account::{Account, AccountError, AccountOptions, PlatformUrl};
use drawbridge_engine::control::Client;
use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::token_vault::SecretVault;
use drawbridge_engine::view::AccountState;
use drawbridge_engine::{Command, Reply};
use drawbridge_os::private;
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::secrets::NoPlaceForSecrets;
use tokio::sync::mpsc;

use crate::coded::{CONFIGURATION, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{browser, configuration, out, signals};

/// How often the engine is asked how the sign-in goes.
const LOOK: Duration = Duration::from_millis(200);
/// The engine's picture may be behind by so much.
const PICTURE_LAG: Duration = Duration::from_secs(1);

pub(crate) async fn sign_in(no_browser: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if let Some(client) = place.engine().await? {
        return by_engine(client, no_browser).await;
    }
    let account = open(&place).await?;
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

pub(crate) async fn revoke() -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        bail!("you are not signed in, so there is nothing to revoke");
    }
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::SignOut).await?),
        Reach::Stopped(_owner) => match open(&place).await {
            // Here, the contract knows 0 and 1 alone.
            Err(fault) => bail!("{fault:#}; nothing was revoked"),
            Ok(account) => account.revoke().await?,
        },
    }
    out::complain("the sign-in was revoked at the platform and dropped here");
    Ok(0)
}

/// Opens the account of this state folder. Dials nobody.
async fn open(place: &Place) -> anyhow::Result<Account> {
    let config = configuration::load(place, FlagOverrides::default())?.config;
    let configured = |fault: anyhow::Error| coded(CONFIGURATION, fault);
    let platform = PlatformUrl::parse(&config.platform_url).map_err(|fault| configured(fault.into()))?;
    let net =
        NetSettings { proxy: config.proxy.url, no_proxy: config.proxy.no_proxy, extra_roots: config.tls.extra_roots };
    let net = NetConfig::new(&net).map_err(|fault| configured(fault.into()))?;
    private::create_folder(&place.folders.state).map_err(|fault| configured(fault.into()))?;
    let for_blocking = place.clone();
    let secrets = tokio::task::spawn_blocking(move || for_blocking.secrets()).await?;
    let secrets = secrets.map_err(|fault: NoPlaceForSecrets| configured(fault.into()))?;
    let options = AccountOptions {
        platform,
        client_id: config.oauth_client_id,
        net,
        vault: Arc::new(SecretVault::new(secrets, place.folders.state.clone())),
        clock: Arc::new(SystemClock),
    };
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
