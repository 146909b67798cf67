//! What is known of newer versions while the program runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::escape_outside_text;
use drawbridge_engine::CommandError;
use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::updates::{self, Channel, Release, Source, UpdateFault};
use drawbridge_os::folders::Folders;
use drawbridge_os::installed::{self, Kind};
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use drawbridge_store::managed::Managed;
use serde::Serialize;

/// How updates stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UpdateView {
    /// What this copy was installed as: "appimage", "deb", "rpm", "dmg", "nsis", "msi" or "other".
    installed_as: &'static str,
    /// "`own`": Drawbridge replaces itself. "`link`": the person gets it from a page. "`managed`": the organisation does it.
    way: &'static str,
    /// "idle", "checking", "current", "found", "downloading", "ready" or "failed".
    state: &'static str,
    /// The newer version, if one was found.
    version: Option<String>,
    /// What is new, as plain text, safe to show.
    notes: Option<String>,
    /// Percent of the download.
    percent: Option<u8>,
    /// What went wrong, with what to do, in English.
    problem: Option<String>,
    /// Its stable name, for words in the person's language.
    problem_code: Option<String>,
    /// The channel in use: "stable" or "beta".
    channel: String,
    /// This build knows where to look.
    can_check: bool,
    /// This build knows the page of its releases.
    has_page: bool,
}

/// Where the search stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Stand {
    #[default]
    Idle,
    Checking,
    Current,
    Found,
    Downloading(Option<u8>),
    Ready,
    Failed(CommandError),
}

impl Stand {
    const fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Checking => "checking",
            Self::Current => "current",
            Self::Found => "found",
            Self::Downloading(_) => "downloading",
            Self::Ready => "ready",
            Self::Failed(_) => "failed",
        }
    }

    const fn is_busy(&self) -> bool {
        matches!(self, Self::Checking | Self::Downloading(_) | Self::Ready)
    }
}

#[derive(Debug, Default)]
struct Known {
    stand: Stand,
    found: Option<Release>,
}

/// What of the configuration counts here.
#[derive(Debug, Clone, Default)]
struct Setting {
    net: NetSettings,
    policy: Option<Managed>,
}

/// How the configuration is read: anew each time, since it may have changed.
type Read = Arc<dyn Fn() -> Result<Setting, String> + Send + Sync>;

/// The one holder of what is known. Looks and takes one at a time.
pub(crate) struct UpdateDesk {
    source: Source,
    current: &'static str,
    read: Read,
    kind: tokio::sync::OnceCell<Kind>,
    known: Arc<Mutex<Known>>,
}

impl UpdateDesk {
    /// Makes the desk of this build.
    pub(crate) fn new() -> Self {
        Self::with(Source::built_in(), env!("CARGO_PKG_VERSION"), Arc::new(read), None)
    }

    fn with(source: Source, current: &'static str, read: Read, kind: Option<Kind>) -> Self {
        let kind = tokio::sync::OnceCell::new_with(kind);
        Self { source, current, read, kind, known: Arc::default() }
    }

    /// Returns the page of releases, if this build knows it.
    pub(crate) fn page(&self) -> Option<&str> {
        self.source.page()
    }

    /// Tells how updates stand, for a person who chose this channel.
    ///
    /// # Errors
    /// `configuration` when it cannot be read.
    pub(crate) async fn view(&self, channel: &str) -> Result<UpdateView, CommandError> {
        let (kind, setting) = (self.kind().await, self.setting().await?);
        let known = self.lock();
        let (percent, fault) = match &known.stand {
            Stand::Downloading(percent) => (*percent, None),
            Stand::Failed(fault) => (None, Some(fault)),
            Stand::Idle | Stand::Checking | Stand::Current | Stand::Found | Stand::Ready => (None, None),
        };
        Ok(UpdateView {
            installed_as: kind.name(),
            way: self.way(&kind, &setting, known.found.as_ref()),
            state: known.stand.name(),
            version: known.found.as_ref().map(|release| release.version.clone()),
            notes: known.found.as_ref().and_then(|release| release.notes.clone()),
            percent,
            problem: fault.map(|fault| fault.message.clone()),
            problem_code: fault.map(|fault| fault.code.clone()),
            channel: chosen(&setting, channel).to_owned(),
            can_check: self.source.list(Channel::Stable).is_some(),
            has_page: self.page().is_some(),
        })
    }

    /// Looks for a newer version, because the person wants to know.
    ///
    /// # Errors
    /// `managed`, `update_busy`. What goes wrong while looking stands in the view.
    pub(crate) async fn look(&self, channel: &str) -> Result<(), CommandError> {
        self.begin(Stand::Checking)?;
        let looked = self.look_now(channel).await;
        let mut known = self.lock();
        match looked {
            Ok(found) => known.settle(found),
            Err(fault) if fault.code == "managed" => {
                known.stand = Stand::Idle;
                return Err(fault);
            }
            Err(fault) => known.stand = Stand::Failed(fault),
        }
        Ok(())
    }

