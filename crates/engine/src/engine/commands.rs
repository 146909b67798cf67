//! What each command does.

use std::time::{Duration, Instant};

use drawbridge_core::{Power, PowerMode, PromptId, SessionId, SessionOp};
use drawbridge_policy::{Network, PolicyState, ScreenRules, ShellMode};
use serde_json::json;

use super::accounts::Leaving;
use super::answers::answer_fault;
use super::aside::{Todo, Wait};
use super::{Core, chat};
use crate::explain::explain;
use crate::handle::{Command, CommandError, Reply};
use crate::link::Order;
use crate::managed::{managed, may_run, may_set};
use crate::record::shown;
use crate::view::{RaiseView, UndoView};

/// How long the platform may take to revoke.
const REVOKE_WITHIN: Duration = Duration::from_secs(20);

pub(super) type Done = Result<Reply, CommandError>;

impl Core {
    /// Carries a command out, or returns what runs aside.
    pub(super) async fn on_command(&mut self, command: Command) -> Result<Todo, CommandError> {
        let done = match command {
            Command::SetRaised { raised: true } => self.raise().await,
            Command::SetRaised { raised: false } => self.lower(),
            Command::SetPower { power, mode } => self.set_power(&power, &mode).await,
            Command::SetShell { mode, network } => self.set_shell(&mode, &network),
            Command::SetScreen { only_apps, never_apps, full_resolution } => {
                self.set_screen(ScreenRules { only_apps, never_apps, full_resolution })
            }
            Command::SetClipboardForeign { on } => self.set_clipboard_foreign(on),
            Command::SignIn | Command::Connect if self.managed.blocks() => Err(managed("Nothing may be connected")),
            Command::SignIn => return Ok(Todo::Waiting(self.sign_in())),
            Command::PasteRedirect { address } => return Ok(Todo::Waiting(self.paste_redirect(address))),
            Command::CancelSignIn => {
                self.account.cancel_sign_in();
                Ok(Reply::Done)
            }
            Command::SignOut => return Ok(Todo::Waiting(self.sign_out().await)),
            Command::Connect => self.connect(),
            Command::PromptPainted { id, revision } => {
                self.broker.painted(PromptId::new(id), revision).map_err(answer_fault)?;
                Ok(Reply::Done)
            }
            Command::AnswerPrompt { id, revision, answer } => self.answer(id, revision, answer),
            Command::Detach { session_id } => {
                let session = self.known(&session_id)?;
                let details = self.sessions.facts_before(&SessionOp::Detach { session: session.clone() });
                // Before, so that a request that waits gets its answer; after, since one may have come meanwhile.
                self.broker.forget_chat(&session);
                self.sessions.detach_in_turn(&session).await;
                self.models.privacy.forget_stubs(&session);
                self.detached_in_policy(&session)?;
                self.broker.forget_chat(&session);
                self.journal.event(Some(&session), "DETACH_SESSION", details.into());
                Ok(Reply::Done)
            }
            Command::ForgetClosed => {
                let closed = self.sessions.forget_closed().map_err(not_stored)?;
                closed.iter().for_each(|session| self.models.privacy.forget(session));
                self.forgotten_in_policy(&closed)?;
                self.journal.event(None, "POLICY_CHANGED", json!({ "revoked": "closed", "chats": closed.len() }));
                Ok(Reply::Done)
            }
            Command::Forget { session_id } => {
                let session = self.known(&session_id)?;
                self.broker.forget_chat(&session);
                self.sessions.forget(&session).await.map_err(not_stored)?;
                self.models.privacy.forget(&session);
                self.forgotten_in_policy(std::slice::from_ref(&session))?;
                self.journal.event(Some(&session), "POLICY_CHANGED", json!({ "revoked": session.as_str() }));
                Ok(Reply::Done)
            }
            Command::UndoList { session_id } => self.undo_list(session_id.as_deref()),
            Command::UndoRestore { numbers } => return Ok(Todo::Aside(self.undo_restore(numbers))),
            Command::UndoRestoreChat { session_id } => return self.undo_restore_chat(&session_id).map(Todo::Aside),
            Command::ActivityPage { filter, skip, limit } => {
                return Ok(Todo::Aside(self.activity_page(filter, skip, limit)));
            }
            Command::AuditRecord { seq, file } => return Ok(Todo::Aside(self.audit_record(seq, file))),
            Command::AuditVerify => return Ok(Todo::Aside(self.audit_verify())),
            Command::AuditExport { path } => return Ok(Todo::Aside(self.audit_export(path))),
            Command::AuditRotate => self.audit_rotate(),
            Command::AuditPrune { older_than_seconds } => {
                self.audit_prune(Duration::from_secs(older_than_seconds)).await
            }
            Command::Explain { operations, session_id } => self.explain(&operations, session_id.as_deref()),
            Command::ReportTray { tray } => {
                self.board.set_tray(tray);
                Ok(Reply::Done)
            }
            Command::ShowWindow => {
                if self.ends_with_link {
                    let why = "This Drawbridge runs without a window.";
                    return Err(CommandError::new("no_window", why));
                }
                self.board.want_window();
                Ok(Reply::Done)
            }
            Command::SetChatPower { session_id, power, mode } => {
                self.set_chat_power(&session_id, &power, mode.as_deref())
            }
            Command::RemoveRule { id } => self.remove_rule(&id),
            Command::SetRule { id, words, any_more } => self.set_rule(&id, &words, any_more),
            Command::SettingsAfresh => self.settings_afresh(),
            Command::DenyPrompts => self.deny_prompts(),
            Command::ChooseFolder { id, path } => return Ok(Todo::Aside(self.choose_folder(id, path))),
            Command::OfferFolder { path } => return Ok(Todo::Aside(self.offer_folder(path))),
            Command::AddBrowseRoot { path } => {
                self.may_change_roots()?;
                return Ok(Todo::Aside(self.add_browse_root(path)));
            }
            Command::RemoveBrowseRoot { path } => {
                self.may_change_roots()?;
                return Ok(Todo::Aside(self.remove_browse_root(path)));
            }
            Command::AddAccount { name, platform_url, client_id } => {
                return Ok(Todo::Aside(self.add_account(name, platform_url, client_id)));
            }
            Command::UseAccount { id } => return self.use_account(id).map(Todo::Aside),
            Command::RemoveAccount { id } => return Ok(Todo::Aside(self.remove_account(id))),
            Command::ForgetTokens => return Ok(Todo::Waiting(self.forget_tokens().await)),
            Command::MoveSecrets { to, passphrase } => return self.move_secrets(&to, passphrase).map(Todo::Aside),
            Command::AddModelServer { url, api, far, parallel } => self.add_model_server(&url, &api, far, parallel),
            Command::SetModelKey { url, key } => return self.set_model_key(&url, key).map(Todo::Waiting),
            Command::RemoveModelServer { url } => return self.remove_model_server(&url).map(Todo::Waiting),
            Command::FindModelServers => return Ok(Todo::Waiting(self.find_model_servers())),
            Command::LookAtModels => return Ok(Todo::Waiting(self.look_at_models())),
            Command::TryModel { model, text } => self.try_model(model, text),
            Command::TrialText { id } => self.trial_text(id),
            Command::StopTrial { id } => self.stop_trial(id),
            Command::SetPrivacy { session_id, on } => self.set_privacy(session_id.as_deref(), on),
            Command::SetPrivacyReview { on } => self.set_privacy_review(on),
            Command::SetPrivacyPreview { bytes } => self.set_privacy_preview(bytes),
            Command::LookAtDevices => return Ok(Todo::Waiting(self.look_at_devices())),
            Command::ShareDevice { id, shared } => return Ok(Todo::Waiting(self.share_device(&id, shared)?)),
            Command::AddPort { path } => return Ok(Todo::Waiting(self.add_port(path)?)),
            Command::RemovePort { path } => return Ok(Todo::Waiting(self.remove_port(path)?)),
            Command::UseDevice { device, act, hold } => return self.use_device(&device, act, hold).map(Todo::Acting),
            Command::GateUnlock { .. }
            | Command::GateNewFile { .. }
            | Command::GateSetAside
            | Command::GateRetry
            | Command::GateAskKeychain => {
                let why = "Drawbridge has started already, so there is nothing to unlock.";
                Err(CommandError::new("no_gate", why))
            }
            Command::Shutdown => Ok(Reply::Done),
        };
        done.map(Todo::Now)
    }

