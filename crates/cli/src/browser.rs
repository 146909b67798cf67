//! Opens the sign-in page in the person's browser. That it may not open is normal; the address is printed as well.

use std::process::Stdio;

use crate::out;

/// Never reaches a child process.
const SECRET_VARIABLES: [&str; 2] = ["DRAWBRIDGE_KEYCHAIN_PASSPHRASE", "AUTOGPT_SHIM_KEYCHAIN_PASSPHRASE"];

/// Starts the browser and does not wait for it.
pub(crate) fn open(address: &str) {
    let named = |key| std::env::var_os(key).is_some_and(|value| !value.is_empty());
    // Without a display the opener would start a browser in this very terminal.
    if std::env::consts::OS == "linux" && !named("DISPLAY") && !named("WAYLAND_DISPLAY") {
        return;
    }
    for mut opener in open::commands(address) {
        for variable in SECRET_VARIABLES {
            opener.env_remove(variable);
        }
        opener.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if opener.spawn().is_ok() {
            return;
        }
    }
    out::complain("no browser could be opened; open the printed address yourself");
}
