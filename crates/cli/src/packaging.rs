//! For packagers: completion scripts and the manual page.

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::out;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "drawbridge", &mut script);
    out::line(String::from_utf8(script)?.trim_end())?;
    Ok(0)
}

pub(crate) fn man() -> anyhow::Result<u8> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    out::line(String::from_utf8(page)?.trim_end())?;
    Ok(0)
}
