//! In which chats contents of files stay on this computer. A running engine is asked, and lets nothing go that its window has not let go;
//! while none runs, the stored settings are changed.

use anyhow::{Context as _, anyhow, bail};
use drawbridge_core::{SessionId, escape_outside_text};
use drawbridge_engine::Command;
use drawbridge_engine::control::ControlError;
use drawbridge_engine::view::{AskedFileView, Snapshot};
use drawbridge_policy::{MAX_PRIVACY_CHATS, PolicyState};
use drawbridge_store::bindings::Bindings;
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::settings::Settings;
use serde_json::{Map, Value, json};

use crate::args::{PrivacyVerb, Switch};
use crate::place::{Place, Reach};
use crate::{accounts, audit, configuration, out, start};

pub(crate) async fn run(verb: Option<PrivacyVerb>, json: bool) -> anyhow::Result<u8> {
    match verb {
        None => show(json).await,
        Some(PrivacyVerb::On { chat }) => set(chat, Some(true)).await,
        Some(PrivacyVerb::Off { chat }) => set(chat, Some(false)).await,
        Some(PrivacyVerb::Follow { chat }) => set(Some(chat), None).await,
        Some(PrivacyVerb::Review { switch }) => set_review(switch == Switch::On).await,
    }
}

/// What is shown.
struct Told {
    all: bool,
    review: bool,
    preview_bytes: u16,
    fixed: bool,
    chats: Vec<ToldChat>,
}

struct ToldChat {
    id: String,
    private: bool,
    own: Option<bool>,
    asked: Vec<AskedFileView>,
}

async fn show(json: bool) -> anyhow::Result<u8> {
    let told = told().await?;
    if json {
        out::line(&told.as_json().to_string())?;
    } else {
        told.in_words().iter().try_for_each(|line| out::line(line))?;
    }
    Ok(0)
}

async fn told() -> anyhow::Result<Told> {
    let place = Place::from_env()?;
    let stored = if place.exists() {
        match place.reach().await? {
            Reach::Running(mut client) => return Ok(Told::of_running(client.snapshot().await?)),
            Reach::Stopped(_owner) => Settings::peek_of(&place.folders.state, &accounts::kept_for(&place).1),
        }
    } else {
        PolicyState::defaults()
    };
    let loaded = configuration::load(&place, FlagOverrides::default())?;
    Ok(Told::of_stopped(&start::policy(&place, &loaded, &stored)))
}

impl Told {
    fn of_running(now: Snapshot) -> Self {
        let chat = |chat: drawbridge_engine::view::ChatView| ToldChat {
            id: chat.session_id,
            private: chat.privacy.on,
            own: chat.privacy.own,
            asked: chat.privacy.asked,
        };
        Self {
            all: now.models.private_all,
            review: now.models.review,
            preview_bytes: now.models.preview_bytes,
            fixed: now.managed.is_some_and(|managed| managed.locked.iter().any(|name| name == "privacy.all")),
            chats: now.chats.into_iter().map(chat).collect(),
        }
    }

    fn of_stopped(state: &PolicyState) -> Self {
        let chat = |(session, own): (&SessionId, &bool)| ToldChat {
            id: session.as_str().to_owned(),
            private: state.is_private(Some(session)),
            own: Some(*own),
            asked: Vec::new(),
        };
        Self {
            all: state.is_private(None),
            review: state.privacy.review,
            preview_bytes: state.preview_bytes(),
            fixed: state.ceilings.private,
            chats: state.privacy.chats.iter().map(chat).collect(),
        }
    }

    fn as_json(&self) -> Value {
        let chat = |chat: &ToldChat| json!({ "session_id": chat.id, "private": chat.private, "own": chat.own, "asked": chat.asked });
        let chats: Vec<Value> = self.chats.iter().map(chat).collect();
        json!({
            "all": self.all,
            "review": self.review,
            "preview_bytes": self.preview_bytes,
            "fixed": self.fixed,
            "chats": chats,
        })
    }

