//! The system's own dialogs. Paths reach the engine from here alone, never from a page.

#[cfg(not(any(windows, target_vendor = "apple")))]
mod question;

use std::path::{Path, PathBuf};

use drawbridge_engine::CommandError;
use rfd::{AsyncFileDialog, AsyncMessageDialog, MessageLevel};
use tauri::{AppHandle, Manager as _, WebviewWindow};

use crate::window::prompt::Beneath;

/// Lets the person pick a folder, above this window if there is one. None: they did not.
///
/// # Errors
/// `bad_name` for a folder whose name cannot be written as text.
pub(crate) async fn pick_folder(
    parent: Option<&WebviewWindow>,
    title: &str,
    start: Option<&Path>,
) -> Result<Option<String>, CommandError> {
    let dialog = files(parent, title, start);
    let _beneath = parent.map(|window| Beneath::a_dialog(window.app_handle()));
    dialog.pick_folder().await.map(|picked| text(picked.path())).transpose()
}

/// Lets the person name a new file. None: they did not.
///
/// # Errors
/// `bad_name` for a place whose name cannot be written as text.
pub(crate) async fn save_file(parent: &WebviewWindow, title: &str, name: &str) -> Result<Option<String>, CommandError> {
    let dialog = files(Some(parent), title, None).set_file_name(name);
    let _beneath = Beneath::a_dialog(parent.app_handle());
    dialog.save_file().await.map(|picked| text(picked.path())).transpose()
}

/// Tells something and waits until it was read.
pub(crate) async fn tell(title: &'static str, message: &'static str) {
    let dialog = AsyncMessageDialog::new().set_level(MessageLevel::Warning).set_title(title).set_description(message);
    dialog.show().await;
}

/// Asks. True only when the person pressed the button that allows; without such a button there is only no.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) async fn allow_or_deny(
    app: &AppHandle,
    title: &str,
    message: &str,
    allow: Option<&str>,
    deny: &str,
) -> bool {
    question::ask(app, title, message, allow, deny).await
}

/// Asks. True only when the person pressed the button that allows; without such a button there is only no.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) async fn allow_or_deny(_: &AppHandle, title: &str, message: &str, allow: Option<&str>, deny: &str) -> bool {
    use rfd::{MessageButtons, MessageDialogResult};
    let buttons = match allow {
        Some(allow) => MessageButtons::OkCancelCustom(allow.to_owned(), deny.to_owned()),
        None => MessageButtons::OkCustom(deny.to_owned()),
    };
    let dialog = AsyncMessageDialog::new()
        .set_level(MessageLevel::Warning)
        .set_title(title)
        .set_description(message)
        .set_buttons(buttons);
    let pressed = dialog.show().await;
    // Some systems name the button, some give its place.
    match (allow, pressed) {
        (Some(_), MessageDialogResult::Ok) => true,
        (Some(allow), MessageDialogResult::Custom(name)) => name == allow,
        _ => false,
    }
}

fn files(parent: Option<&WebviewWindow>, title: &str, start: Option<&Path>) -> AsyncFileDialog {
    let mut dialog = AsyncFileDialog::new().set_title(title);
    if let Some(parent) = parent {
        dialog = dialog.set_parent(parent);
    }
    // Without a place some dialogs begin where nothing can be picked.
    match start.filter(|path| path.is_dir()).map(PathBuf::from).or_else(std::env::home_dir) {
        Some(place) => dialog.set_directory(place),
        None => dialog,
    }
}

fn text(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        CommandError::new(
            "bad_name",
            "The name of this folder cannot be written as text. Rename it, or pick another one.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picked_path_is_taken_as_it_is() {
        assert_eq!(text(Path::new("/home/ada/Über uns")).unwrap(), "/home/ada/Über uns");
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_text_is_refused_in_words() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/home/ada/\xff"));
        assert_eq!(text(odd).unwrap_err().code, "bad_name");
    }
}
