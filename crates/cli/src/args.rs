//! The words of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Lets an AI agent work on this computer, on your terms.
#[derive(Debug, Parser)]
#[command(name = "drawbridge", version, subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
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
        /// Number of the question
        id: u64,
        /// The answer
        answer: Answer,
        /// File that holds the one-time secret; without it the first line of standard input is taken
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
    },
    /// Makes Drawbridge start when you log in: writes a file and prints the command that switches it on
    Install {
        /// Only print what would be written
        #[arg(long)]
        print: bool,
    },
    /// Undoes `install`
    Uninstall {
        /// Only print what would be removed
        #[arg(long)]
        print: bool,
    },
    /// Runs a small platform on this computer to try Drawbridge with, and prints its address
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
    Man,
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
        #[arg(required = true)]
        numbers: Vec<u64>,
    },
}
