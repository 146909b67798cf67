//! The words about local models.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// Looks for servers of models at the usual ports of this computer that are not in use yet
    Find {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Puts a question to a model and prints its answer as it comes. Decided and recorded as an agent's; Ctrl-C stops it
    Try {
        /// The model, as `models` names it
        model: String,
        /// The question; `-` takes it from standard input
        text: String,
    },
    /// Lets a server be asked. Not while Drawbridge runs: its window adds them
    Add(AddArgs),
    /// Sets the API key of a server, from standard input or asked for without showing it, or forgets it. Setting not while Drawbridge
    /// runs: its window does
    Key {
        /// The server's address
        url: String,
        /// Takes the key from standard input
        #[arg(long, conflicts_with = "forget")]
        stdin: bool,
        /// Forgets the key
        #[arg(long)]
        forget: bool,
    },
    /// Takes a server back, and forgets its key
    Remove {
        /// Its address
        url: String,
    },
}

/// A server to add.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its address, such as `http://127.0.0.1:1234`
    pub(crate) url: String,
    /// The interface that it speaks
    #[arg(long, value_enum, default_value_t = Api::Auto)]
    pub(crate) api: Api,
    /// Requests that it takes at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) parallel: u32,
    /// It may be on another computer: everything that a model is to read goes there
    #[arg(long)]
    pub(crate) far: bool,
    /// Take the API key of the server from standard input. It is kept with the other secrets and sent to this address alone
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// Do not ask about --far
    #[arg(long, requires = "far")]
    pub(crate) yes: bool,
}

/// The interfaces of servers.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Api {
    /// Found out by asking
    Auto,
    /// Ollama's own
    Ollama,
    /// The one that llama.cpp, LM Studio, vLLM and others share
    Openai,
}

impl Api {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ollama => "ollama",
            Self::Openai => "openai",
        }
    }
}
