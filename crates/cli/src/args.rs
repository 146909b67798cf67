//! The words of the command line.

mod audit;
mod devices;
mod models;
mod privacy;
mod start;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use audit::{AuditVerb, KeyArgs};
#[cfg(test)]
pub(crate) use devices::Bytes;
pub(crate) use devices::{
    DevicesVerb, EdgeName, FlowName, GpioVerb, Line, Named, Newline, ParityName, Pull, SerialLines, SerialOpen,
    SerialRead, SerialVerb, SerialWrite, UsbControl, UsbData, UsbTransfer, UsbVerb,
};
pub(crate) use models::{AddArgs, ModelsVerb};
pub(crate) use privacy::{PrivacyVerb, Switch};
pub(crate) use start::{ShellChoice, StartArgs};

/// Lets an AI agent work on this computer, on your terms.
#[derive(Debug, Parser)]
#[command(name = "drawbridge", version, subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Signs in: prints the page to open in a browser, waits for it, and ends by itself
    Auth(AuthArgs),
    /// Lists the accounts at platforms, marks the one in use, and changes them
    Accounts {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        verb: Option<AccountsVerb>,
    },
    /// Runs the engine in the foreground until it is ended
    Start(StartArgs),
    /// Tells whether Drawbridge runs, is connected, and which chats work here. Exit 0 running, 3 not
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Raises the bridge: ends everything that runs and lets nothing act until you lower it
    Raise,
    /// Lowers the bridge: things may act again
    Lower,
    /// What agents changed, and taking it back
    Undo {
        #[command(subcommand)]
        verb: UndoVerb,
    },
    /// Lists chats with a folder
    Chats {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Stops a chat's work; its folder stays attached
    Detach {
        /// The chat
        id: String,
    },
    /// Takes a chat's folder back for good
    Forget {
        /// The chat
        id: String,
    },
    /// Lists questions that wait for an answer
    Prompts {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Answers a question, with the one-time secret that the engine printed at its start
    Answer {
        /// The question as `prompts` names it: its number, with `.N` after its N-th change
        #[arg(value_name = "ID")]
        asked: Asked,
        /// The answer
        answer: Answer,
        /// File that holds the one-time secret; without it the first line of standard input is taken
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
    },
    /// What policy says about an operation, and why
    Policy {
        #[command(subcommand)]
        verb: PolicyVerb,
    },
    /// Lists servers of local models, what they have, and who asked. Exit 3 when Drawbridge does not run
    Models {
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        verb: Option<ModelsVerb>,
    },
    /// Lists serial ports, USB devices and GPIO chips, marks the shared ones, and shares them
    Devices {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        verb: Option<DevicesVerb>,
    },
    /// Uses a shared serial port through the running engine. Exit 3 when none runs
    Serial {
        #[command(subcommand)]
        verb: SerialVerb,
    },
    /// Uses a shared USB device through the running engine. Exit 3 when none runs
    Usb {
        #[command(subcommand)]
        verb: UsbVerb,
    },
    /// Uses a shared GPIO chip through the running engine. Exit 3 when none runs
    Gpio {
        #[command(subcommand)]
        verb: GpioVerb,
    },
    /// In which chats contents of files stay on this computer, which files were asked about there, and keeping them here
    Privacy {
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        verb: Option<PrivacyVerb>,
    },
    /// The configuration in force
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Takes the sign-in back at the platform, then drops it here
    Revoke {
        /// The account; without it the one in use
        #[arg(long, value_name = "P")]
        profile: Option<String>,
    },
    /// Where your sign-in and the audit key rest, and moving them
    Secrets {
        #[command(subcommand)]
        verb: SecretsVerb,
    },
    /// The audit log
    Audit {
        #[command(subcommand)]
        verb: AuditVerb,
    },
    /// Looks at everything that Drawbridge needs and says how to mend what is missing. Exit 78 where the screen was
    /// asked for and cannot be had, else 0
    Doctor {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Prints facts, counts, what the check-up finds and the end of the log, without contents and names: to ask others for help
    Diagnostics,
    /// Makes Drawbridge start when you log in: the application, or where there is none or no display, the engine without a
    /// window. Writes a file, and prints the command that a service manager wants
    Install(InstallArgs),
    /// Undoes `install`
    Uninstall {
        /// Only print what would be removed
        #[arg(long)]
        print: bool,
    },
    /// Runs a small platform on this computer to try Drawbridge with, and a practice model beside it. Prints both addresses, the
    /// platform's first
    Practice {
        /// Its port; the system chooses one without it
        #[arg(long, value_name = "P")]
        port: Option<u16>,
    },
    /// Prints a completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Prints the manual page
    Man {
        /// Write it and a page for each command into this folder instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// How to start at login.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Start the application, with its tray icon alone where there is a tray
    #[arg(long, conflicts_with = "headless")]
    pub(crate) app: bool,
    /// Start the engine without a window, under the service manager
    #[arg(long)]
    pub(crate) headless: bool,
    /// Only print what would be written
    #[arg(long)]
    pub(crate) print: bool,
}

/// How to sign in, and as whom.
#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    /// Only print the page, open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The account to sign in, by its id or name; a new one is added. Without it the one in use
    #[arg(long, value_name = "P")]
    pub(crate) profile: Option<String>,
    /// The platform of a new account; without --profile that of this sign-in alone
    #[arg(long, value_name = "URL")]
    pub(crate) platform_url: Option<String>,
    /// The OAuth client id of a new account, as the platform's operator registered it
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountsVerb {
    /// Uses an account from the next start on
    Use {
        /// Its id or name
        account: String,
    },
    /// Adds an account, for example at a platform of your own
    Add {
        /// Your name for it
        name: String,
        /// The platform's address
        #[arg(long, value_name = "URL")]
        platform_url: String,
        /// The OAuth client id, as the platform's operator registered it; without it the configured one
        #[arg(long, value_name = "ID")]
        client_id: Option<String>,
    },
    /// Removes an account that is not in use, with what is kept for it here. Revoke its sign-in first
    Remove {
        /// Its id or name
        account: String,
    },
    /// Drops an account's tokens here alone. The platform still honours them; `revoke` ends them there too
    Forget {
        /// Its id or name; without it the one in use
        account: Option<String>,
    },
}

/// A question in the very state that was read. An answer to an earlier state does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its number.
    pub(crate) id: u64,
    /// How often it had changed.
    pub(crate) revision: u64,
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.revision {
            0 => write!(f, "{}", self.id),
            changed => write!(f, "{}.{changed}", self.id),
        }
    }
}

impl std::str::FromStr for Asked {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a question is named by its number, as `drawbridge prompts` shows it";
        let (id, revision) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Self { id: id.parse().map_err(|_| WRONG)?, revision: revision.parse().map_err(|_| WRONG)? })
    }
}

