//! Embeds the window's files and the list of commands that it may call.

#[cfg(feature = "desktop")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without this list every page of the app could call every command; with it a capability must name each one.
    const COMMANDS: &[&str] = &[
        "snapshot",
        "send",
        "desktop",
        "prefs",
        "set_prefs",
        "painted",
        "choose_folder",
        "offer_folder",
        "add_browse_root",
        "export_audit",
        "open_folder",
        "set_practice",
        "open_authorize_page",
        "open_platform",
        "copy",
        "diagnostics",
        "open_logs",
        "doctor",
        "doctor_fix",
        "login_start",
        "set_login_start",
        "updates",
        "check_updates",
        "install_update",
        "open_release",
        "use_account",
        "pill",
        "show_main",
    ];
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    let attributes =
        tauri_build::Attributes::new().app_manifest(manifest).capabilities_path_pattern("src-tauri/capabilities/**/*");
    Ok(tauri_build::try_build(attributes)?)
}

#[cfg(not(feature = "desktop"))]
fn main() {}
