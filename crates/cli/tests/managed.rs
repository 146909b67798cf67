//! The real program on a computer that an organisation manages: a real `/etc/drawbridge/policy.toml`, in a mount namespace of its
//! own, so that nothing of the machine that tests is touched. That takes root.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]
#![allow(clippy::print_stderr, reason = "whoever runs the tests must see what was left out")]

mod rig;

use std::process::Output;

use rig::{Rig, finish, said, within};
use serde_json::json;
use tokio::process::Command;

/// Makes /etc a copy for this namespace alone, does what the test wants there, and becomes the program.
const INSIDE: &str = r#"
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
mkdir -m 755 /etc/drawbridge
printf '%s' "$POLICY" > /etc/drawbridge/policy.toml
chmod 644 /etc/drawbridge/policy.toml
eval "$FAULT"
exec "$@"
"#;

/// Tells why there is nothing to try here. CI runs as root.
fn cannot() -> bool {
    let cannot = !drawbridge_os::machine::is_elevated() || !cfg!(target_os = "linux");
    if cannot {
        eprintln!("skipped: a policy of the system needs root and mount namespaces");
    }
    cannot
}

/// The program on a computer with this policy, after `fault` was done to it.
fn on_managed(rig: &Rig, policy: &str, fault: &str, words: &[&str]) -> Command {
    let program = rig.command(words);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", INSIDE, "sh", env!("CARGO_BIN_EXE_drawbridge")]).args(words).env_clear();
    for (name, value) in program.as_std().get_envs() {
        command.env(name, value.unwrap());
    }
    command.env("POLICY", policy).env("FAULT", fault).kill_on_drop(true);
    command.stdin(std::process::Stdio::null());
    command
}

