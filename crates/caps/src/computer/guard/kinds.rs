//! Which apps are protected, told by the names that their windows and programs have. Pure.
//!
//! Names are compared whole and in any case; a `*` at the end stands for any ending. What a name cannot tell stays open: a terminal
//! inside an editor is the editor, and a password page in a browser is the browser.

use std::ffi::OsStr;
use std::path::Path;

use drawbridge_os::seat::window::Owner;

/// A kind of app that is protected whatever the person lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// Drawbridge itself.
    Own,
    /// Keeps passwords.
    Passwords,
    /// Asks for a secret for the system. It may take the keyboard without showing that.
    Prompt,
    /// Covers a locked screen.
    Lock,
    /// Takes commands.
    Terminal,
    /// Starts what is typed. It may take the keyboard without showing that.
    Starter,
}

const OWN: &[&str] = &["drawbridge", "drawbridge-desktop", "net.drawbridge.desktop"];

const PASSWORD_MANAGERS: &[&str] = &[
    "1password",
    "1password-*",
    "com.1password.1password",
    "com.agilebits.onepassword*",
    "authpass",
    "authenticator",
    "com.belmoussaoui.authenticator",
    "bitwarden",
    "bitwarden-*",
    "com.bitwarden.desktop",
    "buttercup",
    "buttercup-*",
    "dashlane",
    "com.dashlane.*",
    "enpass",
    "io.enpass.enpass",
    "in.sinew.enpass*",
    "gnome-passwordsafe",
    "gnome-secrets",
    "org.gnome.world.secrets",
    "org.gnome.passwordsafe",
    "secrets",
    "gopass-ui",
    "qtpass",
    "org.ijhack.qtpass",
    "pass-gui",
    "passmenu",
    "passy",
    "goldwarden",
    "com.quexten.goldwarden",
    "gpa",
    "kleopatra",
    "org.kde.kleopatra",
    "keepass",
    "keepass.exe",
    "keepass2",
    "keepassx",
    "keepassx2",
    "keepassxc",
    "org.keepassxc.keepassxc",
    "keeper password manager",
    "keeperpasswordmanager",
    "keychain access",
    "com.apple.keychainaccess",
    "com.apple.passwords",
    "passwords",
    "keeweb",
    "info.keeweb.keeweb",
    "kwalletmanager*",
    "org.kde.kwalletmanager*",
    "lastpass",
    "com.lastpass.lastpass",
    "nordpass",
    "com.nordpass.*",
    "proton pass",
    "proton-pass",
    "protonpass",
    "me.proton.pass.*",
    "roboform",
    "seahorse",
    "org.gnome.seahorse.application",
    "org.gnome.seahorse*",
    "strongbox",
    "com.markmcguill.strongbox*",
    "revelation",
];

const SECRET_PROMPTS: &[&str] = &[
    "gcr-prompter",
    "gcr-prompter4",
    "gcr4-ssh-askpass",
    "gcr-viewer",
    "gnome-keyring-prompt*",
    "gnome-ssh-askpass*",
    "ssh-askpass*",
    "x11-ssh-askpass",
    "ksshaskpass",
    "org.kde.ksshaskpass",
    "lxqt-openssh-askpass",
    "seahorse-ssh-askpass",
    "pinentry",
    "pinentry-*",
    "kwalletd*",
    "org.kde.kwalletd*",
    "ksecretd",
    "kdesu",
    "kdesud",
    "kdesudo",
    "gksu*",
    "gksudo",
    "lxqt-sudo",
    "lxsu",
    "lxsudo",
    "beesu",
    "polkit-gnome-authentication-agent-1",
    "polkit-kde-authentication-agent-1",
    "org.kde.polkit-kde-authentication-agent-1",
    "polkit-mate-authentication-agent-1",
    "lxqt-policykit-agent",
    "lxpolkit",
    "xfce-polkit",
    "polkit-dumb-agent",
    "cinnamon-polkit*",
    "ukui-polkit*",
    "hyprpolkitagent",
    "consent.exe",
    "credentialuibroker.exe",
    "com.apple.securityagent",
];

const LOCK_SCREENS: &[&str] = &[
    "betterlockscreen",
    "cinnamon-screensaver",
    "gnome-screensaver",
    "gnome-screensaver-dialog",
    "gtklock",
    "hyprlock",
    "i3lock",
    "i3lock-color",
    "kscreenlocker",
    "kscreenlocker_greet",
    "light-locker",
    "light-locker-greeter",
    "lightdm-gtk-greeter",
    "lightdm-*-greeter",
    "lockapp.exe",
    "loginwindow",
    "mate-screensaver",
    "mate-screensaver-dialog",
    "physlock",
    "slock",
    "swaylock",
    "vlock",
    "waylock",
    "xfce4-screensaver",
    "xfce4-screensaver-dialog",
    "xscreensaver",
    "xscreensaver-auth",
    "xscreensaver-gfx",
    "xscreensaver-systemd",
    "xsecurelock",
    "xtrlock",
];

