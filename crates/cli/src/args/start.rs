//! The flags of `start`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use drawbridge_core::SessionId;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the contract")]
pub(crate) struct StartArgs {
    /// Nobody sits before a window: only flags and config.toml say what is allowed
    #[arg(long)]
    pub(crate) headless: bool,
    /// Only one data link, for this chat; with --allowed-root
    #[arg(long, value_name = "ID", value_parser = session, requires = "allowed_root")]
    pub(crate) session_id: Option<SessionId>,
    /// The folder of that chat; it must be there
    #[arg(long, value_name = "DIR", requires = "session_id")]
    pub(crate) allowed_root: Option<PathBuf>,
    /// Lets agents run commands, with everything you can do unless --shell confined is given
    #[arg(long)]
    pub(crate) enable_shell: bool,
    /// How commands run; switches nothing on by itself
    #[arg(long, value_name = "MODE")]
    pub(crate) shell: Option<ShellChoice>,
    /// Lets agents see the screen and use mouse and keyboard
    #[arg(long)]
    pub(crate) enable_computer_use: bool,
    /// Lets agents write the clipboard and read back their own text
    #[arg(long)]
    pub(crate) enable_clipboard: bool,
    /// Lets agents also read what others put in the clipboard; with --enable-clipboard
    #[arg(long)]
    pub(crate) enable_clipboard_read_foreign: bool,
    /// Lets agents ask the models of this computer
    #[arg(long)]
    pub(crate) enable_local_llm: bool,
    /// Lets the devices that you shared be used
    #[arg(long)]
    pub(crate) enable_hardware: bool,
    /// Refused: recording is not offered
    #[arg(long)]
    pub(crate) enable_recording: bool,
    /// Base of all platform addresses
    #[arg(long, value_name = "URL")]
    pub(crate) platform_url: Option<String>,
    /// Started by a service manager: a halt by the platform's protocol ends with 0, so that nobody starts it again
    #[arg(long)]
    pub(crate) service: bool,
    /// Also writes the one-time secret for `answer` to this file, for you alone
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
}

/// How commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellChoice {
    /// Behind a kernel sandbox, writing only in the attached folder
    Confined,
    /// With everything you can do
    Full,
}

fn session(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|fault| fault.to_string())
}
