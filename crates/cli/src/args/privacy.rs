//! The words of `privacy`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum PrivacyVerb {
    /// Keeps contents of files on this computer: agents get descriptions, and the local model answers about the files
    On {
        /// This chat alone; without it every chat that says nothing of its own
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
    },
    /// Lets contents of files leave again. While Drawbridge runs this is done in its window
    Off {
        /// This chat alone; without it every chat that says nothing of its own
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
    },
    /// Lets a chat follow what holds for all. While Drawbridge runs this is done in its window
    Follow {
        /// The chat
        #[arg(long, value_name = "ID")]
        chat: String,
    },
    /// Whether you read what the model answers about such files before it leaves. To switch it off while Drawbridge runs, use its window
    Review {
        /// On or off
        switch: Switch,
    },
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}