async fn run(rig: &Rig, policy: &str, fault: &str, words: &[&str]) -> Output {
    let mut command = on_managed(rig, policy, fault, words);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command).await
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_stands_above_flag_and_environment_in_everything_that_the_program_tells_and_does() {
    if cannot() {
        return;
    }
    let rig = Rig::signed_in().await;
    let policy = format!(
        "organisation = \"Example Ltd\"\nallowed_platforms = [{:?}]\n[powers]\nshell = \"off\"\n[limits]\nmax_concurrent = 1\n",
        rig.practice.base_url()
    );
    let shown = printed(&run(&rig, &policy, "", &["config", "show", "--origin"]).await);
    assert!(shown.contains("max_concurrent = 1  # managed\n"), "{shown}");
    assert!(shown.contains("enable_shell = false  # managed\n"), "{shown}");
    let explained = printed(&run(&rig, &policy, "", &["policy", "explain", "EXECUTE_COMMAND", "FILE_READ"]).await);
    let lines: Vec<&str> = explained.lines().collect();
    assert_eq!(lines[0], "EXECUTE_COMMAND: deny (locked_off, power shell): shell is switched off by Example Ltd");
    assert!(lines[1].starts_with("FILE_READ: allow"), "{explained}");

    let log = std::fs::File::create(rig.dir.path().join("managed.log")).unwrap();
    let mut command = on_managed(&rig, &policy, "", &["start", "--headless", "--enable-shell"]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(log).spawn().unwrap();
    let machine = within(rig.script.machine()).await;
    let hello = rig.hello(&drawbridge_practice::Scope::Control(machine));
    let capabilities = hello["payload"]["capabilities"].as_array().unwrap();
    assert!(capabilities.contains(&json!("files")) && !capabilities.contains(&json!("shell")), "{capabilities:?}");
    let told = std::fs::read_to_string(rig.dir.path().join("managed.log")).unwrap();
    assert!(told.contains("enable_shell is set by Example Ltd, so what the flag says does not count"), "{told}");

    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_cannot_be_used_lets_nothing_start_and_nothing_is_dialled() {
    if cannot() {
        return;
    }
    let rig = Rig::signed_in().await;
    let before = rig.script.frames(0).len();
    let off = "[powers]\nshell = \"off\"\n";
    for (policy, fault, told) in [
        (
            "[powers]\nshel = \"off\"\n",
            "",
            "policy.toml, line 2: there is no key `powers.shel`; the nearest is `powers.shell`",
        ),
        ("[powers]\nshell = off\n", "", "policy.toml, line 2: this is no valid TOML"),
        (off, "chmod 666 /etc/drawbridge/policy.toml", "policy.toml must be writable by its owner alone"),
        (off, "chmod 777 /etc/drawbridge", "/etc/drawbridge must be writable by its owner alone"),
        (off, "chown 65534 /etc/drawbridge/policy.toml", "policy.toml must belong to the administrator"),
        (
            off,
            "mv /etc/drawbridge/policy.toml /etc/drawbridge/real && ln -s real /etc/drawbridge/policy.toml",
            "policy.toml must be there itself and not as a link",
        ),
        ("allowed_platforms = [\"https://platform.example\"]\n", "", "does not allow the platform http://127.0.0.1"),
    ] {
        for words in [&["start", "--headless"][..], &["auth", "--no-browser"][..]] {
            let output = run(&rig, policy, fault, words).await;

            let said = said(&output);
            assert_eq!(output.status.code(), Some(78), "{words:?} with {policy}{fault}: {said}");
            assert!(
                said.contains(told) && said.contains("/etc/drawbridge") && said.contains("ask your administrator"),
                "{said}"
            );
        }
    }
    assert_eq!(rig.script.frames(0).len(), before, "nothing was dialled");
}

/// Writes another policy on the computer of a running program.
fn rewrite(pid: u32, policy: &str) {
    let script = "printf '%s' \"$0\" > /etc/drawbridge/policy.toml";
    let status = std::process::Command::new("nsenter")
        .args(["--target", &pid.to_string(), "--mount", "sh", "-c", script, policy])
        .status();
    assert!(status.unwrap().success());
}

/// The program looks once in thirty seconds, so this takes its time; it waits for what happens and for nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_policy_takes_away_while_the_program_runs_is_gone_at_once_and_a_broken_one_stops_it() {
    if cannot() {
        return;
    }
    let rig = Rig::signed_in().await;
    let log = std::fs::File::create(rig.dir.path().join("managed.log")).unwrap();
    let words = ["start", "--headless", "--enable-shell"];
    let mut command = on_managed(&rig, "organisation = \"Example Ltd\"\n", "", &words);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(log).spawn().unwrap();
    let (pid, machine) = (child.id().unwrap(), within(rig.script.machine()).await);
    let control = drawbridge_practice::Scope::Control(machine);
    assert!(rig.hello(&control).to_string().contains("\"shell\""));

    let last = rig.script.frames(0).last().unwrap().n;
    rewrite(pid, "organisation = \"Example Ltd\"\n[powers]\nshell = \"off\"\n");
    let hello = within(rig.script.frame(last, |frame| frame.kind == "HELLO" && frame.scope == control)).await;
    assert!(!hello.text.contains("\"shell\""), "{}", hello.text);
    let explained = rig.expect(0, &["policy", "explain", "EXECUTE_COMMAND"]).await;
    assert!(explained.contains("locked_off") && explained.contains("switched off by Example Ltd"), "{explained}");

    rewrite(pid, "[powers]\nfles = \"off\"\n");
    within(rig.script.connected(&control, false)).await;
    let explained = rig.expect(0, &["policy", "explain", "FILE_READ"]).await;
    assert!(explained.contains("deny (locked_off"), "{explained}");
    let status = rig.expect(0, &["status", "--json"]).await;
    assert!(status.contains("\"connected\":false"), "{status}");

    assert!(std::process::Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn fixed_accounts_are_fixed_for_a_stopped_program_too() {
    if cannot() {
        return;
    }
    let rig = Rig::new().await;
    let url = rig.practice.base_url();
    let free = run(&rig, "", "", &["accounts", "add", "Before", "--platform-url", &url]).await;
    assert!(free.status.success(), "{}", said(&free));
    let kept = std::fs::read(rig.state().join("accounts.json")).unwrap();

    for words in [
        &["accounts", "add", "After", "--platform-url", &url][..],
        &["accounts", "use", "before"],
        &["auth", "--no-browser", "--profile", "before"],
        &["auth", "--no-browser", "--profile", "new", "--platform-url", &url],
    ] {
        let output = run(&rig, "accounts = \"fixed\"\n", "", words).await;

        assert_eq!(output.status.code(), Some(78), "{words:?}: {}", said(&output));
        assert!(said(&output).contains("an organisation has fixed"), "{words:?}: {}", said(&output));
        assert_eq!(std::fs::read(rig.state().join("accounts.json")).unwrap(), kept, "{words:?}");
    }
    // Taking away is never refused.
    let removed = run(&rig, "accounts = \"fixed\"\n", "", &["accounts", "remove", "before"]).await;
    assert!(removed.status.success(), "{}", said(&removed));
}
