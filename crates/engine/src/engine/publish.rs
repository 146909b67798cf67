//! Composes the picture that window, tray and command line show.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drawbridge_caps::shell::Shell;
use drawbridge_core::{Power, SessionId, escape_outside_text};
use drawbridge_policy::{Ceilings, Network, ShellMode};
use drawbridge_store::undo::UndoStore;
use tokio::sync::watch;

use super::folders::FolderChoice;
use super::secrets::Place;
use crate::account::Account;
use crate::accounts::Accounts;
use crate::board::Board;
use crate::consent::Broker;
use crate::hardware::Devices;
use crate::journal::Journal;
use crate::managed::ManagedCell;
use crate::models::Models;
use crate::policy_cell::PolicyCell;
use crate::rule_list;
use crate::screen::Screen;
use crate::sessions::Sessions;
use crate::view::{
    CeilingView, ChangeCounts, ChatView, LinkState, Notice, PowerView, ShellCeilingView, ShellView, Snapshot,
};

/// Changes are gathered for so long, so that a flood costs about twenty pictures a second.
const GATHER: Duration = Duration::from_millis(50);

/// What a picture is composed from.
pub(super) struct Sources {
    pub(super) policy: Arc<PolicyCell>,
    pub(super) broker: Arc<Broker>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) journal: Arc<Journal>,
    pub(super) board: Arc<Board>,
    pub(super) account: Account,
    pub(super) shell: Arc<Shell>,
    pub(super) undo: Arc<UndoStore>,
    pub(super) folders: Arc<FolderChoice>,
    pub(super) managed: Arc<ManagedCell>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) secrets: Arc<Place>,
    pub(super) screen: Arc<Screen>,
    pub(super) models: Arc<Models>,
    pub(super) devices: Arc<Devices>,
    /// The chat of a data link started by hand, with its folder.
    pub(super) legacy: Option<(SessionId, String)>,
}

impl Sources {
    pub(super) fn compose(&self) -> Snapshot {
        let policy = self.policy.get();
        let powers = Power::ALL
            .into_iter()
            .map(|power| PowerView {
                power: power.name().to_owned(),
                mode: policy.mode(power).name().to_owned(),
                locked_by: policy.locked_off.get(&power).map(|by| escape_outside_text(by)),
                ceiling: policy.ceilings.powers.get(&power).map(|most| CeilingView {
                    mode: most.name().to_owned(),
                    by: escape_outside_text(&policy.ceilings.by),
                }),
                built: true,
                running: self.board.running_now(power),
            })
            .collect();
        let broken = policy.broken.as_ref().map(|fault| Notice {
            code: "settings_broken".to_owned(),
            message: format!(
                "The stored settings cannot be read ({}), so everything is refused. Mend or remove the file, then start Drawbridge again.",
                escape_outside_text(fault)
            ),
        });
        let link = self.board.link();
        let mut chats = self.sessions.views();
        if let Some((session, folder)) = &self.legacy {
            chats.push(ChatView {
                session_id: session.as_str().to_owned(),
                folder: escape_outside_text(folder),
                revision: 0,
                active: !matches!(link.state, LinkState::Off | LinkState::Halted),
                link: link.state,
                in_flight: 0,
                requests: 0,
                revoked: false,
                last_used_ms: 0,
                ..ChatView::default()
            });
        }
        for chat in &mut chats {
            self.tell_doings(chat);
        }
        for chat in &mut chats {
            chat.modes = rule_list::modes_of(&policy, &chat.session_id);
            if let Ok(session) = SessionId::parse(&chat.session_id) {
                chat.privacy = self.models.chat_view(&session);
            }
        }
        tell_open_elsewhere(&mut chats);
        let mut rules = rule_list::allowed(&policy);
        for rule in &mut rules {
            let chat = chats.iter().find(|chat| Some(&chat.session_id) == rule.session_id.as_ref());
            rule.folder = chat.map(|chat| chat.folder.clone());
        }
        Snapshot {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            raised: policy.raised,
            trouble: self.board.trouble().or(broken),
            account: self.account.view(),
            link,
            chats,
            powers,
            shell: ShellView {
                mode: match policy.shell_mode {
                    ShellMode::Confined => "confined",
                    ShellMode::Full => "full",
                }
                .to_owned(),
                network: named(policy.shell_network).to_owned(),
                confinement_missing: self.shell.known_sandbox_state().and_then(|state| state.missing()),
                ceiling: shell_ceiling(&policy.ceilings),
            },
            prompts: self.broker.views(),
            activity: self.board.rows(),
            audit: self.journal.view(),
            tray: self.board.tray(),
            rules,
            offered_folder: self.folders.shown_offer(),
            browse_roots: self.folders.shown_roots(&policy),
            last_raise: self.board.last_raise(),
            notices: self.board.notices(),
            window_wanted: self.board.window_wanted(),
            gate: None,
            accounts: self.accounts.rows(self.account.has_tokens()),
            accounts_fixed: self.accounts.fixed.map(|fixed| fixed.name().to_owned()),
            secrets: self.secrets.view(),
            managed: self.managed.view(),
            screen: self.screen.view(),
            models: self.models.view(),
            devices: self.devices.view(),
        }
    }
}

