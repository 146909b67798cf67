//! The door to the engine. The window, the tray, the command line and the control socket all use it.

use std::sync::Arc;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use ts_rs::TS;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::device_act::{DeviceAct, DeviceResult};
use crate::view::{
    ActivityFilter, ActivityRow, ExplainView, ModelServerView, PromptAnswer, PromptDetail, RecordView, Snapshot,
    TrayState, TrialView, UndoView, VerifyView,
};

/// What may be asked of a running engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Raises (true) or lowers (false) the bridge. Raising answers once the stop is stored and everything has ended.
    SetRaised {
        /// The state wanted.
        raised: bool,
    },
    /// Sets the mode of a power.
    SetPower {
        /// Name of the power.
        power: String,
        /// Name of the mode.
        mode: String,
    },
    /// Sets how commands run.
    SetShell {
        /// "confined" or "full".
        mode: String,
        /// "none", "loopback" or "all".
        network: String,
    },
    /// Sets which apps agents may see and use, and how pictures are taken.
    SetScreen {
        /// Only these; none means all that are not protected.
        only_apps: Option<Vec<String>>,
        /// Never these.
        never_apps: Vec<String>,
        /// Pictures of scaled displays keep all their pixels.
        full_resolution: bool,
    },
    /// Lets the clipboard power cover what others put into the clipboard, or only what the agent wrote itself.
    SetClipboardForeign {
        /// Also what others put there.
        on: bool,
    },
    /// Lets a server of local models be asked.
    AddModelServer {
        /// Its base address.
        url: String,
        /// "auto", "ollama" or "openai".
        api: String,
        /// It may be on another computer: prompts go there, and private files never.
        far: bool,
        /// Requests it takes at once, 1 to 16.
        parallel: u32,
    },
    /// Sets the key that goes to a server of local models with everything it is asked, or forgets it. For the window alone.
    SetModelKey {
        /// The server's base address.
        url: String,
        /// The key; none forgets it.
        #[ts(type = "string | null")]
        key: Option<Passphrase>,
    },
    /// Takes back what [`Command::AddModelServer`] did, and forgets the key of the server.
    RemoveModelServer {
        /// Its base address.
        url: String,
    },
    /// Looks for servers of local models at the usual ports of this computer.
    FindModelServers,
    /// Asks the servers once more which models they have.
    LookAtModels,
    /// Puts a question of the person to a model. Decided as any other.
    TryModel {
        /// The model.
        model: String,
        /// The question.
        text: String,
    },
    /// Tells how the answer to a try stands.
    TrialText {
        /// Its number.
        #[ts(type = "number")]
        id: u64,
    },
    /// Ends a try.
    StopTrial {
        /// Its number.
        #[ts(type = "number")]
        id: u64,
    },
    /// Keeps contents of files here, in one chat or in all for which nothing else is said.
    SetPrivacy {
        /// The chat; none means all.
        session_id: Option<String>,
        /// Kept here. None takes back what was said for a chat.
        on: Option<bool>,
    },
    /// Lets the person read what a model answers about private files before it leaves.
    SetPrivacyReview {
        /// They do.
        on: bool,
    },
    /// Lets so many first bytes leave with the description of a private file, where they are asked for; 0 to 256.
    SetPrivacyPreview {
        /// So many.
        bytes: u16,
    },
    /// Looks once more which devices are there, also while the power is off.
    LookAtDevices,
    /// Shares a device, or takes that back.
    ShareDevice {
        /// Its name.
        id: String,
        /// Shared.
        shared: bool,
    },
    /// Adds a serial port that no system lists.
    AddPort {
        /// Its path.
        path: String,
    },
    /// Takes back what [`Command::AddPort`] did, and the sharing with it.
    RemovePort {
        /// Its path, as the picture names it.
        path: String,
    },
    /// Uses a shared device from here. Decided and recorded as any other operation. Given up when whoever asked hangs up.
    UseDevice {
        /// Its name.
        device: String,
        /// What to do.
        act: DeviceAct,
        /// The hold under which it is done; told by the door through which it comes, and never by whoever asks.
        #[serde(skip)]
        #[ts(skip)]
        hold: Option<u64>,
    },
    /// Starts a sign-in; answers with the page to open. The snapshot tells how it ends.
    SignIn,
    /// Takes the address of the page where the browser ended up, for when it cannot reach this computer.
    PasteRedirect {
        /// The whole address.
        address: String,
    },
    /// Gives up a running sign-in.
    CancelSignIn,
    /// Revokes the tokens at the platform, then drops them here.
    SignOut,
    /// Dials now instead of waiting, also after a halt.
    Connect,
    /// A question is on screen. Only then does it count.
    PromptPainted {
        /// Its number.
        #[ts(type = "number")]
        id: u64,
        /// Which state of it.
        #[ts(type = "number")]
        revision: u64,
    },
    /// Answers a question.
    AnswerPrompt {
        /// Its number.
        #[ts(type = "number")]
        id: u64,
        /// Which state of it was read: an answer to anything else does not count.
        #[ts(type = "number")]
        revision: u64,
        /// The answer.
        answer: PromptAnswer,
    },
    /// Answers every question that waits with no.
    DenyPrompts,
    /// Puts another folder into a question about attaching one. For the folder dialog alone, never for a page.
    ChooseFolder {
        /// The question.
        #[ts(type = "number")]
        id: u64,
        /// The folder.
        path: String,
    },
    /// Offers a folder for the next chat, or takes the offer back. Offering is for the folder dialog alone.
    OfferFolder {
        /// The folder; none takes back.
        path: Option<String>,
    },
    /// Lets agents look for folders below this one. For the folder dialog alone.
    AddBrowseRoot {
        /// The folder.
        path: String,
    },
    /// Takes back what [`Command::AddBrowseRoot`] did. Without any the home folder is the one.
    RemoveBrowseRoot {
        /// The folder, as the picture names it.
        path: String,
    },
    /// Sets the mode of a power for one chat alone, or takes that back. The power's own *off* always wins.
    SetChatPower {
        /// The chat.
        session_id: String,
        /// Name of the power.
        power: String,
        /// Name of the mode; none takes back.
        mode: Option<String>,
    },
    /// Removes a rule.
    RemoveRule {
        /// Its name.
        id: String,
    },
    /// Changes the words of a command rule. The program stays.
    SetRule {
        /// Its name.
        id: String,
        /// The words after the program; `*` alone stands for any one word.
        words: Vec<String>,
        /// Any further words may follow.
        any_more: bool,
    },
    /// Sets settings that cannot be read aside and begins with the defaults.
    SettingsAfresh,
    /// Tells whether the tray icon is shown. For the desktop shell alone.
    ReportTray {
        /// Its state.
        tray: TrayState,
    },
    /// Brings the window up: the program was started a second time.
    ShowWindow,
    /// Stops a chat's data link; the grant stays good.
    Detach {
        /// The chat.
        session_id: String,
    },
    /// Takes a chat's folder back for good: its grants stop working here.
    Forget {
        /// The chat.
        session_id: String,
    },
    /// Takes their folders back for good from all chats that have none now.
    ForgetClosed,
    /// Lists what can be taken back, newest first.
    UndoList {
        /// Only this chat.
        session_id: Option<String>,
    },
    /// Takes changes back, newest first.
    UndoRestore {
        /// Their numbers.
        #[ts(type = "number[]")]
        numbers: Vec<u64>,
    },
    /// Takes back everything that a chat changed, newest first.
    UndoRestoreChat {
        /// The chat.
        session_id: String,
    },
    /// Lists acts from the audit log, newest first.
    ActivityPage {
        /// Which.
        filter: ActivityFilter,
        /// So many are left out.
        #[ts(type = "number")]
        skip: u64,
        /// At most so many, 1 to 500.
        limit: u32,
    },
    /// Shows one audit record with its reason.
    AuditRecord {
        /// Its number.
        #[ts(type = "number")]
        seq: u64,
        /// Its file, as its row names it. Without it the newest record of this number is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        file: Option<String>,
    },
    /// Checks every audit file.
    AuditVerify,
    /// Writes all audit files into one archive. For the save dialog alone.
    AuditExport {
        /// The new file.
        path: String,
    },
    /// Starts a new audit file.
    AuditRotate,
    /// Removes rotated audit files whose newest record is older.
    AuditPrune {
        /// The age in seconds.
        #[ts(type = "number")]
        older_than_seconds: u64,
    },
    /// Tells what policy says about kinds of operations, and why. Does nothing.
    Explain {
        /// Their names, as in the audit log.
        operations: Vec<String>,
        /// Asked for by this chat.
        session_id: Option<String>,
    },
    /// Adds an account. It is not used before [`Command::UseAccount`].
    AddAccount {
        /// The person's name for it: 1 to 40 characters.
        name: String,
        /// The platform's address.
        platform_url: String,
        /// The OAuth client id; none means the usual one.
        client_id: Option<String>,
    },
    /// Chooses the account of the next start. The host starts again after it.
    UseAccount {
        /// Its id.
        id: String,
    },
    /// Removes an account that is not in use, with the tokens that are kept for it here.
    RemoveAccount {
        /// Its id.
        id: String,
    },
    /// Drops the tokens of the account in use here alone. The platform still honours them.
    ForgetTokens,
    /// Moves all secrets to another place. The old place keeps nothing.
    MoveSecrets {
        /// "keychain" or "file".
        to: String,
        /// The passphrase of the file, where secrets move into one or out of one.
        #[ts(type = "string | null")]
        passphrase: Option<Passphrase>,
    },
    /// Opens the encrypted file of secrets. For an engine that has not started ([`crate::view::GateView`]).
    GateUnlock {
        /// Its passphrase.
        #[ts(type = "string")]
        passphrase: Passphrase,
    },
    /// Makes an encrypted file for secrets. For an engine that has not started.
    GateNewFile {
        /// Its passphrase.
        #[ts(type = "string")]
        passphrase: Passphrase,
    },
    /// Sets the file in the way aside, under a new name, and tries again. For an engine that has not started.
    GateSetAside,
    /// Tries to start again. For an engine that has not started.
    GateRetry,
    /// Lets the keychain ask the person to open it, by its own dialog, and tries again. For an engine that has not started.
    GateAskKeychain,
    /// Ends the engine in order.
    Shutdown,
}

