//! What the window, the tray and the command line show: whole view models, never deltas.
//!
//! Everything here is serialised for the page (its TypeScript types are generated from these) and for the control
//! socket. Every text that came from outside has been made safe to show already (invariant 4). These are types without
//! behaviour, in a file for each subject.

mod account;
mod activity;
mod chats;
mod devices;
mod models;
mod powers;
mod prompts;
mod screen;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use account::{
    AccountRow, AccountState, AccountView, GateKind, GateView, LinkState, LinkView, ManagedView, SecretsView,
};
pub use activity::{ActivityFilter, ActivityRow, AuditView, RecordView, UndoView, VerifyView};
pub use chats::{ChangeCounts, ChatModeView, ChatView};
pub use devices::{DeviceView, DevicesView, LineNameView};
pub use models::{AskedFileView, ChatPrivacyView, ModelServerView, ModelUseView, ModelView, ModelsView, TrialView};
pub use powers::{CeilingView, ExplainView, PowerView, RuleView, ShellCeilingView, ShellView, WhyView};
pub use prompts::{DiffLine, DiffView, PromptAnswer, PromptDetail, PromptView};
pub use screen::{MissingView, ScreenUseView, ScreenView};

/// The whole picture at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
// A command line of a newer version may talk to an engine that was started before the update.
#[serde(default)]
pub struct Snapshot {
    /// Version of the program.
    pub version: String,
    /// Nothing may act: the stored stop.
    pub raised: bool,
    /// Why everything is refused or nothing can start, if so, with what to do.
    pub trouble: Option<Notice>,
    /// The account at the platform.
    pub account: AccountView,
    /// The control link, or the one data link of a legacy session.
    pub link: LinkView,
    /// Chats with a folder, newest use first.
    pub chats: Vec<ChatView>,
    /// The person's switches.
    pub powers: Vec<PowerView>,
    /// How commands run.
    pub shell: ShellView,
    /// Questions that wait for an answer, oldest first.
    pub prompts: Vec<PromptView>,
    /// The latest acts of this run, newest first, at most 50. The audit log has them all.
    pub activity: Vec<ActivityRow>,
    /// How the audit log is.
    pub audit: AuditView,
    /// Whether the program can be seen while no window is open.
    pub tray: TrayState,
    /// What was allowed beyond the modes of the powers: for a chat, or always.
    pub rules: Vec<RuleView>,
    /// The folder that the person picked for the next chat, safe to show.
    pub offered_folder: Option<String>,
    /// Folders in which agents may look for one to attach, safe to show. Empty means the home folder.
    pub browse_roots: Vec<String>,
    /// How fast the last raise of this run was.
    pub last_raise: Option<RaiseView>,
    /// What the person should know and what stops nothing.
    pub notices: Vec<Notice>,
    /// Counts how often somebody wanted to see the window: a second start of the program.
    #[ts(type = "number")]
    pub window_wanted: u64,
    /// Why no engine runs behind this picture, if so. Then nothing else in it means anything, and only the commands of
    /// [`GateView`] do something.
    pub gate: Option<GateView>,
    /// All accounts, the one in use first.
    pub accounts: Vec<AccountRow>,
    /// Why no other account can be used in this run, if so: "run": a flag or the environment names the platform. "practice":
    /// a trial. "organisation": it has fixed the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub accounts_fixed: Option<String>,
    /// Where secrets rest.
    pub secrets: SecretsView,
    /// What an organisation has fixed on this computer, if anything.
    pub managed: Option<ManagedView>,
    /// How agents see and use screen, input and clipboard.
    pub screen: ScreenView,
    /// Servers of local models, and what used them.
    pub models: ModelsView,
    /// Devices on the desk.
    pub devices: DevicesView,
}

/// Whether the program can be seen while no window is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TrayState {
    /// No desktop shell has told yet, or none is there.
    #[default]
    Unknown,
    /// Nobody draws tray icons here.
    None,
    /// The icon is shown.
    Shown,
}

/// How long a raise took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RaiseView {
    /// When it was asked for, Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Milliseconds until the stop was stored.
    #[ts(type = "number")]
    pub stored_ms: u64,
    /// Milliseconds until every link was closed and every process had ended.
    #[ts(type = "number")]
    pub ended_ms: u64,
}

/// A message for the person: what happened, what it means, what to do next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Notice {
    /// A stable name.
    pub code: String,
    /// The message.
    pub message: String,
}
