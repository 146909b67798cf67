//! The one-time secret with which a person may answer questions of a headless engine. It goes to a terminal or into a
//! file of this user alone, never into a log, where commands of agents could find it.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use drawbridge_engine::view::Snapshot;
use drawbridge_os::private;
use drawbridge_store::config::Config;
use secrecy::{ExposeSecret as _, SecretString};

use crate::coded::{CONFIGURATION, coded};
use crate::out;

pub(super) struct AnswerSecret {
    value: Arc<SecretString>,
    file: Option<PathBuf>,
}

impl AnswerSecret {
    /// Makes the secret, if questions may be answered from the command line and there is a way to tell it to a person.
    ///
    /// # Errors
    /// When a file was named and questions may not be answered, or there is no randomness.
    pub(super) fn make(config: &Config, file: Option<PathBuf>) -> anyhow::Result<Option<Self>> {
        if !config.consent.answer_from_cli {
            if file.is_some() {
                let why = anyhow!("--secret-file needs answer_from_cli = true under [consent] in config.toml");
                return Err(coded(CONFIGURATION, why));
            }
            return Ok(None);
        }
        if file.is_none() && !std::io::stderr().is_terminal() {
            out::complain(
                "questions cannot be answered: there is no terminal to print the secret on, and no --secret-file; what would ask is refused",
            );
            return Ok(None);
        }
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| anyhow!("the system gives no random numbers"))?;
        let text = drawbridge_core::hex::encode(bytes);
        Ok(Some(Self { value: Arc::new(SecretString::from(text)), file }))
    }

    pub(super) fn value(&self) -> Arc<SecretString> {
        self.value.clone()
    }

    /// Tells the person the secret.
    ///
    /// # Errors
    /// When the file lies in an attached folder, or cannot be written.
    pub(super) fn tell(&self, now: &Snapshot) -> anyhow::Result<()> {
        let Some(file) = &self.file else {
            out::complain(&format!("secret for drawbridge answer: {}", self.value.expose_secret()));
            return Ok(());
        };
        let file = std::path::absolute(file)?;
        let folder = file.parent().context("the secret file has no folder")?;
        let folder = folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?;
        if let Some(chat) = now.chats.iter().find(|chat| folder.starts_with(Path::new(&chat.folder))) {
            bail!("the secret file would lie in {}, which a chat can read; choose another place", chat.folder);
        }
        write(&file, self.value.expose_secret())
            .with_context(|| format!("the secret file {} cannot be written", file.display()))
    }
}

impl Drop for AnswerSecret {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // It is worthless by now.
            let _ = std::fs::remove_file(file);
        }
    }
}

fn write(path: &Path, secret: &str) -> std::io::Result<()> {
    let mut file = private::options().write(true).create_new(true).open(path)?;
    writeln!(file, "{secret}")
}
