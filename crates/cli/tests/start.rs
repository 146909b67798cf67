//! `start` as a program: what it says to the platform, what it does for chats, and how it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::time::{Duration, Instant};

use drawbridge_practice::{Failure, Refusal, Scope, Switches};
use rig::{Rig, finish, said, text, within};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_works_on_its_files_and_every_act_is_in_the_log_before_its_answer() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let hello = rig.hello(&started.control());
    let payload = &hello["payload"];
    assert_eq!((&hello["version"], &payload["protocol_version"]), (&json!("1.1"), &json!("1.1")));
    assert_eq!((&payload["allowed_root"], &payload["machine_id"]), (&Value::Null, &json!(started.machine)));
    assert!(text(&payload["shim_version"]).starts_with("drawbridge-"));
    let capabilities = payload["capabilities"].as_array().unwrap();
    assert!(capabilities.contains(&json!("files")) && capabilities.contains(&json!("directory_browse")));
    assert!(!capabilities.contains(&json!("shell")), "{capabilities:?}");

    let (chat, folder) = rig.chat_in(&started, "project").await;
    let seen = |op: &str| rig.ops().iter().any(|found| found == op);
    let notes = folder.join("sub/notes.txt");
    let write = json!({ "path": notes, "content": "zwölf\r\n", "encoding": "utf-8", "create_parents": true });
    rig.ask(&chat, "FILE_WRITE", write).await.unwrap();
    assert!(seen("FILE_WRITE"));
    let read = rig.ask(&chat, "FILE_READ", json!({ "path": notes, "encoding": "utf-8" })).await.unwrap();
    assert!(seen("FILE_READ"));
    assert_eq!(read["content"], "zwölf\r\n");
    let listed = rig.ask(&chat, "FILE_LIST", json!({ "path": folder })).await.unwrap();
    assert!(seen("FILE_LIST"));
    assert_eq!(listed["entries"][0]["name"], "sub");
    rig.ask(&chat, "FILE_MOVE", json!({ "src": notes, "dst": folder.join("moved.txt") })).await.unwrap();
    assert!(seen("FILE_MOVE"));
    rig.ask(&chat, "FILE_DELETE", json!({ "path": folder.join("moved.txt") })).await.unwrap();
    assert!(seen("FILE_DELETE") && !folder.join("moved.txt").exists());
    let command = json!({ "argv": ["true"] });
    assert_eq!(rig.refused(&chat, "EXECUTE_COMMAND", command).await["code"], "CAPABILITY_NOT_GRANTED");
    assert!(rig.script.faults().is_empty(), "{:?}", rig.script.faults());

    assert_eq!(rig.expect(0, &["audit", "verify"]).await.lines().nth(1), Some("sound"), "while it runs");
    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!(
        (&status["running"], &status["connected"], &status["stop"]),
        (&json!(true), &json!(true), &json!("lowered"))
    );
    assert_eq!(status["sessions"][0]["session_id"], json!(chat));

    assert_eq!(started.stop().await, Some(0));
    rig.expect(0, &["audit", "verify"]).await;
    rig.expect(0, &["audit", "verify-all"]).await;
    rig.assert_nothing_in_clear(&["zwölf", "root_grant"], b"");
    let ops = rig.ops();
    let mut rest = ops.iter();
    for op in [
        "SHIM_START",
        "WS_CONNECTED",
        "HELLO",
        "HELLO_ACK",
        "CONFIG_RELOADED",
        "ACTIVATE_SESSION",
        "WS_DISCONNECTED",
        "SHIM_STOP",
    ] {
        assert!(rest.any(|found| found == op), "{op} is missing or out of order in {ops:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_with_the_flag_and_see_no_secret_of_ours() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&["--enable-shell"]).await;
    let capabilities = rig.hello(&started.control())["payload"]["capabilities"].clone();
    assert!(capabilities.as_array().unwrap().contains(&json!("shell")));
    let (chat, _) = rig.chat_in(&started, "work").await;

    let done = rig.ask(&chat, "EXECUTE_COMMAND", json!({ "argv": ["env"] })).await.unwrap();

    assert_eq!(done["exit_code"], 0);
    assert!(!done.to_string().contains(rig::PASSPHRASE), "the passphrase reached a child");
    assert!(rig.ops().iter().any(|op| op == "EXECUTE_COMMAND"));
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "commands are confined on Linux only so far")]
async fn a_confined_command_writes_in_its_folder_and_reaches_nothing_of_ours() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&["--enable-shell", "--shell", "confined"]).await;
    let (chat, folder) = rig.chat_in(&started, "walls").await;
    let run = async |line: String| {
        let answer = rig.ask(&chat, "EXECUTE_COMMAND", json!({ "command": line, "shell": "sh" })).await.unwrap();
        (answer["exit_code"].clone(), text(&answer["stdout"]))
    };
    let state = rig.state();

    assert_eq!(run("echo here > inside".to_owned()).await.0, 0);
    assert_eq!(std::fs::read_to_string(folder.join("inside")).unwrap(), "here\n");
    for line in [format!("cat {}/secrets.enc", state.display()), format!("test -S {}/control.sock", state.display())] {
        assert_ne!(run(line.clone()).await.0, 0, "{line}");
    }
    // These folders lie in /tmp here, of which a confined command has its own: it may write there, but not into ours.
    run(format!("echo x > {}/audit.log; echo x > {}/outside", state.display(), rig.home().display())).await;
    assert!(!rig.home().join("outside").exists());
    assert_eq!(started.stop().await, Some(0));
    rig.expect(0, &["audit", "verify"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_data_link_serves_one_chat_in_one_folder() {
    let rig = Rig::signed_in().await;
    let chat = rig.script.new_chat(Some("chat-1"));
    let folder = rig.home().join("one");
    std::fs::create_dir(&folder).unwrap();
    let mut command = rig.command(&["start", "--headless", "--session-id", "chat-1", "--allowed-root"]);
    let mut child = command.arg(&folder).stderr(std::process::Stdio::null()).spawn().unwrap();
    within(rig.script.connected(&Scope::Data(chat.clone()), true)).await;

    let hello = rig.hello(&Scope::Data(chat.clone()));
    assert_eq!(hello["payload"]["allowed_root"], json!(folder));
    let path = folder.join("a.txt");
    rig.ask(&chat, "FILE_WRITE", json!({ "path": path, "content": "x", "encoding": "utf-8" })).await.unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x");
    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!(status["connected"], true);

    let id = child.id().unwrap().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
    rig.expect(0, &["audit", "verify"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_ends_with_78_and_dials_nobody() {
    let rig = Rig::signed_in().await;
    let file = rig.home().join("file");
    std::fs::write(&file, "x").unwrap();
    let missing = rig.home().join("missing");
    let (file, gone) = (file.to_str().unwrap(), missing.to_str().unwrap());
    for words in [
        &["start", "--headless", "--session-id", "c", "--allowed-root", gone][..],
        &["start", "--headless", "--session-id", "c", "--allowed-root", file],
        &["start", "--headless", "--enable-recording"],
        &["start", "--headless", "--platform-url", "ws://platform.example"],
        &["start", "--headless", "--platform-url", "http://10.0.0.1"],
        &["auth", "--no-browser"],
    ] {
        let mut command = rig.command(words);
        if words[0] == "auth" {
            command.env("DRAWBRIDGE_PLATFORM_URL", "http://platform.example");
        }
        let output = finish(command).await;
        assert_eq!(output.status.code(), Some(78), "{words:?}: {}", said(&output));
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{words:?}");
    }
    assert!(!missing.exists(), "a missing root is not made");

    let secret = rig.state().join("secrets.enc");
    let before = std::fs::read(&secret).unwrap();
    for passphrase in [None, Some("wrong")] {
        for words in [&["start", "--headless"][..], &["auth", "--no-browser"]] {
            let mut command = rig.command(words);
            command.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE");
            if let Some(passphrase) = passphrase {
                command.env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", passphrase);
            }
            let output = finish(command).await;
            assert_eq!(output.status.code(), Some(78), "{words:?} {passphrase:?}: {}", said(&output));
        }
    }
    assert_eq!(std::fs::read(&secret).unwrap(), before);

    rig.configure("unknown_key = 1");
    let output = rig.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(78));
    assert!(said(&output).contains("line 3") && said(&output).contains("unknown_key"), "{}", said(&output));
    assert!(rig.script.frames(0).is_empty(), "nobody was dialled");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_keychain_and_a_passphrase_nothing_is_kept() {
    let rig = Rig::new().await;
    let dead_bus = "unix:path=/nonexistent/bus";
    for (words, bus) in [
        (&["start", "--headless"][..], None),
        (&["start", "--headless"], Some(dead_bus)),
        (&["auth", "--no-browser"], None),
        (&["auth", "--no-browser"], Some(dead_bus)),
    ] {
        let mut command = rig.command(words);
        command.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE");
        command.envs(bus.map(|bus| ("DBUS_SESSION_BUS_ADDRESS", bus)));
        let output = finish(command).await;
        assert_eq!(output.status.code(), Some(78), "{}", said(&output));
        assert!(said(&output).contains("DRAWBRIDGE_KEYCHAIN_PASSPHRASE"), "{}", said(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_log_that_cannot_be_opened_or_has_lost_its_key_ends_with_78() {
    let rig = Rig::signed_in().await;
    std::fs::create_dir(rig.state().join("audit.log")).unwrap();
    let output = rig.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(78), "{}", said(&output));

    std::fs::remove_dir(rig.state().join("audit.log")).unwrap();
    let rig = Rig::signed_in().await;
    std::fs::write(rig.state().join("audit.log"), "{}\n").unwrap();
    let output = rig.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(78), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(rig.state().join("audit.log")).unwrap(), "{}\n", "no new key beside an old log");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_signed_in_gets_77() {
    let rig = Rig::new().await;
    let output = rig.run(&["start", "--headless"]).await;

    assert_eq!(output.status.code(), Some(77), "{}", said(&output));
    assert!(said(&output).contains("drawbridge auth"), "{}", said(&output));
    assert!(rig.script.frames(0).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_by_the_platform_ends_with_77() {
    let refusing = |status: u16| Switches {
        refuse_upgrade: Some(Refusal { status, times: 99, retry_after: None }),
        ..Switches::default()
    };
    let wrong_session = Switches { ack_payload: json!({ "session_id": "another" }), ..Switches::default() };
    for (switches, chat) in [(refusing(401), false), (refusing(403), false), (wrong_session, true)] {
        let rig = Rig::signed_in().await;
        let named = rig.script.new_chat(Some("mine"));
        rig.script.switches(switches.clone());
        let home = rig.home();
        let mut words = vec!["start", "--headless"];
        if chat {
            words.extend(["--session-id", &named, "--allowed-root", home.to_str().unwrap()]);
        }
        let output = rig.run(&words).await;
        assert_eq!(output.status.code(), Some(77), "{switches:?}: {}", said(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_halt_by_the_protocol_ends_with_76_and_with_0_for_a_service_manager() {
    for code in [4426, 4427, 4428, 4429] {
        let rig = Rig::signed_in().await;
        let started = rig.start(&[]).await;
        rig.script.close(&started.control(), code, "by the test").unwrap();
        assert_eq!(started.code().await, Some(76), "{code}");
        assert_eq!(rig.ops().last().map(String::as_str), Some("SHIM_STOP"));
    }
    let rig = Rig::signed_in().await;
    let started = rig.start(&["--service"]).await;
    rig.script.close(&started.control(), 4429, "by the test").unwrap();
    assert_eq!(started.code().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_session_and_a_bad_acknowledgement_end_with_76() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    rig.script.revoke_all();
    assert_eq!(started.code().await, Some(76));
    assert!(rig.ops().iter().any(|op| op == "SESSION_REVOKED"), "{:?}", rig.ops());

    let rig = Rig::signed_in().await;
    rig.script.switches(Switches { ack_raw: Some("{\"type\":\"HELLO_ACK\"}".to_owned()), ..Switches::default() });
    let output = rig.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(76), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_no_end() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let before = rig.script.frames(0).last().unwrap().n;
    rig.script.cut(&started.control()).unwrap();
    within(rig.script.frame(before, |frame| frame.kind == "HELLO")).await;
    within(rig.script.connected(&started.control(), true)).await;
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_commands_and_everything_below_them() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&["--enable-shell"]).await;
    let (chat, folder) = rig.chat_in(&started, "busy").await;
    let pipe = folder.join("inner");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // A child of a child that has taken itself out of the session, and one that ignores the polite signal.
    let line = "trap '' TERM; setsid sh -c 'echo $$ > inner; exec sleep 600' & while :; do sleep 1; done";
    let (script, data) = (rig.script.clone(), Scope::Data(chat));
    let asked = tokio::spawn(async move {
        script.request(&data, "EXECUTE_COMMAND", json!({ "command": line, "shell": "sh" }), None).await
    });
    let inner = within(tokio::task::spawn_blocking(move || std::fs::read_to_string(pipe).unwrap())).await.unwrap();
    let inner = inner.trim();

    let asked_at = Instant::now();
    assert_eq!(started.stop().await, Some(0));
    assert!(asked_at.elapsed() < Duration::from_secs(6), "{:?}", asked_at.elapsed());
    assert!(!std::path::Path::new(&format!("/proc/{inner}")).exists(), "a child is left");
    assert!(!matches!(asked.await.unwrap(), Err(Failure::TimedOut)));
    rig.expect(0, &["audit", "verify"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_says_goodbye_with_a_close_frame() {
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio_tungstenite::tungstenite::Message;
    let rig = Rig::signed_in().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}", listener.local_addr().unwrap());
    let mut command = rig.command(&["start", "--headless", "--platform-url", &address]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();

    let (stream, _) = within(listener.accept()).await.unwrap();
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    let hello = within(socket.next()).await.unwrap().unwrap().into_text().unwrap();
    let hello: Value = serde_json::from_str(&hello).unwrap();
    let ack = json!({ "type": "HELLO_ACK", "id": hello["id"], "payload": {
        "session_id": null, "protocol_version": "1.1", "granted_capabilities": ["files", "directory_browse"],
        "max_file_size_bytes": 1000, "command_timeout_seconds": 5, "max_concurrent": 2, "connection_id": "k1" } });
    socket.send(Message::text(ack.to_string())).await.unwrap();
    let ping = json!({ "type": "PING", "id": "p1", "payload": {} });
    socket.send(Message::text(ping.to_string())).await.unwrap();
    while !within(socket.next()).await.unwrap().unwrap().to_text().unwrap_or_default().contains("PONG") {}
    std::process::Command::new("kill").args(["-TERM", &child.id().unwrap().to_string()]).status().unwrap();

    let code = loop {
        if let Message::Close(frame) = within(socket.next()).await.unwrap().unwrap() {
            break u16::from(frame.unwrap().code);
        }
    };
    assert!([1000, 1001].contains(&code), "{code}");
    let _ = within(socket.next()).await;
    drop(socket);
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_is_refused_and_the_first_goes_on() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let frames = rig.script.frames(0).len();

    let asked_at = Instant::now();
    let second = rig.run(&["start", "--headless"]).await;

    assert_eq!(second.status.code(), Some(1), "{}", said(&second));
    assert!(asked_at.elapsed() < Duration::from_secs(8));
    assert!(said(&second).contains("already running"), "{}", said(&second));
    let hellos = rig.script.frames(0)[frames..].iter().filter(|frame| frame.kind == "HELLO").count();
    assert_eq!(hellos, 0, "the second dialled");
    let (chat, folder) = rig.chat_in(&started, "still").await;
    rig.ask(&chat, "FILE_LIST", json!({ "path": folder })).await.unwrap();
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_no_lock_is_left_and_the_log_is_mended() {
    let rig = Rig::signed_in().await;
    let mut started = rig.start(&[]).await;
    started.child.kill().await.unwrap();
    within(rig.script.connected(&started.control(), false)).await;
    rig.expect(3, &["status"]).await;
    use std::io::Write as _;
    let mut log = std::fs::File::options().append(true).open(rig.state().join("audit.log")).unwrap();
    log.write_all(b"{\"ts\":1,\"half").unwrap();
    drop(log);
    rig.expect(1, &["audit", "verify"]).await;

    let started = rig.start(&[]).await;

    assert!(rig.ops().iter().any(|op| op == "LOG_REPAIRED"), "{:?}", rig.ops());
    let torn =
        rig::files_below(&rig.state()).into_iter().any(|file| file.to_string_lossy().contains("audit.log.torn-"));
    assert!(torn);
    assert_eq!(started.stop().await, Some(0));
    rig.expect(0, &["audit", "verify"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copied_state_folder_goes_on_working() {
    let mut rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let (chat, folder) = rig.chat_in(&started, "kept").await;
    let key = rig.expect(0, &["audit", "key", "--show"]).await;
    assert_eq!(started.stop().await, Some(0));

    let moved = tempfile::TempDir::new().unwrap();
    for name in ["state", "config"] {
        copy(&rig.dir.path().join(name), &moved.path().join(name));
    }
    // What chats work on stays where it was; only our own folders move.
    std::os::unix::fs::symlink(rig.home(), moved.path().join("home")).unwrap();
    let old = std::mem::replace(&mut rig.dir, moved);

    let started = rig.start(&[]).await;
    assert_eq!(rig.expect(0, &["audit", "key", "--show"]).await, key);
    rig.script.restore(&chat).await.unwrap();
    rig.ask(&chat, "FILE_LIST", json!({ "path": folder })).await.unwrap();
    assert_eq!(started.stop().await, Some(0));
    rig.expect(0, &["audit", "verify-all"]).await;
    drop(old);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
