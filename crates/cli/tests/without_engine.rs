//! The real binary where no engine runs.

#![allow(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::process::{Command, Output};

fn drawbridge(home: &std::path::Path, words: &[&str]) -> Output {
    command(home, words).output().unwrap()
}

fn command(home: &std::path::Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drawbridge"));
    command
        .args(words)
        .env_clear()
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("con fig"))
        .env("DRAWBRIDGE_STATE_DIR", home.join("state"))
        .env("DRAWBRIDGE_CONFIG_DIR", home.join("config"));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_wrong_word_says_so_on_standard_error_and_ends_with_2() {
    let home = tempfile::tempdir().unwrap();
    for words in [
        &["explode"][..],
        &["status", "--explode"],
        &[],
        &["answer", "x", "deny"],
        &["audit"],
        &["audit", "show", "one"],
        &["audit", "prune", "--older-than", "1w"],
        &["audit", "key"],
        &["start", "--session-id", "c"],
        &["start", "--allowed-root", "/tmp"],
        &["start", "--session-id", "a/b", "--allowed-root", "/tmp"],
        &["policy", "explain"],
        &["policy", "explain", "FILE_EXPLODE"],
    ] {
        let output = drawbridge(home.path(), words);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn every_command_has_help() {
    let home = tempfile::tempdir().unwrap();
    for word in [
        "auth",
        "start",
        "policy",
        "privacy",
        "config",
        "revoke",
        "audit",
        "doctor",
        "diagnostics",
        "status",
        "raise",
        "lower",
        "undo",
        "chats",
        "detach",
        "forget",
        "prompts",
        "answer",
        "install",
        "uninstall",
        "completions",
        "man",
    ] {
        let output = drawbridge(home.path(), &[word, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{word}");
        assert!(text(&output.stdout).contains("Usage:"), "{word}");
    }
}

#[test]
fn status_of_a_stopped_engine_is_one_object_and_3_and_makes_no_folder() {
    let home = tempfile::tempdir().unwrap();
    let output = drawbridge(home.path(), &["status", "--json"]);

    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).starts_with('{') && text(&output.stdout).trim_end().lines().count() == 1);
    assert!(text(&output.stdout).contains("\"running\":false"));
    assert!(!home.path().join("state").exists());
}

#[test]
fn commands_for_a_running_engine_alone_end_with_1() {
    let home = tempfile::tempdir().unwrap();
    for words in [&["detach", "c1"][..], &["prompts"]] {
        let output = drawbridge(home.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(text(&output.stderr).contains("not running"), "{words:?}");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "systemd units are for Linux")]
fn install_writes_what_it_prints_and_uninstall_takes_it_away() {
    let home = tempfile::tempdir().unwrap();
    let unit = home.path().join("con fig/systemd/user/drawbridge.service");

    let printed = drawbridge(home.path(), &["install", "--print"]);
    assert!(!unit.exists());
    let installed = drawbridge(home.path(), &["install"]);
    let written = std::fs::read_to_string(&unit).unwrap();
    let removed = drawbridge(home.path(), &["uninstall"]);

    assert!(text(&printed.stdout).contains(written.trim_end()));
    assert!(text(&installed.stdout).contains("systemctl --user"));
    assert_eq!((removed.status.code(), unit.exists()), (Some(0), false));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "desktop entries are for Linux")]
fn install_writes_an_entry_for_the_appimage_that_was_started_and_not_for_its_mount() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a b");
    std::fs::create_dir(&folder).unwrap();
    let appimage = folder.join("$x.AppImage");
    std::fs::write(&appimage, "").unwrap();
    let entry = home.path().join("con fig/autostart/drawbridge.desktop");
    let run = |words: &[&str]| {
        let mut command = command(home.path(), words);
        command.env("APPIMAGE", &appimage).output().unwrap()
    };

    let printed = text(&run(&["install", "--print"]).stdout);
    assert!(!entry.exists());
    let installed = run(&["install"]);
    let written = std::fs::read_to_string(&entry).unwrap();
    assert!(printed.contains(written.trim_end()), "{printed}");
    let exec = format!("Exec=\"{}/\\\\$x.AppImage\" --hidden\n", folder.display());
    assert!(written.contains(&exec), "{written}");
    assert_eq!(installed.status.code(), Some(0));

    // A person who prefers the engine without a window is told that only one of them can run.
    let other = run(&["install", "--headless"]);
    assert!(text(&other.stderr).contains("only one of them can run"), "{}", text(&other.stderr));
    let removed = run(&["uninstall"]);
    assert_eq!((removed.status.code(), entry.exists()), (Some(0), false));
    assert!(!home.path().join("con fig/systemd/user/drawbridge.service").exists());
    assert_eq!(text(&run(&["uninstall"]).stdout), "Drawbridge does not start at login\n");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "systemd units are for Linux")]
