//! The practice platform inside the program: to try everything without an account.
//!
//! It has a state folder of its own below the real one, so that nothing of a trial mixes with the account. The platform
//! forgets everything when it ends, so each start signs in anew; it belongs to the person at this computer alone, and
//! asking them whether they trust themselves would teach them to press buttons unread.

use std::path::Path;
use std::time::Duration;

use drawbridge_engine::accounts::Fixed;
use drawbridge_engine::view::LinkState;
use drawbridge_engine::{Command, EngineHandle, EngineOptions, Reply};
use drawbridge_os::folders::Folders;
use drawbridge_practice::{Beside, ConsentMode, Practice, PracticeOptions, Script};

/// The link is there long before this, or never.
const CONNECTED_WITHIN: Duration = Duration::from_secs(20);

/// Starts the platform on a free port, and the practice model beside it unless the person has a model of their own.
///
/// # Errors
/// What the system says.
pub(crate) async fn start(client_id: &str, ollama_url: &str) -> std::io::Result<Practice> {
    let extra_clients = vec![client_id.to_owned()];
    let beside = Beside::ModelUnless(ollama_url.to_owned());
    let options = PracticeOptions { consent: ConsentMode::Allow, extra_clients, beside, ..PracticeOptions::default() };
    Practice::start(options).await
}

/// Names the folders of a trial.
pub(crate) fn folders(real: &Folders) -> Folders {
    let state = state_folder(&real.state);
    Folders { logs: state.clone(), state, config: real.config.clone() }
}

/// Names the state folder of a trial.
fn state_folder(real: &Path) -> std::path::PathBuf {
    real.join("practice")
}

/// Makes options for a trial out of the real ones.
pub(crate) fn options(real: EngineOptions, practice: &Practice) -> EngineOptions {
    let mut options = EngineOptions {
        folders: folders(&real.folders),
        platform_url: practice.ws_url(),
        accounts_fixed: Some(Fixed::Practice),
        ..real
    };
    // Whether it may be asked, the person says in the window, as for any model.
    if let Some(url) = practice.model_url() {
        options.models.ollama_url = url;
    }
    // It is part of this program; everything else that an organisation has fixed holds in a trial too.
    options.managed.policy = options.managed.policy.map(|policy| policy.with_practice(&practice.ws_url()));
    options
}

/// Signs in at the platform and sees that the link comes up. A trial that cannot sign in says so in the window.
pub(crate) async fn sign_in(engine: EngineHandle, script: Script) {
    // Something may be in the way of the start, which the person clears away first.
    if engine.subscribe().wait_for(|picture| picture.gate.is_none()).await.is_err() {
        return;
    }
    let url = match engine.send(Command::SignIn).await {
        Ok(Reply::AuthorizeUrl { url }) => url,
        Ok(_) => return,
        Err(error) => return tracing::warn!(code = error.code, "the practice platform was not signed in to"),
    };
    let Some(address) = script.visit(&url) else {
        return tracing::warn!("the practice platform did not take its own sign-in");
    };
    if let Err(error) = engine.send(Command::PasteRedirect { address }).await {
        return tracing::warn!(code = error.code, "the practice platform was not signed in to");
    }
    let mut pictures = engine.subscribe();
    let settled = async {
        let mut dialled = false;
        while pictures.changed().await.is_ok() {
            let state = pictures.borrow_and_update().link.state;
            // The first dial may still have carried the forgotten tokens of the last trial.
            if state == LinkState::Halted && !std::mem::replace(&mut dialled, true) {
                let _ = engine.send(Command::Connect).await;
            }
            if state == LinkState::Connected {
                return;
            }
        }
    };
    if tokio::time::timeout(CONNECTED_WITHIN, settled).await.is_err() {
        tracing::warn!("the practice platform is not connected yet");
    }
}