/// A passphrase or a key on its way from the person. Shows itself nowhere and is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(transparent)]
pub struct Passphrase(String);

impl Passphrase {
    /// Takes what the person typed.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Gives it to whoever uses it.
    #[must_use]
    pub fn into_secret(mut self) -> SecretString {
        SecretString::from(std::mem::take(&mut self.0))
    }

    /// Tells whether nothing was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// Done.
    Done,
    /// The page to open in a browser.
    AuthorizeUrl {
        /// Its address.
        url: String,
    },
    /// What can be taken back.
    Undo {
        /// Newest first.
        entries: Vec<UndoView>,
    },
    /// Acts of the audit log.
    Activity {
        /// Newest first.
        rows: Vec<ActivityRow>,
        /// So many fit the filter in all.
        #[ts(type = "number")]
        total: u64,
        /// So many lines of the log are no records and were passed over.
        #[serde(default)]
        #[ts(type = "number")]
        unreadable: u64,
    },
    /// One audit record.
    Record {
        /// It.
        record: Box<RecordView>,
    },
    /// What checking the audit log found.
    Verified {
        /// It.
        report: VerifyView,
    },
    /// The archive was written.
    Exported {
        /// Its file.
        path: String,
        /// Records in it.
        #[ts(type = "number")]
        records: u64,
    },
    /// What was taken back.
    Restored {
        /// So many changes.
        #[ts(type = "number")]
        count: u64,
        /// What could not be, each with its reason: path and words.
        failed: Vec<PromptDetail>,
    },
    /// Names of the audit files that were removed.
    Pruned {
        /// Oldest first.
        files: Vec<String>,
    },
    /// What policy says.
    Explained {
        /// In the order asked for.
        explanations: Vec<ExplainView>,
    },
    /// Servers of local models that were found and are not in use yet.
    ModelServers {
        /// They.
        servers: Vec<ModelServerView>,
    },
    /// A try was started.
    Trial {
        /// Its number.
        #[ts(type = "number")]
        id: u64,
    },
    /// How a try stands.
    TrialText {
        /// It.
        trial: TrialView,
    },
    /// What came of using a device.
    Device {
        /// It.
        result: DeviceResult,
    },
    /// The new name of the closed audit file.
    Rotated {
        /// Its path.
        path: String,
    },
}