fn what_somebody_else_wrote_and_what_cannot_be_written_is_told_and_ends_with_1() {
    let home = tempfile::tempdir().unwrap();
    let unit = home.path().join("con fig/systemd/user/drawbridge.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    let foreign = "[Service]\nExecStart=/usr/bin/castle-game\n";
    std::fs::write(&unit, foreign).unwrap();
    for words in [&["install", "--headless"][..], &["uninstall"]] {
        let output = drawbridge(home.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(text(&output.stderr).contains("not written by Drawbridge"), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_to_string(&unit).unwrap(), foreign);
    }

    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("con fig"), "a file").unwrap();
    let output = drawbridge(home.path(), &["install", "--headless"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("drawbridge.service cannot be"), "{}", text(&output.stderr));

    let both = drawbridge(home.path(), &["install", "--headless", "--app"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "systemd units are for Linux")]
fn what_stands_in_the_way_of_one_entry_does_not_keep_the_other() {
    let home = tempfile::tempdir().unwrap();
    let unit = home.path().join("con fig/systemd/user/drawbridge.service");
    let folder = home.path().join("con fig/autostart/drawbridge.desktop");
    assert!(drawbridge(home.path(), &["install", "--headless"]).status.success());
    std::fs::create_dir_all(&folder).unwrap();

    let output = drawbridge(home.path(), &["uninstall"]);

    assert_eq!((output.status.code(), unit.exists(), folder.is_dir()), (Some(1), false, true));
    assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
}

#[test]
#[cfg(unix)]
fn practice_prints_its_address_at_once_answers_there_and_ends_in_order() {
    use std::io::{BufRead as _, BufReader};
    let mut child = Command::new(env!("CARGO_BIN_EXE_drawbridge"))
        .arg("practice")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (platform, model) = (lines.next().unwrap(), lines.next().unwrap());
    let model = model.strip_prefix("Practice model: ").unwrap();

    for address in [platform.as_str(), model] {
        let place = address.strip_prefix("http://").unwrap().trim_end_matches('/');
        assert!(std::net::TcpStream::connect(place).is_ok(), "{address}");
    }
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn policy_says_what_the_configuration_allows() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    std::fs::write(home.path().join("config/config.toml"), "enable_shell = true\n[consent]\nattach = \"ask\"\n")
        .unwrap();

    let explained = drawbridge(home.path(), &["policy", "explain", "execute-command", "ATTACH_SESSION", "--json"]);
    let listed = drawbridge(home.path(), &["policy", "list"]);

    let lines: Vec<serde_json::Value> =
        text(&explained.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["operation"], &lines[0]["decision"]), (&"EXECUTE_COMMAND".into(), &"allow".into()));
    assert_eq!((&lines[1]["decision"], &lines[1]["rule"]), (&"deny".into(), &"nobody_to_ask".into()));
    assert_eq!(text(&listed.stdout).lines().count(), drawbridge_engine::explain::OPERATIONS.len());
    assert!(!home.path().join("state").exists());
}

#[test]
fn the_origin_of_each_value_is_told_and_a_wrong_file_ends_with_78() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    let file = home.path().join("config/config.toml");
    std::fs::write(&file, "display_name = \"desk\"\n").unwrap();
    let shown = text(&drawbridge(home.path(), &["config", "show", "--origin"]).stdout);
    assert!(shown.contains("display_name = \"desk\"  # file"), "{shown}");
    assert!(shown.contains("max_concurrent = 4  # default"), "{shown}");

    std::fs::write(&file, "displayname = \"desk\"\n").unwrap();
    for words in [&["config", "show"][..], &["start", "--headless"], &["auth", "--no-browser"]] {
        let output = drawbridge(home.path(), words);
        assert_eq!(output.status.code(), Some(78), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains("line 1") && said.contains("display_name"), "{said}");
    }
}

#[test]
fn the_doctor_tells_what_is_missing_and_how_to_mend_it() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    let output = drawbridge(home.path(), &["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = found["checks"].as_array().unwrap();
    let secrets = checks.iter().find(|check| check["check"] == "secrets").unwrap();

    assert_eq!(output.status.code(), Some(0));
    assert_eq!(secrets["state"], "fail");
    assert!(secrets["fix"].as_str().unwrap().contains("DRAWBRIDGE_KEYCHAIN_PASSPHRASE"));
    assert!(
        checks
            .iter()
            .all(|check| !["warn", "fail"].contains(&check["state"].as_str().unwrap()) || check["fix"].is_string())
    );
    assert!(!home.path().join("state").exists());

    std::fs::write(home.path().join("config/config.toml"), "enable_computer_use = true\n").unwrap();
    let output = drawbridge(home.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stdout).contains("FAIL  computer_use"));
}

#[test]
fn manual_pages_are_written_for_every_command_and_a_file_in_the_way_is_told() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("man pages");
    std::fs::write(home.path().join("file"), "").unwrap();

    let written = drawbridge(home.path(), &["man", "--out", folder.to_str().unwrap()]);
    let refused = drawbridge(home.path(), &["man", "--out", home.path().join("file/x").to_str().unwrap()]);

    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let whole = std::fs::read_to_string(folder.join("drawbridge.1")).unwrap();
    assert!(whole.contains("EXIT STATUS") && whole.contains("drawbridge\\-undo(1)"), "{whole}");
    let part = std::fs::read_to_string(folder.join("drawbridge-undo-restore.1")).unwrap();
    assert!(part.contains("Takes changes back") && part.contains("SEE ALSO"), "{part}");
    assert!(!folder.join("drawbridge-help.1").exists());
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("cannot be made"), "{}", text(&refused.stderr));
}