/// The answers to a question.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Answer {
    /// This once
    AllowOnce,
    /// For this chat
    AllowChat,
    /// No
    Deny,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UndoVerb {
    /// Lists what can be taken back, newest first
    List {
        /// Only this chat
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Takes changes back
    Restore {
        /// Their numbers
        #[arg(required_unless_present = "chat")]
        numbers: Vec<u64>,
        /// Everything that this chat changed; what cannot be taken back is told, and the rest is
        #[arg(long, value_name = "ID", conflicts_with = "numbers")]
        chat: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsVerb {
    /// Tells where they are
    Show {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Moves all of them; the old place keeps nothing. Not while Drawbridge runs: its window moves them
    Move {
        /// Where to. The passphrase of the file is asked for on the terminal, or comes from `DRAWBRIDGE_KEYCHAIN_PASSPHRASE`
        to: SecretsPlace,
    },
}

/// Where secrets can rest.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SecretsPlace {
    /// The keychain of this computer
    Keychain,
    /// A file that only its passphrase opens
    File,
}

impl From<SecretsPlace> for drawbridge_store::secrets::SecretPlace {
    fn from(place: SecretsPlace) -> Self {
        match place {
            SecretsPlace::Keychain => Self::Keychain,
            SecretsPlace::File => Self::File,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Tells for each operation whether it would be allowed, asked about or denied
    Explain {
        /// Their names, for example `FILE_WRITE`
        #[arg(required = true, value_name = "OPERATION")]
        operations: Vec<String>,
        /// Asked for by this chat
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Tells the same for every operation
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Prints every value
    Show {
        /// Names the layer of each value: environment, file or default
        #[arg(long)]
        origin: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_words_fit_together() {
        super::Cli::command().debug_assert();
    }
}
