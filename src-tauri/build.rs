//! Embeds the window's files and the list of commands that it may call.

fn main() {
    #[cfg(feature = "desktop")]
    tauri_build::build();
}
