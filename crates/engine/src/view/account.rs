//! What is shown of accounts and their links, of secrets, and of what keeps the engine from starting.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

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