/// Why a command was not done. The page switches on `code`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    /// A stable name, for example `unknown_chat`.
    pub code: String,
    /// What happened, what it means, what to do next.
    pub message: String,
}

impl CommandError {
    /// Makes an error from its stable name and its message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

/// The answer channel of one command.
pub(crate) type Answer = oneshot::Sender<Result<Reply, CommandError>>;

/// The door to a running engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EngineHandle {
    pub(crate) commands: mpsc::Sender<(Command, Answer)>,
    pub(crate) snapshots: watch::Receiver<Arc<Snapshot>>,
}

/// The other end of a handle: what an engine, or a stand-in for one, reads and writes.
#[derive(Debug)]
pub struct EngineSide {
    /// Commands with their answer channels, in order.
    pub commands: mpsc::Receiver<(Command, oneshot::Sender<Result<Reply, CommandError>>)>,
    /// The picture that handles see.
    pub snapshots: watch::Sender<Arc<Snapshot>>,
}

impl EngineHandle {
    /// Makes a handle and its other end.
    #[must_use]
    pub fn pair(first: Snapshot) -> (Self, EngineSide) {
        let (command_sender, commands) = mpsc::channel(64);
        let (snapshots, watched) = watch::channel(Arc::new(first));
        (Self { commands: command_sender, snapshots: watched }, EngineSide { commands, snapshots })
    }

    /// Sends a command and waits for what comes of it.
    ///
    /// # Errors
    /// The engine's own refusal, or `engine_gone` when it has ended.
    pub async fn send(&self, command: Command) -> Result<Reply, CommandError> {
        let (answer, reply) = oneshot::channel();
        let gone = || CommandError::new("engine_gone", "Drawbridge is shutting down. Start it again and retry.");
        self.commands.send((command, answer)).await.map_err(|_| gone())?;
        reply.await.map_err(|_| gone())?
    }

    /// Returns the present picture.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// Returns a receiver that always holds the newest picture. Changes are coalesced to about 20 a second.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }
}
