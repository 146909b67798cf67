//! Powers: the person's switches.

use std::fmt;

/// A capability as the person switches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Power {
    /// Read, write, list, move and delete inside the attached folder.
    Files,
    /// Let the platform list folders and attach one to a chat.
    Attach,
    /// Run commands.
    Shell,
    /// See the screen, use mouse and keyboard, windows and apps.
    ComputerUse,
    /// Read and write the clipboard.
    Clipboard,
    /// Ask the local model.
    LocalModel,
    /// Use shared devices.
    Hardware,
}

impl Power {
    /// Every power, in the order in which they are shown.
    pub const ALL: [Self; 7] =
        [Self::Files, Self::Attach, Self::Shell, Self::ComputerUse, Self::Clipboard, Self::LocalModel, Self::Hardware];

    /// Returns the stable name used in settings, the command line and the window.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Attach => "attach",
            Self::Shell => "shell",
            Self::ComputerUse => "computer_use",
            Self::Clipboard => "clipboard",
            Self::LocalModel => "local_model",
            Self::Hardware => "hardware",
        }
    }

    /// Finds a power by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|power| power.name() == name)
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far a power goes. Ordered from strict to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PowerMode {
    /// Never.
    Off,
    /// A question for each operation.
    AskEachTime,
    /// A question at the first use in a chat.
    AskOncePerChat,
    /// Always, inside what the power covers.
    Allowed,
}

impl PowerMode {
    /// Every mode, from strict to open.
    pub const ALL: [Self; 4] = [Self::Off, Self::AskEachTime, Self::AskOncePerChat, Self::Allowed];

    /// Returns the stable name used in settings and the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::AskEachTime => "ask_each_time",
            Self::AskOncePerChat => "ask_once_per_chat",
            Self::Allowed => "allowed",
        }
    }

    /// Finds a mode by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