    fn in_words(&self) -> Vec<String> {
        let by = if self.fixed { ", as your organisation has set it" } else { "" };
        let what = |private: bool| if private { "stay on this computer" } else { "may leave" };
        let mut lines =
            vec![format!("contents of files {} in every chat that has no choice of its own{by}", what(self.all))];
        if self.review {
            lines.push("an answer about a private file waits until you have read it".to_owned());
        }
        if self.preview_bytes > 0 {
            lines
                .push(format!("up to {} first bytes of a private file leave with its description", self.preview_bytes));
        }
        for chat in &self.chats {
            let own = if chat.own.is_some() { "" } else { ", as in all" };
            lines.push(format!("chat {}: contents {}{own}", escape_outside_text(&chat.id), what(chat.private)));
            lines.extend(chat.asked.iter().map(|file| {
                let path = escape_outside_text(&file.path);
                format!("    {path}: described {}, asked about {}", times(file.stubs), times(file.turns))
            }));
        }
        lines
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

async fn set(chat: Option<String>, on: Option<bool>) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            client.send(&Command::SetPrivacy { session_id: chat, on }).await.map_err(in_window)?;
        }
        Reach::Stopped(_owner) => set_stored(&place, chat.as_deref(), on)?,
    }
    Ok(0)
}

async fn set_review(on: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            client.send(&Command::SetPrivacyReview { on }).await.map_err(in_window)?;
        }
        Reach::Stopped(_owner) => {
            let (settings, mut state) = Settings::open_of(&place.folders.state, &accounts::kept_for(&place).1);
            state.privacy.review = on;
            settings.save(&state)?;
            note(&place, None, [("review_answers", on.into())]);
        }
    }
    Ok(0)
}

/// Says what to do where the running engine leaves something to its window.
fn in_window(error: ControlError) -> anyhow::Error {
    let for_the_window = matches!(&error, ControlError::Refused(fault) if fault.code == "window_only");
    if for_the_window {
        return anyhow!(
            "this lets more leave the computer, so while Drawbridge runs it is done in its window, and nothing has changed; where there is no window, end Drawbridge, give this command again, and start it"
        );
    }
    error.into()
}

/// Changes what is stored. The caller holds the folder's lock.
fn set_stored(place: &Place, chat: Option<&str>, on: Option<bool>) -> anyhow::Result<()> {
    let (folder, account) = accounts::kept_for(place);
    // To keep contents here must not wait for a configuration that can be used.
    if on != Some(true) {
        let loaded = configuration::load(place, FlagOverrides::default())?;
        if loaded.managed.as_ref().is_some_and(|managed| managed.private) {
            bail!(
                "your organisation keeps contents of files on this computer, so nothing has changed; ask your administrator if you need it"
            );
        }
        if chat.is_none() && loaded.config.privacy.all {
            out::complain(
                "config.toml says [privacy] all = true, and that counts at the next start whatever is stored",
            );
        }
    }
    let (settings, mut state) = Settings::open_of(&place.folders.state, &account);
    let Some(chat) = chat else {
        state.privacy.all = on == Some(true);
        settings.save(&state)?;
        note(place, None, [("private", on.into())]);
        return Ok(());
    };
    let bindings = Bindings::open(&folder)?;
    let session = SessionId::parse(chat).ok().filter(|session| bindings.get(session).is_some());
    let session = session
        .with_context(|| format!("no chat {} is known here; look at the list of chats", escape_outside_text(chat)))?;
    let known = state.privacy.chats.contains_key(&session);
    match on {
        Some(_) if !known && state.privacy.chats.len() >= MAX_PRIVACY_CHATS => {
            bail!(
                "{MAX_PRIVACY_CHATS} chats say for themselves already whether contents stay here, so nothing has changed"
            )
        }
        Some(on) => state.privacy.chats.insert(session.clone(), on),
        None => state.privacy.chats.remove(&session),
    };
    settings.save(&state)?;
    note(place, Some(&session), [("chat", chat.into()), ("private", on.into())]);
    Ok(())
}

fn note<const N: usize>(place: &Place, session: Option<&SessionId>, facts: [(&str, Value); N]) {
    let details: Map<String, Value> = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    audit::note(place, session, "POLICY_CHANGED", details);
}
