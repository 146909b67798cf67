//! What the window, the tray and the command line show: whole view models, never deltas.
//!
//! Everything here is serialised for the page (its TypeScript types are generated from these) and for the control
//! socket. Every text that came from outside has been made safe to show already (invariant 4). It is long because it is the whole
//! picture: types without behaviour, in one place for whoever draws them.

mod devices;
mod models;

use drawbridge_core::escape_outside_text;
use drawbridge_policy::Explanation;
use drawbridge_store::undo::{UndoEntry, UndoKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use devices::{DeviceView, DevicesView};
pub use models::{AskedFileView, ChatPrivacyView, ModelServerView, ModelUseView, ModelView, ModelsView, TrialView};

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

/// How agents see and use screen, input and clipboard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ScreenView {
    /// "x11", "wayland", "wsl", "macos", "windows" or "none".
    pub seat: String,
    /// What can be done here, as HELLO names it. Empty while both powers are off.
    pub features: Vec<String>,
    /// What cannot be done here, and why.
    pub missing: Vec<MissingView>,
    /// Only these apps may be seen and used; none means all that are not protected.
    pub only_apps: Option<Vec<String>>,
    /// These apps may never be seen or used, on top of the protected ones.
    pub never_apps: Vec<String>,
    /// Pictures of scaled displays keep all their pixels.
    pub full_resolution: bool,
    /// The clipboard power also covers what others put there.
    pub clipboard_foreign: bool,
    /// An agent sees or uses the screen now, or did a moment ago.
    pub in_use: Option<ScreenUseView>,
}

/// Something that cannot be done here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct MissingView {
    /// The feature, as HELLO names it.
    pub feature: String,
    /// Why, and what to do about it; safe to show.
    pub why: String,
}

/// An agent that sees or uses the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ScreenUseView {
    /// The chat that did so last.
    pub session_id: Option<String>,
    /// Since when, Unix milliseconds.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Pictures taken since then.
    #[ts(type = "number")]
    pub pictures: u64,
    /// Clicks, keys, texts and other acts since then.
    #[ts(type = "number")]
    pub acts: u64,
    /// The person uses pointer or keyboard, so the agent's input waits.
    pub person_active: bool,
}

/// What keeps the engine from starting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// The secrets are in an encrypted file that wants its passphrase.
    PassphraseWanted,
    /// The keychain of this computer is locked.
    KeychainLocked,
    /// There is no keychain that answers, and no encrypted file yet.
    NoKeychain,
    /// A file that is kept cannot be trusted; it can be set aside.
    BrokenFile,
    /// Anything else; the message says what to do.
    #[default]
    Other,
}

/// The engine has not started. The window shows this and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct GateView {
    /// What is in the way.
    pub kind: GateKind,
    /// What happened, what it means, what to do next.
    pub message: String,
    /// The file concerned, safe to show.
    pub path: Option<String>,
    /// [`crate::Command::GateNewFile`] may make an encrypted file for secrets.
    pub can_make_file: bool,
    /// [`crate::Command::GateSetAside`] may set the file aside.
    pub can_set_aside: bool,
    /// [`crate::Command::GateAskKeychain`] may let the keychain ask the person to open it.
    #[serde(default)]
    pub can_ask_keychain: bool,
    /// What the last attempt came to, in words.
    pub problem: Option<String>,
    /// Its stable name, as a command's refusal has it.
    #[serde(default)]
    pub problem_code: Option<String>,
    /// An attempt is under way.
    pub busy: bool,
}

/// One account, whether in use or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AccountRow {
    /// Its stable id: `default`, or as it was named.
    pub id: String,
    /// The person's name for it, safe to show.
    pub name: String,
    /// The platform's address.
    pub platform_url: String,
    /// The OAuth client id.
    pub client_id: String,
    /// It is the one in use.
    pub active: bool,
    /// Tokens are kept for it.
    pub signed_in: bool,
    /// The configuration or an organisation names it, so it cannot be removed here.
    pub fixed: bool,
}

/// Where secrets rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct SecretsView {
    /// "keychain" or "file"; empty while nobody knows.
    pub place: String,
    /// Where they can be moved: "keychain" or "file".
    pub movable_to: Option<String>,
}

