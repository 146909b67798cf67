//! The engine in the foreground (`cli.md`). There is no window here: whatever is not configured and would need a question
//! is refused, unless questions may be answered by `drawbridge answer`.

mod answers;

use std::time::Duration;

use anyhow::anyhow;
use drawbridge_engine::{Command, Engine, EngineOptions, ExitKind, Host, StartError};
use drawbridge_policy::{PolicyState, ShellMode};
use drawbridge_store::config::{Config, FlagOverrides, Loaded};
use drawbridge_store::log;
use drawbridge_store::state_dir::OwnerFault;

use crate::args::{ShellChoice, StartArgs};
use crate::coded::{CONFIGURATION, PROTOCOL, coded};
use crate::place::Place;
use crate::{configuration, out, signals};
use answers::AnswerSecret;

/// So long may the orderly end take; a service manager kills soon after.
const END_WITHIN: Duration = Duration::from_millis(5500);
/// A command on a stopped engine owns the state folder for a moment; so long is that waited for.
const OWNER_WAIT: Duration = Duration::from_secs(3);
const OWNER_LOOK: Duration = Duration::from_millis(50);

pub(crate) async fn run(args: StartArgs) -> anyhow::Result<u8> {
    if args.enable_recording {
        return Err(coded(CONFIGURATION, anyhow!("recording is not offered, so nothing was started")));
    }
    if let Some(problem) = log::start() {
        out::complain(&problem);
    }
    let place = Place::from_env()?;
    log::keep_in(&place.folders.logs);
    let loaded = configuration::load(&place, flags(&args))?;
    tell_what_stays_off(&loaded.config);
    let mut options = options(&place, &loaded);
    for overruled in options.managed.told() {
        out::complain(&overruled);
    }
    options.legacy = args.session_id.zip(args.allowed_root);
    let secret = AnswerSecret::make(&loaded.config, args.secret_file)?;
    options.answer_secret = secret.as_ref().map(AnswerSecret::value);
    options.can_ask = secret.is_some();
    let ended = signals::ended()?;

    let engine = match start(&place, options).await {
        Ok(engine) => engine,
        Err(fault) => return Err(coded(fault.exit_code(), fault)),
    };
    if let Some(secret) = &secret {
        let handle = engine.handle();
        if let Err(fault) = secret.tell(&handle.snapshot()) {
            engine.stop();
            engine.wait().await;
            return Err(coded(CONFIGURATION, fault));
        }
    }
    let exit = until_ended(engine, ended).await;
    Ok(exit_code(&exit, args.service))
}

/// Starts the engine. A short command may own the folder at this very moment; another engine is told at once.
async fn start(place: &Place, options: EngineOptions) -> Result<Engine, StartError> {
    let give_up = tokio::time::Instant::now() + OWNER_WAIT;
    loop {
        match Engine::start(options.clone()).await {
            Err(StartError::Owner(OwnerFault::Owned { .. }))
                if tokio::time::Instant::now() < give_up && !matches!(place.engine().await, Ok(Some(_))) =>
            {
                tokio::time::sleep(OWNER_LOOK).await;
            }
            started => return started,
        }
    }
}

async fn until_ended(engine: Engine, ended: impl Future<Output = ()>) -> ExitKind {
    let handle = engine.handle();
    let wait = engine.wait();
    tokio::pin!(wait);
    tokio::select! {
        exit = &mut wait => return exit,
        () = ended => {}
    }
    let end = async {
        // An engine that is ending by itself needs no command.
        let _ = handle.send(Command::Shutdown).await;
        wait.await
    };
    tokio::time::timeout(END_WITHIN, end).await.unwrap_or_else(|_| {
        out::complain("the orderly end took too long, so it was cut short");
        ExitKind::Stopped
    })
}

fn exit_code(exit: &ExitKind, service: bool) -> u8 {
    match exit {
        ExitKind::Stopped => {}
        ExitKind::Protocol(why) => out::complain(&format!("the platform ended it: {why}")),
        ExitKind::Auth(why) => out::complain(&format!("{why}; sign in with `drawbridge auth`")),
    }
    match exit.code() {
        // The service manager must not start it again and again.
        PROTOCOL if service => 0,
        code => code,
    }
}

fn flags(args: &StartArgs) -> FlagOverrides {
    let on = |flag: bool| flag.then_some(true);
    FlagOverrides {
        platform_url: args.platform_url.clone(),
        enable_shell: on(args.enable_shell),
        shell_mode: args.shell.map(|choice| match choice {
            ShellChoice::Confined => ShellMode::Confined,
            ShellChoice::Full => ShellMode::Full,
        }),
        enable_computer_use: on(args.enable_computer_use),
        enable_clipboard: on(args.enable_clipboard),
        enable_clipboard_read_foreign: on(args.enable_clipboard_read_foreign),
        enable_local_llm: on(args.enable_local_llm),
        enable_hardware: on(args.enable_hardware),
    }
}

fn options(place: &Place, loaded: &Loaded) -> EngineOptions {
    EngineOptions::from_config(loaded, place.folders.clone(), Host::Headless)
}

/// Returns the policy that a start with this configuration and these stored settings would hold.
pub(crate) fn policy(place: &Place, loaded: &Loaded, stored: &PolicyState) -> PolicyState {
    let options = options(place, loaded);
    options.overlay.over(stored, options.can_ask)
}

/// Nobody should believe that a switch does something which does nothing.
fn tell_what_stays_off(config: &Config) {
    if config.enable_clipboard_read_foreign && !config.enable_clipboard {
        out::complain("enable_clipboard_read_foreign does nothing while enable_clipboard is off");
    }
}