    /// The stop of invariant 3: stored, then everything ends, then acknowledged.
    async fn raise(&mut self) -> Done {
        let (asked, at_ms) = (self.clock.now(), self.clock.wall().0);
        let was = self.policy.get().raised;
        let stored = self.policy.tighten(|state| {
            state.raised = true;
            state.raise_count += 1;
        });
        let stored_ms = self.ms_since(asked);
        self.broker.raise();
        let screen = self.screen.clone();
        let devices = self.devices.clone();
        let models = self.models.clone();
        tokio::join!(self.stop_links(), screen.stop(), devices.stop(), models.stop());
        self.devices.wake();
        if !was {
            let raise = RaiseView { at_ms, stored_ms, ended_ms: self.ms_since(asked) };
            let details = json!({ "raised": true, "stored_ms": raise.stored_ms, "ended_ms": raise.ended_ms });
            self.journal.event(None, "STOP_ALL", details);
            self.board.set_last_raise(raise);
        }
        self.board.touch();
        match stored {
            Ok(_) => Ok(Reply::Done),
            Err(why) => Err(CommandError::new(
                "not_stored",
                format!(
                    "Everything was stopped, but the stop could not be stored ({why}). It holds until Drawbridge ends. Make room on the disk and raise again."
                ),
            )),
        }
    }