/// What an organisation has fixed on this computer (`policy.toml` in the system's folder).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ManagedView {
    /// The organisation's name, safe to show, if it gave one.
    pub organisation: Option<String>,
    /// The file.
    pub path: String,
    /// Names of what is fixed, as in the file: `platform_url`, `powers.shell`, `updates`…
    pub locked: Vec<String>,
    /// Keys of the configuration that somebody had set otherwise; that does not count.
    #[serde(default)]
    pub overruled: Vec<String>,
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

/// Something that was allowed beyond the modes of the powers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RuleView {
    /// Its name, for removing it.
    pub id: String,
    /// `chat_power`: a power for one chat. "command": a command pattern. `chat_mode`: the mode of a power in one chat; only in
    /// explanations, since a chat tells its modes itself.
    pub kind: String,
    /// The chat it holds for; none means always.
    pub session_id: Option<String>,
    /// The folder of that chat, safe to show.
    pub folder: Option<String>,
    /// The power concerned.
    pub power: String,
    /// The mode, for the mode of a power in one chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mode: Option<String>,
    /// The resolved program of a command rule, safe to show.
    pub program: Option<String>,
    /// The words of a command rule, each safe to show; `*` alone stands for any one word.
    pub words: Vec<String>,
    /// Any further words may follow.
    pub any_more: bool,
    /// "answered": by a question. "window": set in the window.
    pub origin: String,
    /// When, Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// Why something was allowed, asked or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct WhyView {
    /// "allow", "ask" or "deny".
    pub decision: String,
    /// Stable name of the rule that won.
    pub rule: String,
    /// The power concerned.
    pub power: Option<String>,
    /// The mode that decided, if one did.
    pub mode: Option<String>,
    /// Who switched the power off, if somebody did.
    pub by: Option<String>,
    /// Names of the command rules that decided, joined by `+`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub id: Option<String>,
    /// The reason in words, in English.
    pub text: String,
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

/// State of the sign-in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    /// No tokens.
    #[default]
    SignedOut,
    /// A browser page is open and waits for the person.
    SigningIn,
    /// Tokens are here.
    SignedIn,
    /// Tokens are here and have run out; sign in again.
    Expired,
    /// The platform refused the tokens; sign in again.
    Refused,
}

/// The account at the platform.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AccountView {
    /// Its state.
    pub state: AccountState,
    /// Its stable id, as in [`AccountRow`].
    #[serde(default)]
    pub id: String,
    /// The platform's address.
    pub platform_url: String,
    /// The page to open in a browser while signing in.
    pub authorize_url: Option<String>,
    /// The last thing that went wrong, in words.
    pub problem: Option<String>,
    /// Its stable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem_code: Option<String>,
    /// Whom the tokens are for that are kept and not used, if there are such, safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub kept_for: Option<String>,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Not wanted: signed out or raised.
    #[default]
    Off,
    /// Dialling or shaking hands.
    Connecting,
    /// Acknowledged.
    Connected,
    /// Waiting to dial again.
    Waiting,
    /// Ended for good until the person acts.
    Halted,
}

/// One connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct LinkView {
    /// Its state.
    pub state: LinkState,
    /// Why it waits or halted, in words.
    pub reason: Option<String>,
    /// The stable name of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub code: Option<String>,
}

/// A chat with a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChatView {
    /// The chat's id.
    pub session_id: String,
    /// The folder, safe to show.
    pub folder: String,
    /// Revision of the attachment.
    #[ts(type = "number")]
    pub revision: u64,
    /// It has its folder. If not, the platform may still open it again by its grant, until the person forgets it.
    pub attached: bool,
    /// A data link runs.
    pub active: bool,
    /// State of the data link; off when there is none.
    pub link: LinkState,
    /// Requests running now.
    pub in_flight: u32,
    /// Requests answered since the program started.
    #[ts(type = "number")]
    pub requests: u64,
    /// The person took the grant back.
    pub revoked: bool,
    /// Last use, Unix milliseconds.
    #[ts(type = "number")]
    pub last_used_ms: i64,
    /// When the folder was attached, Unix milliseconds.
    #[ts(type = "number")]
    pub attached_ms: i64,
    /// Name of the last operation of this run.
    pub last_operation: Option<String>,
    /// Changes that can be taken back.
    pub changes: ChangeCounts,
    /// Powers that the chat has used in this run.
    pub powers_used: Vec<String>,
    /// Modes that hold for this chat alone.
    pub modes: Vec<ChatModeView>,
    /// Whether contents of files stay here, and what was asked about them.
    #[serde(default)]
    pub privacy: ChatPrivacyView,
}

