use std::path::PathBuf;

use super::*;

fn owner(class: &str, instance: &str, program: Option<&str>) -> Owner {
    Owner {
        pid: Some(1),
        started: Some(1),
        class: class.to_owned(),
        instance: instance.to_owned(),
        program: program.map(PathBuf::from),
    }
}

fn kind(class: &str, instance: &str, program: Option<&str>, app: Option<&str>) -> Option<Kind> {
    of_names(&names(&owner(class, instance, program), app))
}

#[test]
fn protected_apps_are_known_by_any_of_their_names() {
    for (class, instance, program, app, meant) in [
        ("KeePassXC", "keepassxc", Some("/usr/bin/keepassxc"), None, Kind::Passwords),
        ("Bitwarden", "bitwarden", Some("/opt/Bitwarden/bitwarden-app"), None, Kind::Passwords),
        ("1Password", "1password", None, None, Kind::Passwords),
        ("", "", Some("/app/bin/secrets"), Some("org.gnome.World.Secrets"), Kind::Passwords),
        ("Seahorse", "seahorse", None, None, Kind::Passwords),
        ("kwalletmanager5", "kwalletmanager5", None, None, Kind::Passwords),
        ("Proton Pass", "proton pass", None, None, Kind::Passwords),
        ("Gcr-prompter", "gcr-prompter", None, None, Kind::Prompt),
        ("Pinentry-gtk-2", "pinentry-gtk-2", Some("/usr/bin/pinentry-gtk-2"), None, Kind::Prompt),
        ("", "", Some("/usr/lib/policykit-1-gnome/polkit-gnome-authentication-agent-1"), None, Kind::Prompt),
        ("Ssh-askpass", "ssh-askpass-gnome", None, None, Kind::Prompt),
        ("i3lock", "i3lock", None, None, Kind::Lock),
        ("", "", Some("/usr/bin/slock"), None, Kind::Lock),
        ("XScreenSaver", "xscreensaver", None, None, Kind::Lock),
        ("", "", Some("/usr/sbin/lightdm-gtk-greeter"), None, Kind::Lock),
        ("XTerm", "xterm", Some("/usr/bin/xterm"), None, Kind::Terminal),
        ("URxvt", "urxvt", None, None, Kind::Terminal),
        ("Gnome-terminal", "gnome-terminal-server", None, None, Kind::Terminal),
        ("org.wezfurlong.wezterm", "wezterm-gui", None, None, Kind::Terminal),
        ("st-256color", "st-256color", None, None, Kind::Terminal),
        ("Drawbridge-desktop", "drawbridge-desktop", None, None, Kind::Own),
        ("net.drawbridge.desktop", "", None, None, Kind::Own),
        // A window that calls itself a terminal and is a password manager is a password manager.
        ("XTerm", "xterm", Some("/usr/bin/keepassxc"), None, Kind::Passwords),
    ] {
        assert_eq!(kind(class, instance, program, app), Some(meant), "{class} {instance} {program:?} {app:?}");
    }
}

#[test]
fn names_are_compared_whole() {
    for class in ["Steam", "Stellarium", "keepassxc-notes-viewer", "myxterm", "Secretservice", "Pinentry", "foot-fall"]
    {
        let meant = if class == "Pinentry" { Some(Kind::Prompt) } else { None };
        assert_eq!(kind(class, "", None, None), meant, "{class}");
    }
    assert_eq!(kind("Xscreensaver-settings", "xscreensaver-settings", None, None), None);
    assert_eq!(kind("", "", None, None), None);
    assert!(is_named("pinentry-qt", "Pinentry-*") && !is_named("pinentry", "pinentry-*"));
    assert!(is_named("lightdm-x-greeter", "lightdm-*-greeter") && !is_named("lightdm-greeter", "lightdm-*-greeter"));
}

#[test]
fn a_list_of_a_person_means_names_in_any_case() {
    let names = names(&owner("Gimp-2.10", "gimp-2.10", Some("/usr/bin/gimp-2.10")), Some("gimp"));
    let listed = |list: &[&str]| {
        let list: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
        is_listed(&names, &list)
    };

    assert!(listed(&["GIMP"]) && listed(&[" gimp-2.10 "]) && listed(&["krita", "gimp-*"]));
    assert!(!listed(&["gim"]) && !listed(&["/usr/bin/gimp"]) && !listed(&[""]) && !listed(&[]));
}