const TERMINALS: &[&str] = &[
    "alacritty",
    "aterm",
    "black-box",
    "blackbox",
    "cascadia_hosting_window_class",
    "cmd.exe",
    "com.apple.terminal",
    "com.gexperts.tilix",
    "com.googlecode.iterm2",
    "com.mitchellh.ghostty",
    "com.raggesilver.blackbox",
    "com.rioterm.rio",
    "conhost.exe",
    "consolewindowclass",
    "cool-retro-term",
    "deepin-terminal",
    "dev.warp.warp",
    "dev.warp.warp-stable",
    "domterm",
    "eterm",
    "foot",
    "footclient",
    "ghostty",
    "gnome-console",
    "gnome-terminal",
    "gnome-terminal-server",
    "guake",
    "guake.main",
    "havoc",
    "hyper",
    "io.elementary.terminal*",
    "iterm",
    "iterm2",
    "kgx",
    "kitty",
    "koi8rxterm",
    "konsole",
    "lilyterm",
    "lxterm",
    "lxterminal",
    "mate-terminal",
    "mintty",
    "mlterm",
    "openconsole.exe",
    "org.alacritty.alacritty",
    "org.codeberg.dnkl.foot*",
    "org.gnome.console",
    "org.gnome.ptyxis",
    "org.gnome.terminal",
    "org.kde.konsole",
    "org.kde.yakuake",
    "org.wezfurlong.wezterm",
    "pantheon-terminal",
    "powershell",
    "powershell.exe",
    "ptyxis",
    "putty",
    "pwsh",
    "pwsh.exe",
    "qterminal",
    "rio-terminal",
    "roxterm",
    "rxvt",
    "rxvt-unicode",
    "sakura",
    "st",
    "st-256color",
    "terminal",
    "terminator",
    "terminology",
    "termite",
    "tilda",
    "tilix",
    "tym",
    "urxvt*",
    "uxterm",
    "warp-terminal",
    "wezterm*",
    "windowsterminal",
    "windowsterminal.exe",
    "wt.exe",
    "xfce4-terminal*",
    "xterm",
    "yakuake",
];

const STARTERS: &[&str] = &[
    "albert",
    "bemenu*",
    "dmenu*",
    "fuzzel",
    "gmrun",
    "krunner",
    "org.kde.krunner",
    "kupfer*",
    "lxqt-runner",
    "rofi*",
    "synapse",
    "tofi*",
    "ulauncher*",
    "wofi",
    "xfce4-appfinder",
    "xfrun4",
];

/// Tells whether a name is meant by another one, which may hold one `*`.
pub(in super::super) fn is_named(name: &str, wanted: &str) -> bool {
    matches(&name.to_lowercase(), &wanted.to_lowercase())
}

/// As [`is_named`], for names in small letters.
fn matches(name: &str, wanted: &str) -> bool {
    match wanted.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => name == wanted,
    }
}

/// The names by which an app can be meant, in small letters: class and instance of its window, its program, its identifier.
pub(in super::super) fn names(owner: &Owner, app_id: Option<&str>) -> Vec<String> {
    let program = owner.program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    [Some(&*owner.class), Some(&*owner.instance), program, app_id]
        .into_iter()
        .flatten()
        .filter(|name| !name.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Tells which kind of protected app has one of these names, in small letters. The strictest one counts.
pub(in super::super) fn of_names(names: &[String]) -> Option<Kind> {
    let any = |list: &[&str]| names.iter().any(|name| list.iter().any(|wanted| matches(name, wanted)));
    if any(OWN) {
        Some(Kind::Own)
    } else if any(LOCK_SCREENS) {
        Some(Kind::Lock)
    } else if any(SECRET_PROMPTS) {
        Some(Kind::Prompt)
    } else if any(PASSWORD_MANAGERS) {
        Some(Kind::Passwords)
    } else if any(TERMINALS) {
        Some(Kind::Terminal)
    } else if any(STARTERS) {
        Some(Kind::Starter)
    } else {
        None
    }
}

/// Tells whether a person's list holds one of these names, in small letters.
pub(in super::super) fn is_listed(names: &[String], list: &[String]) -> bool {
    list.iter().any(|wanted| {
        let wanted = wanted.trim().to_lowercase();
        !wanted.is_empty() && names.iter().any(|name| matches(name, &wanted))
    })
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