/// How many changes of a chat can be taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChangeCounts {
    /// New files.
    #[ts(type = "number")]
    pub created: u64,
    /// Files with new content.
    #[ts(type = "number")]
    pub written: u64,
    /// Things moved.
    #[ts(type = "number")]
    pub moved: u64,
    /// Things deleted.
    #[ts(type = "number")]
    pub deleted: u64,
}

/// The mode of a power for one chat alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChatModeView {
    /// The power.
    pub power: String,
    /// Its mode.
    pub mode: String,
}

/// One switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct PowerView {
    /// Stable name, for example "shell".
    pub power: String,
    /// "off", `ask_each_time`, `ask_once_per_chat` or "allowed".
    pub mode: String,
    /// Who switched it off for good, if somebody did.
    pub locked_by: Option<String>,
    /// How far it may go at most, if somebody fixed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ceiling: Option<CeilingView>,
    /// This version can really do it.
    pub built: bool,
    /// Operations of it that run now.
    pub running: u32,
}

/// How far a power may go at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct CeilingView {
    /// Its loosest mode, as in [`PowerView`].
    pub mode: String,
    /// Who says so, safe to show.
    pub by: String,
}

/// How far running commands may go at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ShellCeilingView {
    /// Who says so, safe to show.
    pub by: String,
    /// Commands may not be given everything that the person can do.
    pub confined_only: bool,
    /// The most that a confined command may reach, as in [`ShellView`], if that is fixed.
    pub network: Option<String>,
}

/// How commands run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ShellView {
    /// "confined" or "full".
    pub mode: String,
    /// "none", "loopback" or "all".
    pub network: String,
    /// Why this machine cannot confine commands, if so.
    pub confinement_missing: Option<String>,
    /// How far that may go at most, if somebody fixed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ceiling: Option<ShellCeilingView>,
}

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct PromptView {
    /// Number of the question.
    #[ts(type = "number")]
    pub id: u64,
    /// The power concerned.
    pub power: String,
    /// The platform's address.
    pub platform: String,
    /// The chat.
    pub session_id: Option<String>,
    /// Operation name.
    pub operation: String,
    /// One plain sentence.
    pub summary: String,
    /// Rises when what is shown changes, and each change must be painted before an answer counts.
    #[ts(type = "number")]
    pub revision: u64,
    /// Exact facts, each safe to show: label and value.
    pub details: Vec<PromptDetail>,
    /// The words of a command, each safe to show, the program first. Empty for a text that a shell parses.
    pub argv: Vec<String>,
    /// What an overwrite changes.
    pub diff: Option<DiffView>,
    /// The folder that would be attached, safe to show.
    pub folder: Option<String>,
    /// The person may pick another folder.
    pub can_choose_folder: bool,
    /// Not all of what was asked for is shown, so it can only be denied.
    pub cut: bool,
    /// "Allow for this chat" may be offered.
    pub can_allow_chat: bool,
    /// The command that "Always allow" would allow from then on, word by word; none when that may not be offered.
    pub always: Option<Vec<String>>,
    /// Requests that wait for this answer.
    pub waiting: u32,
    /// Nothing has painted it for three seconds: it must be brought before the person in another way.
    pub unseen: bool,
    /// When it is denied by itself, Unix milliseconds.
    #[ts(type = "number")]
    pub expires_at_ms: i64,
}

/// What an overwrite changes, line by line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DiffView {
    /// Changed lines with some around them.
    pub lines: Vec<DiffLine>,
    /// Lines added in all.
    pub added: u32,
    /// Lines removed in all.
    pub removed: u32,
    /// Not everything is shown.
    pub cut: bool,
}

/// One line of a difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DiffLine {
    /// "same", "added", "removed" or "skipped".
    pub kind: String,
    /// Number in the old file, from 1.
    pub old: Option<u32>,
    /// Number in the new file, from 1.
    pub new: Option<u32>,
    /// The line, safe to show.
    pub text: String,
}

/// One fact of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct PromptDetail {
    /// What it is: "argument", "folder", "program"…
    pub label: String,
    /// Its value, made safe to show.
    pub value: String,
}

/// The answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PromptAnswer {
    /// This operation, once.
    AllowOnce,
    /// This power, as long as the chat has this folder.
    AllowChat,
    /// This very command in this and every later chat, until the rule is removed.
    AllowAlways,
    /// No.
    Deny,
}

