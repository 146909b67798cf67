//! Does what a menu line says. Rules live in the engine; nobody waits for an answer here.

use std::sync::Arc;

use drawbridge_engine::view::PromptAnswer;
use drawbridge_engine::{Command, CommandError, EngineHandle, Reply};
use tauri::{AppHandle, Manager};
use tokio::sync::Notify;

use super::menu::{Action, only_in_window};
use crate::words::{Language, Word};
use crate::{around, dialogs, notify, outside, shell, window};

/// Makes what performs actions. `redraw` wakes the tray, so that check marks say the truth again.
pub(crate) fn performer(app: AppHandle, redraw: Arc<Notify>) -> impl Fn(Action) + Clone + Send + Sync + 'static {
    move |action| {
        let (app, redraw) = (app.clone(), Arc::clone(&redraw));
        tauri::async_runtime::spawn(async move {
            if let Err(error) = perform(&app, action).await {
                tracing::warn!(code = error.code, "what was chosen in the tray was refused: {}", error.message);
                if error.code == "bad_name" {
                    // The only answer to a dialog that the person has just used.
                    window::open(&app);
                }
            }
            redraw.notify_one();
        });
    }
}

async fn perform(app: &AppHandle, action: Action) -> Result<(), CommandError> {
    let engine = app.state::<EngineHandle>().inner().clone();
    let command = match action {
        // Said by a menu that was drawn before an agent could use the screen.
        action if only_in_window(&engine.snapshot(), &action) => {
            window::open(app);
            return Ok(());
        }
        Action::Open => {
            window::open(app);
            return Ok(());
        }
        Action::ShowQuestion => {
            around::show_question(app);
            return Ok(());
        }
        Action::OpenFolder(session_id) => return outside::open_folder(&engine.snapshot(), &session_id),
        Action::SignIn => return sign_in(&engine).await,
        Action::OfferFolder => match dialogs::pick_folder(None, Word::ChooseOffer.text(Language::of(app)), None).await?
        {
            Some(path) => Command::OfferFolder { path: Some(path) },
            None => return Ok(()),
        },
        Action::Quit => {
            shell::quit(app);
            return Ok(());
        }
        Action::Deny { id, revision } => Command::AnswerPrompt { id, revision, answer: PromptAnswer::Deny },
        Action::DenyAll => Command::DenyPrompts,
        Action::StopScreen => {
            window::pill::stop(app);
            return Ok(());
        }
        Action::SetRaised(raised) => {
            if raised {
                notify::raised_here();
            }
            Command::SetRaised { raised }
        }
        Action::Connect => Command::Connect,
        Action::Detach(session_id) => Command::Detach { session_id },
        Action::SetPower(power, mode) => Command::SetPower { power, mode },
        Action::Confine(network) => Command::SetShell { mode: "confined".to_owned(), network },
        Action::TakeBackOffer => Command::OfferFolder { path: None },
        Action::StopLooking(path) => Command::RemoveBrowseRoot { path },
    };
    engine.send(command).await.map(|_| ())
}

async fn sign_in(engine: &EngineHandle) -> Result<(), CommandError> {
    if let Some(url) = &engine.snapshot().account.authorize_url {
        // One is under way; its page may have been closed.
        return outside::open_in_browser(url).await;
    }
    if let Reply::AuthorizeUrl { url } = engine.send(Command::SignIn).await? {
        outside::open_in_browser(&url).await?;
    }
    Ok(())
}
