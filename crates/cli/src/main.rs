//! The command line of Drawbridge (`cli.md`). It parses, asks the running engine over the control socket, and prints.
//! Rules live in the engine; no secret is ever printed.

mod args;
mod autostart;
mod out;
mod packaging;
mod practice;
mod running;
mod status;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, UndoVerb, Verb};

/// Exit code for a wrong command line.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // Confined commands start this program again to put on the inner wall; nothing may come before that.
    if let Some(code) = drawbridge_os::sandbox::maybe_confine() {
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
        Err(err) => {
            out::complain(&format!("{err:#}"));
            ExitCode::from(1)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<u8> {
    match cli.verb {
        Verb::Status { json } => block_on(status::status(json)),
        Verb::Raise => block_on(running::set_raised(true)),
        Verb::Lower => block_on(running::set_raised(false)),
        Verb::Undo { verb: UndoVerb::List { chat, json } } => block_on(running::undo_list(chat, json)),
        Verb::Undo { verb: UndoVerb::Restore { numbers } } => block_on(running::undo_restore(numbers)),
        Verb::Chats { json } => block_on(status::chats(json)),
        Verb::Prompts { json } => block_on(status::prompts(json)),
        Verb::Detach { id } => block_on(running::detach(id)),
        Verb::Forget { id } => block_on(running::forget(id)),
        Verb::Answer { id, answer, secret_file } => block_on(running::answer(id, answer, secret_file)),
        Verb::Practice { port } => block_on(practice::run(port)),
        Verb::Install { print } => autostart::install(print),
        Verb::Uninstall { print } => autostart::uninstall(print),
        Verb::Completions { shell } => packaging::completions(shell),
        Verb::Man => packaging::man(),
    }
}

fn block_on(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<u8> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