/// One act.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ActivityRow {
    /// Counts up.
    #[ts(type = "number")]
    pub number: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The chat, if any.
    pub session_id: Option<String>,
    /// Operation or event name, as in the audit log.
    pub operation: String,
    /// What it was about, safe to show: a path, a program.
    pub subject: String,
    /// It worked.
    pub ok: bool,
    /// The error code, when it did not.
    pub error_code: Option<String>,
    /// How long it took.
    #[ts(type = "number")]
    pub duration_ms: u64,
    /// Why it was allowed or refused.
    pub why: Option<WhyView>,
    /// Number of its audit record.
    #[ts(type = "number | null")]
    pub seq: Option<u64>,
    /// Stable name of the audit file that holds the record: numbers begin anew in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub file: Option<String>,
}

/// Which acts are wanted. An empty filter wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ActivityFilter {
    /// Of this chat.
    pub session_id: Option<String>,
    /// Of this power.
    pub power: Option<String>,
    /// "ok" or "refused".
    pub outcome: Option<String>,
    /// With this text, in any case of letters, in the operation, the subject or the error code.
    pub text: Option<String>,
}

/// An audit record, for a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RecordView {
    /// Its number.
    #[ts(type = "number")]
    pub seq: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Its fields, each safe to show, in the order of the file; nested ones by dotted names.
    pub fields: Vec<PromptDetail>,
    /// Why it was allowed or refused then.
    pub why: Option<WhyView>,
    /// What the decision function says about the same kind of operation now.
    pub now: Option<ExplainView>,
}

/// What checking the audit log found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct VerifyView {
    /// Nothing is wrong.
    pub sound: bool,
    /// Files looked at.
    pub files: u32,
    /// Records looked at.
    #[ts(type = "number")]
    pub records: u64,
    /// What is wrong: "kind" of the finding and the place, safe to show.
    pub findings: Vec<PromptDetail>,
}

/// State of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AuditView {
    /// Its file.
    pub path: String,
    /// Bytes in the current file.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Records in the current file.
    #[ts(type = "number")]
    pub records: u64,
    /// It cannot be written: nothing is done.
    pub unavailable: bool,
}

/// Something that an agent changed and that can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct UndoView {
    /// Number, counts up.
    #[ts(type = "number")]
    pub number: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The chat.
    pub session_id: Option<String>,
    /// "write", "delete" or "move".
    pub kind: String,
    /// The path concerned, safe to show.
    pub path: String,
    /// Where it went, for a move.
    pub moved_to: Option<String>,
    /// Bytes kept.
    #[ts(type = "number")]
    pub bytes: u64,
    /// It was taken back already.
    pub restored: bool,
}

/// What policy says about a kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ExplainView {
    /// Name of the operation, as in the audit log.
    pub operation: String,
    /// The power that covers it; none when it only takes away.
    pub power: Option<String>,
    /// "allow", "ask" or "deny".
    pub decision: String,
    /// Stable name of the rule that won.
    pub rule: String,
    /// The mode that decided, if one did.
    pub mode: Option<String>,
    /// Who switched the power off, if somebody did.
    pub by: Option<String>,
    /// The reason in words.
    pub why: String,
    /// What may decide otherwise for one chat or for one command, newest first. The decision above is that for a chat without
    /// modes of its own when none is named, and for a command that no rule allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<RuleView>>", optional)]
    pub rules: Vec<RuleView>,
}

impl From<&Explanation> for WhyView {
    fn from(explanation: &Explanation) -> Self {
        let parts = explanation.rule.parts();
        Self {
            decision: explanation.decision.name().to_owned(),
            rule: parts.name.to_owned(),
            power: parts.power.map(|power| power.name().to_owned()),
            mode: parts.mode.map(|mode| mode.name().to_owned()),
            by: parts.by.map(escape_outside_text),
            id: parts.id.map(escape_outside_text),
            text: explanation.why.clone(),
        }
    }
}

impl From<&UndoEntry> for UndoView {
    fn from(entry: &UndoEntry) -> Self {
        let kind = match entry.kind {
            UndoKind::Created => "create",
            UndoKind::Replaced => "write",
            UndoKind::Deleted => "delete",
            UndoKind::Moved => "move",
        };
        Self {
            number: entry.number,
            at_ms: entry.at.0,
            session_id: entry.session.clone(),
            kind: kind.to_owned(),
            path: escape_outside_text(&entry.path),
            moved_to: entry.moved_to.as_deref().map(escape_outside_text),
            bytes: entry.bytes,
            restored: entry.restored,
        }
    }
}
