//! What the check-up says, in English: what was found, what that means, and what to do.
//!
//! The page says the same in the person's language by the key. `{names}` are filled with the parameters of a finding. A test
//! holds the page's English to this list. No text has an apostrophe, a quotation mark or a line break, so that both sides
//! can write it alike.

/// One thing that can be found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) key: &'static str,
    pub(super) text: &'static str,
    pub(super) fix: Option<&'static str>,
}

macro_rules! words {
    ($($name:ident $key:literal: $text:literal $(=> $fix:literal)?;)+) => {
        $(pub(super) const $name: Words = Words { key: $key, text: $text, fix: words!(@fix $($fix)?) };)+
        /// Every one of them.
        #[cfg(test)]
        pub(super) const ALL: &[Words] = &[$($name),+];
    };
    (@fix) => { None };
    (@fix $fix:literal) => { Some($fix) };
}

words! {
    SILENT "silent": "This check had no answer within {seconds} seconds, so nobody knows."
        => "Something that it asks hangs: a folder on a network, a keychain or the network itself. See to that, then check again.";

    ENGINE_RUNNING "engine_running": "Drawbridge is running.";
    ENGINE_STOPPED "engine_stopped": "Drawbridge is not running.";
    ENGINE_GATE "engine_gate": "Drawbridge is open but could not begin its work: {why}"
        => "Do what the first page of the window asks for, then check again.";
    ENGINE_SILENT "engine_silent": "Drawbridge is running and cannot be asked: {why}"
        => "End Drawbridge and start it again.";

    ENGINE_TROUBLE "engine_trouble": "Everything is refused: {why}"
        => "Do what that says, then check again.";

    CONFIG_READ "config_read": "{file} is read.";
    CONFIG_ABSENT "config_absent": "There is no {file}, so the defaults hold.";
    CONFIG_OPEN "config_open": "{file} holds the password of the proxy, and its permissions let other people on this computer read it."
        => "Make the file readable for you alone, or name the proxy in HTTPS_PROXY instead of there.";
    CONFIG_BROKEN "config_broken": "The configuration cannot be used: {why}"
        => "Correct what is named there, or move the file away to use the defaults.";

    FOLDER_FINE "folder_fine": "{path} can be used.";
    FOLDER_LATER "folder_later": "{path} is made by the first start.";
    FOLDER_NOT_MADE "folder_not_made": "{path} is not there and cannot be made, since {above} cannot be written."
        => "Make that folder writable for you, or set DRAWBRIDGE_STATE_DIR to another one.";
    FOLDER_NONE "folder_none": "Where the state folder belongs, {path}, something else stands."
        => "Move it away, or set DRAWBRIDGE_STATE_DIR to a folder.";
    FOLDER_READ_ONLY "folder_read_only": "{path} cannot be written, so nothing can be kept and nothing may be done."
        => "Make the folder writable for you. If its disk was mounted read-only, the disk may be damaged.";
    FOLDER_FOREIGN "folder_foreign": "{path} belongs to another user, so Drawbridge does not use it."
        => "Take the folder over for yourself, or set DRAWBRIDGE_STATE_DIR to one of your own.";
    FOLDER_OPEN "folder_open": "Others on this computer can look into {path}."
        => "Make it private. If that does not last, its file system knows no permissions: move it to one that does.";
    FOLDER_UNREADABLE "folder_unreadable": "{path} cannot be looked at: {why}"
        => "Make the folder and those above it accessible for you.";

    DISK_FINE "disk_fine": "{free} are free for {path}.";
    DISK_LOW "disk_low": "Only {free} are left for {path}. When that is used up, Drawbridge can record nothing and does nothing."
        => "Make room on that disk.";
    DISK_FULL "disk_full": "The disk is full: {free} are left for {path}. What cannot be recorded is not done."
        => "Make room on that disk now; 200 MB and more are fine.";
    DISK_UNKNOWN "disk_unknown": "How much room is left for {path} is not known on this system.";

    INSTALLED_IMAGE "installed_image": "Drawbridge runs from {path}.";
    INSTALLED_PACKAGE "installed_package": "Drawbridge was installed by a package ({kind}) of this system.";
    INSTALLED_INSTALLER "installed_installer": "Drawbridge was installed by its installer.";
    INSTALLED_OTHER "installed_other": "Drawbridge was unpacked or built by hand: {path}";
    PROGRAM_GONE "program_gone": "The file of the program that runs here is gone: it was updated or removed meanwhile. Confined commands cannot start."
        => "Quit Drawbridge. If it was updated, start it again.";
    ACCOUNTS_BROKEN "accounts_broken": "Further accounts cannot be used: {why}"
        => "Mend the file, or move it away to begin with an empty list.";
    MANAGED_SET "managed_set": "{organisation} has fixed settings of this computer with {path}: {locked}";
    MANAGED_SET_NAMELESS "managed_set_nameless": "Your organisation has fixed settings of this computer with {path}: {locked}";
    MANAGED_BROKEN "managed_broken": "Nothing may act: {why}"
        => "Ask your administrator to mend that file.";
    LOGIN_ON "login_on": "Drawbridge starts when you log in to this computer ({place}).";
    LOGIN_OFF "login_off": "Drawbridge does not start when you log in to this computer.";
    LOGIN_ELSEWHERE "login_elsewhere": "At login another program starts in place of this one: {program}"
        => "Let it start this Drawbridge, or remove {place}.";
    LOGIN_GONE "login_gone": "At login a program is to start that is not there any more: {program}"
        => "Let it start this Drawbridge, or remove {place}.";
    LOGIN_DISABLED "login_disabled": "The desktop has switched off {place}, so Drawbridge does not start at login."
        => "Switch it on among the programs that start with your session, or take the entry away with: drawbridge uninstall";
    LOGIN_FOREIGN "login_foreign": "{place} was not written by Drawbridge, so Drawbridge leaves it alone."
        => "Rename or remove it if Drawbridge should start at login.";
    LOGIN_UNKNOWN "login_unknown": "Whether Drawbridge starts at login is not known: {why}";

    SETTINGS_LOWERED "settings_lowered": "The settings can be read, and the bridge is lowered.";
    SETTINGS_RAISED "settings_raised": "The bridge is raised: nothing may act."
        => "Lower it when you want agents to work, here or with: drawbridge lower";
    SETTINGS_BROKEN "settings_broken": "The settings cannot be trusted, so everything is refused until you act: {why}"
        => "Set the file aside and begin with the defaults. It is kept under another name.";

    SECRETS_KEYCHAIN "secrets_keychain": "Secrets are kept in the keychain of this computer, and it answers.";
    SECRETS_FILE "secrets_file": "Secrets are kept in an encrypted file in the state folder.";
    SECRETS_FILE_LATER "secrets_file_later": "There is no usable keychain, so secrets will be kept in a file encrypted under the passphrase that is set.";
    SECRETS_LOCKED "secrets_locked": "The keychain of this computer is locked, so secrets cannot be read or stored."
        => "Unlock the keychain, or set DRAWBRIDGE_KEYCHAIN_PASSPHRASE for an encrypted file.";
    SECRETS_LOST "secrets_lost": "Secrets are in the keychain of this computer, and it is locked now or does not answer. The sign-in cannot be renewed like this."
        => "Unlock the keychain, then check again.";
    SECRETS_NONE "secrets_none": "There is no place for secrets: {why}"
        => "Install or start a keychain such as GNOME Keyring, or set DRAWBRIDGE_KEYCHAIN_PASSPHRASE for an encrypted file.";
    SECRETS_SILENT "secrets_silent": "The keychain of this computer is there and does not answer."
        => "It may wait for a question that nobody sees. Look for its window, or log in to this computer anew.";
    SECRETS_NO_PASSPHRASE "secrets_no_passphrase": "Secrets are in {path}, and its passphrase is not known here."
        => "Start Drawbridge and type it there, or set DRAWBRIDGE_KEYCHAIN_PASSPHRASE.";
    SECRETS_WRONG "secrets_wrong": "The passphrase does not open {path}, or the file was changed. It stays as it is."
        => "Set the right passphrase in DRAWBRIDGE_KEYCHAIN_PASSPHRASE, or put back a good copy of the file.";
    SECRETS_UNUSABLE "secrets_unusable": "The place for secrets cannot be used: {why}"
        => "Put back a good copy of what is named there, then check again.";

    SIGN_IN_HERE "sign_in_here": "You are signed in.";
    SIGN_IN_NONE "sign_in_none": "You are not signed in, so no agent can reach this computer."
        => "Sign in, here or with: drawbridge auth";
    SIGN_IN_UNDER_WAY "sign_in_under_way": "A sign-in is under way in the browser.";
    SIGN_IN_EXPIRED "sign_in_expired": "The sign-in has expired."
        => "Sign in again, here or with: drawbridge auth";
    SIGN_IN_REFUSED "sign_in_refused": "The platform does not accept the sign-in any more."
        => "Sign in again, here or with: drawbridge auth";
    SIGN_IN_UNREADABLE "sign_in_unreadable": "Whether you are signed in cannot be read: {why}"
        => "Unlock the place for secrets, then check again.";

    AUDIT_LATER "audit_later": "{path} is made by the first start.";
    AUDIT_SOUND "audit_sound": "{path} is sound: nobody without its key has changed it.";
    AUDIT_SOUND_ALL "audit_sound_all": "All {records} records are sound (files: {files}): nobody without the key has changed them.";
    AUDIT_UNTRIED "audit_untried": "The audit log was not checked, since a part of what guards it lies in the place for secrets.";
    AUDIT_BROKEN "audit_broken": "The audit log is not as it was written: {count} findings, the first: {first}"
        => "Keep the files, they are evidence. drawbridge audit verify-all tells all of it.";
    AUDIT_UNREADABLE "audit_unreadable": "The audit log cannot be read: {why}"
        => "Make its files readable for you, then check again.";
    AUDIT_NO_KEY "audit_no_key": "There is an audit log and no usable key to it: {why}"
        => "Open the place that held the key, or move the old log away.";
    AUDIT_NOT_WRITTEN "audit_not_written": "The audit log cannot be written, so nothing is done."
        => "Make room on the disk and make its folder writable, then start Drawbridge again.";

    LINK_UP "link_up": "Drawbridge is connected to the platform.";
    LINK_TRYING "link_trying": "Drawbridge is just connecting to the platform.";
    LINK_WAITS "link_waits": "Drawbridge is not connected to the platform and tries again by itself: {why}"
        => "See what the way to the platform says below, then try at once.";
    LINK_HALTED "link_halted": "The connection to the platform has ended and is not made again by itself: {why}"
        => "Do what that says, then connect.";
    PLATFORM_NAMED "platform_named": "The platform is {url}.";
    PLATFORM_WRONG "platform_wrong": "The address of the platform cannot be used: {why}"
        => "Correct platform_url in the configuration or DRAWBRIDGE_PLATFORM_URL.";
    NETWORK_WRONG "network_wrong": "The network cannot be used as it is configured: {why}"
        => "Correct proxy or tls in the configuration, or the HTTPS_PROXY that is set.";
    PORTS_FREE "ports_free": "{free} of the 12 ports to which a browser comes back after a sign-in are free.";
    PORTS_HALF "ports_half": "Each port from 41899 to 41910 is in use on IPv4 or IPv6, so a browser could come back to another program. Nobody can sign in like this."
        => "End the programs that listen there.";
    PORTS_TAKEN "ports_taken": "All ports from 41899 to 41910 are in use, so nobody can sign in."
        => "End the programs that listen there.";

    BROWSE_USUAL "browse_usual": "Agents may look for a folder in the usual places: home and your drives.";
    BROWSE_NOWHERE "browse_nowhere": "Agents may look nowhere, so no folder can be attached."
        => "Name folders in roots under [browse] in the configuration, or take roots out of it.";
    BROWSE_FINE "browse_fine": "Agents may look for a folder in {path}.";
    BROWSE_MISSING "browse_missing": "Agents may look for a folder in {path}, and it is not there."
        => "Make it or attach its drive, or take it off the list of folders.";
    BROWSE_UNREADABLE "browse_unreadable": "Agents may look for a folder in {path}, and it cannot be read: {why}"
        => "Make it readable for you, or take it off the list of folders.";

    BUBBLEWRAP_FINE "bubblewrap_fine": "bubblewrap is there and starts. It hides your home and other programs from a command.";
    BUBBLEWRAP_MISSING "bubblewrap_missing": "bubblewrap is not installed. Nothing would hide your home from a command."
        => "Install the package bubblewrap.";
    BUBBLEWRAP_INSTALL "bubblewrap_install": "bubblewrap is not installed. Nothing would hide your home from a command."
        => "Install it in a terminal: {command}";
    BUBBLEWRAP_BROKEN "bubblewrap_broken": "bubblewrap is installed and cannot be started: {why}"
        => "Install the package bubblewrap anew.";
    NAME_SPACES_FINE "name_spaces_fine": "Ordinary users may make name spaces, the rooms in which confined commands run.";
    NAME_SPACES_REFUSED "name_spaces_refused": "This system refuses name spaces to ordinary users, so no room for a confined command can be made: {why}"
        => "Let the administrator allow them for bubblewrap: an AppArmor profile for bwrap, or kernel.unprivileged_userns_clone=1.";
    NAME_SPACES_UNTRIED "name_spaces_untried": "Whether name spaces are allowed cannot be tried without bubblewrap.";
    LANDLOCK_FINE "landlock_fine": "The kernel has Landlock, which keeps the writes of a command in its folder.";
    LANDLOCK_MISSING "landlock_missing": "The kernel cannot keep the writes of a command in its folder: Landlock 3 or later is missing or switched off."
        => "Use Linux 6.2 or later with landlock among the security modules (lsm=) of the kernel.";
    CONFINEMENT_FINE "confinement_fine": "Commands can be confined to their folder.";
    CONFINEMENT_MISSING "confinement_missing": "Commands cannot be confined here, so confined ones are refused. Nothing runs with fewer walls than you chose."
        => "Mend the layer that is named above, or keep commands off.";
    CONFINEMENT_OTHER "confinement_other": "Confining commands is built for Linux only; on this system confined ones are refused."
        => "Keep commands off, or give full access to chats that you trust.";

    SHELLS_FOUND "shells_found": "Commands can use {names}. Start files of a shell are not read.";
    SHELLS_NONE "shells_none": "No shell is on the PATH, so commands that need one cannot run."
        => "Install bash, or start Drawbridge with a PATH that holds it.";

    DISPLAY_SYSTEM "display_system": "The system draws the windows.";
    DISPLAY_X11 "display_x11": "This is an X11 session.";
    DISPLAY_WAYLAND "display_wayland": "This is a Wayland session.";
    DISPLAY_WAYLAND_X11 "display_wayland_x11": "This is a Wayland session with an X server for older programs.";
    DISPLAY_NONE "display_none": "No display is named, so Drawbridge can only run without a window here.";
    DISPLAY_WSL "display_wsl": "This is Linux within Windows (WSL): agents act on this Linux, not on Windows.";
    TRAY_THERE "tray_there": "The desktop shows tray icons.";
    TRAY_MISSING "tray_missing": "The desktop shows no tray icons, so Drawbridge ends when its window is closed."
        => "On GNOME switch on the extension AppIndicator; other desktops have a tray to add to their panel.";
    TRAY_NO_BUS "tray_no_bus": "There is no session bus, so no tray icon can be shown."
        => "Start Drawbridge from your desktop, not from another user or a bare terminal.";
    NOTIFICATIONS_THERE "notifications_there": "The desktop shows notifications.";
    NOTIFICATIONS_MISSING "notifications_missing": "Nothing on this desktop shows notifications. Questions still come in a window of their own."
        => "Install a notification service, for example dunst.";
    HOT_KEY_OURS "hot_key_ours": "{keys} raises the bridge from anywhere.";
    HOT_KEY_OFF "hot_key_off": "The keys that raise the bridge are switched off.";
    HOT_KEY_LOST "hot_key_lost": "The keys that raise the bridge could not be taken: another program has them."
        => "Take them from that program, or raise with the button or the tray.";
    HOT_KEY_NOT_HERE "hot_key_not_here": "In a session of this kind no keys can raise the bridge. The button and the tray do.";
    BROWSER_SYSTEM "browser_system": "The system opens the page of a sign-in.";
    BROWSER_FOUND "browser_found": "xdg-open opens the page of a sign-in.";
    BROWSER_MISSING "browser_missing": "xdg-open is not on the PATH, so the page of a sign-in does not open by itself."
        => "Install the package xdg-utils, or copy the address of the page.";
    BROWSER_INSTALL "browser_install": "xdg-open is not on the PATH, so the page of a sign-in does not open by itself."
        => "Install it in a terminal: {command}";

    ELEVATION_ORDINARY "elevation_ordinary": "Drawbridge runs with the rights of an ordinary user.";
    ELEVATION_ROOT "elevation_root": "Drawbridge runs with all rights over the computer, and agents with it."
        => "Run Drawbridge as an ordinary user.";
    PERMISSIONS_NONE "permissions_none": "This system asks for no permission of its own to see the screen or to act on it.";
    SCREEN_GRANTED "screen_granted": "The system lets Drawbridge record the screen.";
    SCREEN_DENIED "screen_denied": "The system does not let Drawbridge record the screen."
        => "Switch it on for Drawbridge in System Settings, Privacy and Security, Screen Recording.";
    SCREEN_STALE "screen_stale": "The system lists Drawbridge for recording the screen, but it sees the wallpaper alone: the permission belongs to an older version."
        => "Take Drawbridge off that list in System Settings, Privacy and Security, Screen Recording, and add it again.";
    ACCESSIBILITY_GRANTED "accessibility_granted": "The system lets Drawbridge use keyboard and mouse.";
    ACCESSIBILITY_DENIED "accessibility_denied": "The system does not let Drawbridge use keyboard and mouse."
        => "Switch it on for Drawbridge in System Settings, Privacy and Security, Accessibility.";

    SCREEN_READY "screen_ready": "Agents can see and use the screen here, as far as you allow it.";
    SCREEN_READY_SIZED "screen_ready_sized": "Agents can see and use the screen here ({width} × {height}), as far as you allow it.";
    SCREEN_NONE "screen_none": "No display is named, so agents can neither see nor use a screen here."
        => "Start Drawbridge inside a desktop session, or leave computer use off.";
    SCREEN_NONE_X11 "screen_none_x11": "The X server cannot be used: {why}"
        => "Start Drawbridge inside the desktop session, with the DISPLAY and XAUTHORITY of it.";
    SCREEN_NONE_WAYLAND "screen_none_wayland": "This Wayland session lets no program see or use the screen: {why}"
        => "Log in to an X11 session, or leave computer use off.";
    SCREEN_NONE_WSL "screen_none_wsl": "A Linux inside Windows has no screen of its own."
        => "Run Drawbridge on Windows itself, or leave computer use off.";
    SCREEN_NONE_MACOS "screen_none_macos": "macOS does not let Drawbridge see or use the screen: {why}"
        => "Allow Drawbridge in System Settings, Privacy and Security, Accessibility and Screen Recording.";
    SCREEN_NONE_WINDOWS "screen_none_windows": "The screen cannot be seen or used: {why}"
        => "Start Drawbridge inside the desktop session of the person.";
    SCREEN_LACKS "screen_lacks": "Not possible here: {features}. The reason: {why}"
        => "Nothing has to be done if agents do not need that.";
    SCREEN_LACKS_X11 "screen_lacks_x11": "Not possible on this X server: {features}. The reason: {why}"
        => "Start a window manager or the service that the reason names; nothing has to be done if agents do not need that.";
    SCREEN_LACKS_WAYLAND "screen_lacks_wayland": "Not possible in this Wayland session: {features}. The reason: {why}"
        => "Log in to an X11 session if agents need that.";
    CLIPBOARD_READY "clipboard_ready": "Agents can use the clipboard here, as far as you allow it.";
    CLIPBOARD_NONE "clipboard_none": "The clipboard cannot be used here: {why}"
        => "Start Drawbridge inside the desktop session, or leave the clipboard off.";
    CLIPBOARD_FOREIGN_ALONE "clipboard_foreign_alone": "enable_clipboard_read_foreign does nothing while enable_clipboard is off."
        => "Switch enable_clipboard on, or take enable_clipboard_read_foreign out of the configuration.";

    MODEL_THERE "model_there": "The model server {url} answers: {name}, models: {count}.";
    MODEL_FAR "model_far": "The model server {url}, which may be on another computer, answers: {name}, models: {count}. Everything that a model is to read goes there.";
    MODEL_EMPTY "model_empty": "The model server {url} answers ({name}) and has no model, so agents cannot ask one."
        => "Get a model, for example in a terminal: ollama pull llama3.2:3b";
    MODEL_UNASKED "model_unasked": "The model server {url} has not been asked yet.";
    MODEL_MISSING "model_missing": "The model server {url} cannot be asked: {why}"
        => "Start it, or correct its address in the configuration or on the Models page.";

    DEVICES_SERIAL "devices_serial": "Serial ports that can be used: {names}";
    DEVICES_USB "devices_usb": "USB devices that can be used: {names}";
    DEVICES_GPIO "devices_gpio": "GPIO chips that can be used: {names}";
    DEVICES_NONE "devices_none": "No serial port, USB device or GPIO chip is there that agents could use."
        => "Plug the device in. A port that no list names can be added by its path on the Devices page.";
    DEVICE_DENIED "device_denied": "{device} is shared and cannot be opened: {why}"
        => "Do what that says, then check again.";
    DEVICES_DENIED "devices_denied": "Drawbridge may not open: {names}. About the first one: {why}"
        => "Do what that says if agents are to use it; else nothing has to be done.";
    DEVICES_AWAY "devices_away": "Shared, not here now: {names}";
    USB_UNUSABLE "usb_unusable": "USB devices cannot be looked at: {why}"
        => "Nothing has to be done if agents need no USB device; else see to what the reason names.";
}