impl Sources {
    /// Adds what a chat did in this run and what of it can be taken back.
    fn tell_doings(&self, chat: &mut ChatView) {
        let doings = self.board.doings(&chat.session_id);
        chat.last_operation = doings.last_operation;
        chat.powers_used = doings.powers.iter().map(|power| power.name().to_owned()).collect();
        if let Ok(session) = SessionId::parse(&chat.session_id) {
            let counts = self.undo.counts(&session);
            chat.changes = ChangeCounts {
                created: counts.created,
                written: counts.replaced,
                moved: counts.moved,
                deleted: counts.deleted,
            };
        }
    }
}

fn shell_ceiling(ceilings: &Ceilings) -> Option<ShellCeilingView> {
    (ceilings.confined || ceilings.network.is_some()).then(|| ShellCeilingView {
        by: escape_outside_text(&ceilings.by),
        confined_only: ceilings.confined,
        network: ceilings.network.map(|most| named(most).to_owned()),
    })
}

const fn named(network: Network) -> &'static str {
    match network {
        Network::None => "none",
        Network::Loopback => "loopback",
        Network::All => "all",
    }
}

/// Sends pictures. Cheap to clone.
#[derive(Clone)]
pub(super) struct Publisher {
    sources: Arc<Sources>,
    out: watch::Sender<Arc<Snapshot>>,
    turn: Arc<Mutex<()>>,
}

impl Publisher {
    /// Takes what pictures are composed from, and returns where they can be seen.
    pub(super) fn new(sources: Sources) -> (Self, watch::Receiver<Arc<Snapshot>>) {
        let (out, watched) = watch::channel(Arc::new(sources.compose()));
        (Self { sources: Arc::new(sources), out, turn: Arc::default() }, watched)
    }

    /// Shows what has changed before a command is acknowledged: whoever asked must not see the old picture.
    pub(super) fn now(&self) {
        // One at a time, so that an older picture never covers a newer one.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.sources.compose();
        // Whoever only looked has changed nothing, and nobody has to draw the same again.
        self.out.send_if_modified(|shown| {
            let differs = **shown != next;
            if differs {
                *shown = Arc::new(next);
            }
            differs
        });
    }

    /// Sends a new picture after every change until the engine ends.
    pub(super) async fn keep_publishing(self) {
        let mut account = self.sources.account.subscribe();
        loop {
            tokio::select! {
                () = self.sources.board.changed() => {}
                changed = account.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
            tokio::time::sleep(GATHER).await;
            self.now();
        }
    }
}

/// Tells each private chat which others can read the same files and let them go. For the person alone: folders are compared by their
/// text, which decides nothing.
fn tell_open_elsewhere(chats: &mut [ChatView]) {
    let usable = |chat: &&ChatView| !chat.revoked && !chat.privacy.on;
    let open: Vec<(String, String)> =
        chats.iter().filter(usable).map(|chat| (chat.session_id.clone(), chat.folder.clone())).collect();
    for chat in chats.iter_mut().filter(|chat| chat.privacy.on && !chat.revoked) {
        let mine = Path::new(&chat.folder);
        let shares = |folder: &String| Path::new(folder).starts_with(mine) || mine.starts_with(folder);
        let others = open.iter().filter(|(_, folder)| shares(folder)).map(|(id, _)| id.clone());
        chat.privacy.open_elsewhere = others.collect();
    }
}
