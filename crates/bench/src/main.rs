//! Measures Drawbridge against its budgets (DESIGN, "Budgets") and prints one table. `make bench` builds and runs it.
//!
//! Never a test and never shipped: figures belong to the machine they were taken on, so each stands beside what that very
//! machine can do at best, taken in the same run. The engine is the release build of `drawbridge` in a process of its own.
//! Words on the command line choose groups of figures: `package start idle wire stub model command growth raise screen window`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers that prints a table")]
#![allow(clippy::cast_precision_loss, reason = "figures are shown with few digits")]

mod desktop;
mod echo;
mod engine;
mod figures;
mod peer;
mod table;

use std::process::ExitCode;

use figures::{command, growth, idle, model, package, raise, screen, start, stub, window, wire};
use table::Table;

fn main() -> ExitCode {
    // Keys that this program presses itself have a watchdog, which is this program once more.
    if let Some(code) = drawbridge_os::helper::run_if_asked() {
        return code;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.first().map(String::as_str) {
        // As the engine has it, so that the limit is that of the wire and not of another runtime.
        Some(echo::ROLE) => run(tokio::runtime::Builder::new_multi_thread(), echo_role(&words)),
        Some(start::KEYCHAIN_ROLE) => run(tokio::runtime::Builder::new_current_thread(), start::in_session()),
        Some(package::DESK_ROLE) => run(tokio::runtime::Builder::new_current_thread(), package::on_a_desktop()),
        Some(window::DESK_ROLE) => run(tokio::runtime::Builder::new_current_thread(), window::on_a_desktop()),
        _ => run(tokio::runtime::Builder::new_current_thread(), measure(&words)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut runtime: tokio::runtime::Builder, work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    runtime.enable_all().build()?.block_on(work)
}

async fn echo_role(words: &[String]) -> anyhow::Result<()> {
    let address = words.get(1).map(String::as_str).unwrap_or_default().to_owned();
    // A task of its own, as a link is.
    tokio::spawn(async move { echo::run(&address).await }).await?
}

async fn measure(words: &[String]) -> anyhow::Result<()> {
    let wanted = |group: &str| words.is_empty() || words.iter().any(|word| word == group);
    let mut table = Table::default();
    if wanted("package") {
        package::measure(&mut table)?;
    }
    if wanted("start") {
        start::measure(&mut table).await?;
    }
    if wanted("idle") {
        idle::measure(&mut table).await?;
    }
    if wanted("wire") {
        wire::measure(&mut table).await?;
    }
    if wanted("stub") {
        stub::measure(&mut table).await?;
    }
    if wanted("model") {
        model::measure(&mut table).await?;
    }
    if wanted("command") {
        command::measure(&mut table).await?;
    }
    if wanted("growth") {
        growth::measure(&mut table).await?;
    }
    if wanted("raise") {
        raise::measure(&mut table).await?;
    }
    if wanted("screen") {
        screen::measure(&mut table).await?;
    }
    if wanted("window") {
        window::measure(&mut table)?;
    }
    println!();
    table.print();
    if table.any_over() {
        println!(
            "\nSomething is over its budget. Other work on this machine makes figures worse: look at the limits beside them."
        );
    }
    Ok(())
}
