//! The command line of Drawbridge (`cli.md`). It parses, asks the running engine over the control socket or works on the
//! state folder while none runs, and prints. Rules live in the engine; the one secret ever printed is the audit key, asked
//! for by name.

mod account;
mod accounts;
mod args;
mod audit;
mod autostart;
mod browser;
mod coded;
mod configuration;
mod devices;
mod diagnostics;
mod doctor;
mod gpio;
mod model_keys;
mod models;
mod out;
mod packaging;
mod place;
mod policy;
mod practice;
mod privacy;
mod running;
mod secrets;
mod serial;
mod signals;
mod start;
mod status;
mod stopped;
mod usb;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, UndoVerb, Verb};
use coded::USAGE;

fn main() -> ExitCode {
    // This program starts itself again for small tasks, such as the inner wall of a confined command; nothing may come before that.
    if let Some(code) = drawbridge_os::helper::run_if_asked() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            let code = if err.use_stderr() { USAGE } else { 0 };
            // A closed terminal leaves nobody to tell.
            let _ = err.print();
            return ExitCode::from(code);
        }
    };
    match run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(err) if out::is_unread(&err) => ExitCode::SUCCESS,
        Err(err) => {
            out::complain(&format!("{err:#}"));
            ExitCode::from(coded::code_of(&err))
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<u8> {
    match cli.verb {
        Verb::Auth(args) => block_on(account::sign_in(args)),
        Verb::Accounts { json, verb } => block_on(accounts::run(verb, json)),
        Verb::Start(args) => {
            drawbridge_os::memory::keep_little();
            block_on(start::run(args))
        }
        Verb::Revoke { profile } => block_on(account::revoke(profile)),
        Verb::Secrets { verb } => block_on(secrets::run(verb)),
        Verb::Audit { verb } => block_on(audit::run(verb)),
        Verb::Policy { verb } => block_on(policy::run(verb)),
        Verb::Models { json, verb } => block_on(models::run(verb, json)),
        Verb::Devices { json, verb } => block_on(devices::run(verb, json)),
        Verb::Serial { verb } => block_on(serial::run(verb)),
        Verb::Usb { verb } => block_on(usb::run(verb)),
        Verb::Gpio { verb } => block_on(gpio::run(verb)),
        Verb::Privacy { json, verb } => block_on(privacy::run(verb, json)),
        Verb::Config { verb } => configuration::run(&verb),
        Verb::Diagnostics => block_on(diagnostics::run()),
        Verb::Doctor { json } => block_on(doctor::run(json)),
        Verb::Status { json } => block_on(status::status(json)),
        Verb::Raise => block_on(running::set_raised(true)),
        Verb::Lower => block_on(running::set_raised(false)),
        Verb::Undo { verb: UndoVerb::List { chat, json } } => block_on(running::undo_list(chat, json)),
        Verb::Undo { verb: UndoVerb::Restore { chat: Some(chat), .. } } => block_on(running::undo_restore_chat(chat)),
        Verb::Undo { verb: UndoVerb::Restore { numbers, chat: None } } => block_on(running::undo_restore(numbers)),
        Verb::Chats { json } => block_on(status::chats(json)),
        Verb::Prompts { json } => block_on(status::prompts(json)),
        Verb::Detach { id } => block_on(running::detach(id)),
        Verb::Forget { id } => block_on(running::forget(id)),
        Verb::Answer { asked, answer, secret_file } => block_on(running::answer(asked, answer, secret_file)),
        Verb::Practice { port } => block_on(practice::run(port)),
        Verb::Install(args) => autostart::install(&args),
        Verb::Uninstall { print } => autostart::uninstall(print),
        Verb::Completions { shell } => packaging::completions(shell),
        Verb::Man { out } => packaging::man(out.as_deref()),
    }
}

/// Runs to the end. What still blocks then, such as a keychain that does not answer, ends with the process.
fn block_on(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}