    fn ms_since(&self, then: Instant) -> u64 {
        u64::try_from(self.clock.now().saturating_duration_since(then).as_millis()).unwrap_or(u64::MAX)
    }

    fn lower(&mut self) -> Done {
        if self.policy.get().raised {
            self.policy.change(|state| state.raised = false).map_err(not_stored)?;
            self.journal.event(None, "STOP_ALL", json!({ "raised": false }));
        }
        self.devices.wake();
        self.models.follow();
        self.start_main();
        self.board.touch();
        Ok(Reply::Done)
    }

    async fn set_power(&mut self, power: &str, mode: &str) -> Done {
        let (power, mode) = (power_named(power)?, mode_named(mode)?);
        may_set(&self.policy.get(), power, mode)?;
        let before = self.policy.get();
        let after = self
            .policy
            .change(|state| {
                state.modes.insert(power, mode);
                state.chat_allowances.retain(|allowance, _| allowance.power != power);
                if mode == PowerMode::Off {
                    // Off takes everything back: no chat may wake up with more than the person gives it anew.
                    state.chat_modes.retain(|(_, of), mode| *of != power || *mode == PowerMode::Off);
                }
            })
            .map_err(not_stored)?;
        self.journal.event(None, "POLICY_CHANGED", json!({ "power": power.name(), "mode": mode.name() }));
        let switched_off = before.offers(power) && !after.offers(power);
        // Before links say HELLO again.
        self.models.follow();
        if before.offers(power) != after.offers(power) {
            self.renew_links(switched_off);
        }
        self.apply_screen(&before, &after).await;
        self.devices.follow(&before, &after).await;
        self.board.touch();
        Ok(Reply::Done)
    }

    fn set_shell(&mut self, mode: &str, network: &str) -> Done {
        let mode_wanted = match mode {
            "confined" => ShellMode::Confined,
            "full" => ShellMode::Full,
            other => {
                return Err(CommandError::new("unknown_mode", format!("There is no mode named {}.", shown(other))));
            }
        };
        let network_wanted = match network {
            "none" => Network::None,
            "loopback" => Network::Loopback,
            "all" => Network::All,
            other => {
                let message = format!("There is no network setting named {}.", shown(other));
                return Err(CommandError::new("unknown_network", message));
            }
        };
        may_run(&self.policy.get(), mode_wanted, network_wanted)?;
        let after = self
            .policy
            .change(|state| {
                state.shell_mode = mode_wanted;
                state.shell_network = network_wanted;
            })
            .map_err(not_stored)?;
        self.apply_shell(&after);
        self.journal.event(None, "POLICY_CHANGED", json!({ "shell_mode": mode, "shell_network": network }));
        self.board.touch();
        Ok(Reply::Done)
    }

    pub(super) fn apply_shell(&self, state: &PolicyState) {
        self.shell.control().update(|settings| {
            settings.mode = state.shell_mode;
            settings.network = state.shell_network;
        });
    }

    fn sign_in(&self) -> Wait {
        let (account, board, done) = (self.account.clone(), self.board.clone(), self.signed_in.0.clone());
        Box::pin(async move {
            let attempt = account.sign_in().await.map_err(account_fault)?;
            let url = attempt.authorize_url().to_owned();
            tokio::spawn(async move {
                let good = match attempt.finish().await {
                    Ok(()) => true,
                    Err(fault) => {
                        tracing::info!(%fault, "the sign-in ended without tokens");
                        false
                    }
                };
                let _ = done.send(good).await;
            });
            board.touch();
            Ok(Reply::AuthorizeUrl { url })
        })
    }

    fn paste_redirect(&self, address: String) -> Wait {
        let account = self.account.clone();
        Box::pin(async move {
            match account.paste_redirect(&address).await {
                Ok(()) => Ok(Reply::Done),
                Err(fault) => Err(CommandError::new("paste_refused", sentence(&fault.to_string()))),
            }
        })
    }