    /// Looks by itself: a fault changes nothing.
    ///
    /// # Errors
    /// As [`UpdateDesk::look`], and what went wrong.
    pub(crate) async fn look_quietly(&self, channel: &str) -> Result<(), CommandError> {
        if self.lock().stand.is_busy() {
            return Ok(());
        }
        let found = self.look_now(channel).await?;
        let mut known = self.lock();
        // The person may have begun something meanwhile.
        if !known.stand.is_busy() {
            known.settle(found);
        }
        Ok(())
    }

    async fn look_now(&self, channel: &str) -> Result<Option<Release>, CommandError> {
        let (kind, setting) = (self.kind().await, self.setting().await?);
        allowed(&setting)?;
        let channel = Channel::from_name(chosen(&setting, channel)).unwrap_or(Channel::Stable);
        let net =
            NetConfig::new(&setting.net).map_err(|fault| CommandError::new("configuration", fault.to_string()))?;
        updates::look(&net, &self.source, channel, &kind, self.current).await.map_err(told)
    }

    /// Takes the version that was found. Returns how this copy is installed; the program must start again or end.
    ///
    /// # Errors
    /// `no_update`, `managed`, `update_busy`, `configuration`, or one of [`UpdateFault::code`]; nothing was replaced then.
    pub(crate) async fn take(&self) -> Result<Kind, CommandError> {
        let (kind, setting) = (self.kind().await, self.setting().await?);
        allowed(&setting)?;
        let found = self.lock().found.clone();
        let release = found.filter(Release::can_be_taken);
        let release = release.ok_or_else(|| CommandError::new("no_update", "There is no newer version to take."))?;
        self.begin(Stand::Downloading(None))?;
        let known = self.known.clone();
        let progress = move |percent| lock(&known).stand = Stand::Downloading(Some(percent));
        let taken = match NetConfig::new(&setting.net) {
            Ok(net) => updates::take(&net, &self.source, &kind, &release, progress).await.map_err(told),
            Err(fault) => Err(CommandError::new("configuration", fault.to_string())),
        };
        self.lock().stand = match &taken {
            Ok(()) => Stand::Ready,
            Err(fault) => Stand::Failed(fault.clone()),
        };
        taken.map(|()| kind)
    }

    fn begin(&self, stand: Stand) -> Result<(), CommandError> {
        let mut known = self.lock();
        if known.stand.is_busy() {
            return Err(CommandError::new("update_busy", "Drawbridge is at it already. Wait a moment."));
        }
        known.stand = stand;
        Ok(())
    }

    fn way(&self, kind: &Kind, setting: &Setting, found: Option<&Release>) -> &'static str {
        let takes = kind.replaces_itself() && self.source.can_take() && found.is_none_or(Release::can_be_taken);
        match allowed(setting) {
            Err(_) => "managed",
            Ok(()) if takes => "own",
            Ok(()) => "link",
        }
    }

    async fn kind(&self) -> Kind {
        let look = || async { tauri::async_runtime::spawn_blocking(installed::kind).await.unwrap_or(Kind::Other) };
        self.kind.get_or_init(look).await.clone()
    }

    async fn setting(&self) -> Result<Setting, CommandError> {
        let read = self.read.clone();
        let setting = tauri::async_runtime::spawn_blocking(move || read()).await.map_err(|fault| fault.to_string());
        setting.and_then(|setting| setting).map_err(|why| CommandError::new("configuration", escape_outside_text(&why)))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn settle(&mut self, found: Option<Release>) {
        self.stand = if found.is_some() { Stand::Found } else { Stand::Current };
        self.found = found;
    }
}

/// Reads what counts here from the configuration.
fn read() -> Result<Setting, String> {
    let folders = Folders::from_env().map_err(|fault| fault.to_string())?;
    let layers = ConfigLayers::of_process(&folders.config, FlagOverrides::default());
    let loaded = Config::load(&layers).map_err(|fault| fault.to_string())?;
    let config = loaded.config;
    let net =
        NetSettings { proxy: config.proxy.url, no_proxy: config.proxy.no_proxy, extra_roots: config.tls.extra_roots };
    Ok(Setting { net, policy: loaded.managed })
}

fn chosen<'a>(setting: &'a Setting, channel: &'a str) -> &'a str {
    setting.policy.as_ref().and_then(|policy| policy.update_channel.as_deref()).unwrap_or(channel)
}

fn allowed(setting: &Setting) -> Result<(), CommandError> {
    match &setting.policy {
        Some(policy) if !policy.allows_updates() => {
            let by = escape_outside_text(policy.by());
            Err(CommandError::new("managed", format!("Updates of Drawbridge on this computer come from {by}.")))
        }
        Some(_) | None => Ok(()),
    }
}

fn told(fault: UpdateFault) -> CommandError {
    let mut why = fault.to_string();
    if let Some(first) = why.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    CommandError::new(fault.code(), format!("{why}. Nothing was changed, and this version goes on."))
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
