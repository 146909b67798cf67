//! For packagers: completion scripts and manual pages, made from the very words that the command line knows.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::args::Cli;
use crate::out;

/// What the words of the command line cannot tell, for the page of the whole program (`cli.md`).
const WHOLE: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
It worked. For \fBstart\fR: it was ended by a signal.
.TP
\fB1\fR
It did not work; standard error says why.
.TP
\fB2\fR
The command line was wrong; nothing was done.
.TP
\fB3\fR
\fBstatus\fR, \fBmodels\fR, \fBserial\fR, \fBusb\fR, \fBgpio\fR: Drawbridge does not run.
.TP
\fB76\fR
The platform halted the protocol, for example because it wants another version.
.TP
\fB77\fR
Not signed in, or the sign\-in has ended: \fBdrawbridge auth\fR.
.TP
\fB78\fR
The configuration does not work, or there is no place for secrets.
.SH ENVIRONMENT
.TP
\fBDRAWBRIDGE_PLATFORM_URL\fR
Base of all addresses of the platform.
.TP
\fBDRAWBRIDGE_STATE_DIR\fR
Everything that is kept: the log of acts, what can be taken back, encrypted secrets.
.TP
\fBDRAWBRIDGE_CONFIG_DIR\fR
The folder of \fIconfig.toml\fR.
.TP
\fBDRAWBRIDGE_KEYCHAIN_PASSPHRASE\fR
Opens the encrypted file for secrets where there is no keychain.
.TP
\fBDRAWBRIDGE_OLLAMA_URL\fR
Base of the local model server, on this computer. Further ones, also elsewhere, stand under \fI[models]\fR in
\fIconfig.toml\fR or are added by \fBdrawbridge models add\fR.
.TP
\fBDRAWBRIDGE_LOG\fR
What is logged; \fIinfo\fR without it.
.SH FILES
.TP
\fI~/.config/drawbridge/config.toml\fR
The configuration. It need not exist; Drawbridge never writes it.
.TP
\fI~/.local/state/drawbridge\fR
Everything that is kept. It stays when the package is removed.
"#;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "drawbridge", &mut script);
    out::line(String::from_utf8(script)?.trim_end())?;
    Ok(0)
}

/// Prints the page of the whole program, or writes it and a page for each command into a folder.
pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<u8> {
    // `help` repeats what the pages say.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = folder else {
        out::line(String::from_utf8(page(&command, true)?)?.trim_end())?;
        return Ok(0);
    };
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    write_pages(&command, true, folder)?;
    Ok(0)
}

fn write_pages(command: &clap::Command, whole: bool, folder: &Path) -> anyhow::Result<()> {
    let file = folder.join(Man::new(command.clone()).get_filename());
    fs::write(&file, page(command, whole)?).with_context(|| format!("{} cannot be written", file.display()))?;
    command.get_subcommands().try_for_each(|command| write_pages(command, false, folder))
}

fn page(command: &clap::Command, whole: bool) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = concat!("Drawbridge ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).manual("User Commands").render(&mut page)?;
    page.extend_from_slice(if whole { WHOLE.as_bytes() } else { b".SH \"SEE ALSO\"\n\\fBdrawbridge\\fR(1)\n" });
    Ok(page)
}