    async fn sign_out(&mut self) -> Wait {
        // The platform closes every link on a revoke, ours included: stop them first, and let none begin meanwhile.
        let leaving = Leaving::begin(&self.leaving);
        self.stop_links().await;
        let (account, still_signed_in) = (self.account.clone(), self.signed_in.0.clone());
        Box::pin(async move {
            let revoked = tokio::time::timeout(REVOKE_WITHIN, account.revoke()).await;
            let fault = match revoked {
                Ok(Ok(())) => return Ok(Reply::Done),
                Ok(Err(fault)) => account_fault(fault),
                Err(_) => CommandError::new(
                    "platform_unreachable",
                    "The platform did not answer, so you are still signed in. Try again later.",
                ),
            };
            drop(leaving);
            let _ = still_signed_in.send(true).await;
            Err(fault)
        })
    }

    fn connect(&mut self) -> Done {
        if self.policy.get().raised {
            return Err(CommandError::new("raised", "The bridge is raised. Lower it first."));
        }
        if self.account.bearer().is_err() && !self.signing_in() {
            return Err(CommandError::new("signed_out", "You are not signed in. Sign in first."));
        }
        self.halted = false;
        match &self.main {
            Some(main) => main.order(Order::Connect),
            None => self.start_main(),
        }
        Ok(Reply::Done)
    }

    pub(super) fn known(&self, session_id: &str) -> Result<SessionId, CommandError> {
        chat(session_id).filter(|session| self.sessions.knows(session)).ok_or_else(|| {
            let message = format!("No chat {} is known here. Look at the list of chats.", shown(session_id));
            CommandError::new("unknown_chat", message)
        })
    }

    fn undo_list(&self, session_id: Option<&str>) -> Done {
        let session = session_id.map(chat_named).transpose()?;
        Ok(Reply::Undo { entries: self.undo.list(session.as_ref()).iter().map(UndoView::from).collect() })
    }

    async fn audit_prune(&self, older_than: Duration) -> Done {
        let journal = self.journal.clone();
        match tokio::task::spawn_blocking(move || journal.log().prune(older_than)).await {
            Ok(Ok(files)) => Ok(Reply::Pruned { files }),
            Ok(Err(fault)) => Err(CommandError::new("audit_unavailable", sentence(&fault.to_string()))),
            Err(_) => Err(CommandError::new("audit_unavailable", "The removal broke off. Check the log.")),
        }
    }

    fn explain(&self, operations: &[String], session_id: Option<&str>) -> Done {
        let session = session_id.map(chat_named).transpose()?;
        let state = self.policy.get();
        let explanations = operations.iter().map(|name| {
            let message = format!("There is no operation named {}.", shown(name));
            explain(&state, name, session.as_ref()).ok_or_else(|| CommandError::new("unknown_operation", message))
        });
        Ok(Reply::Explained { explanations: explanations.collect::<Result<_, _>>()? })
    }

    fn audit_rotate(&self) -> Done {
        match self.journal.log().rotate() {
            Ok(path) => Ok(Reply::Rotated { path: path.display().to_string() }),
            Err(fault) => Err(CommandError::new("audit_unavailable", sentence(&fault.to_string()))),
        }
    }
}

/// Takes the id of a chat that need not be attached any more.
pub(super) fn chat_named(text: &str) -> Result<SessionId, CommandError> {
    let unknown = || CommandError::new("unknown_chat", format!("{} is not the id of a chat.", shown(text)));
    chat(text).ok_or_else(unknown)
}

/// Finds a power by the name that a person gave.
pub(super) fn power_named(name: &str) -> Result<Power, CommandError> {
    let message = || format!("There is no power named {}.", shown(name));
    Power::from_name(name).ok_or_else(|| CommandError::new("unknown_power", message()))
}

/// Finds a mode by the name that a person gave.
pub(super) fn mode_named(name: &str) -> Result<PowerMode, CommandError> {
    let message = || format!("There is no mode named {}.", shown(name));
    PowerMode::from_name(name).ok_or_else(|| CommandError::new("unknown_mode", message()))
}

pub(super) fn not_stored(why: impl std::fmt::Display) -> CommandError {
    CommandError::new(
        "not_stored",
        format!("The change could not be stored ({why}), so nothing has changed. Make room on the disk and try again."),
    )
}

pub(super) fn account_fault(fault: crate::account::AccountError) -> CommandError {
    CommandError::new(fault.code(), sentence(&fault.to_string()))
}

/// Makes an error's text a sentence for a person.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        None => String::new(),
    }
}
