//! `devices`, `serial`, `usb` and `gpio` with the real binary: a pair of pseudo-terminals stands for a port and what is behind it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::path::Path;
use std::process::{Output, Stdio};

use drawbridge_testkit::pair::PtyPair;
use rig::{Rig, Started, finish, said, text, within};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

/// A headless engine whose configuration shares a port.
async fn sharing(port: &Path) -> (Rig, Started) {
    let rig = Rig::signed_in().await;
    rig.configure(&format!("enable_hardware = true\n[hardware]\nshare = [{port:?}]"));
    let started = rig.start(&[]).await;
    (rig, started)
}

async fn with_input(rig: &Rig, words: &[&str], input: &[u8]) -> Output {
    let mut command = rig.command(words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).await.unwrap();
    drop(stdin);
    within(child.wait_with_output()).await.unwrap()
}

fn records<'a>(audit: &'a [Value], op: &str) -> Vec<&'a Value> {
    audit.iter().filter(|record| record["op"] == op).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_port_is_opened_written_read_and_closed_with_its_records() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();

    rig.expect(0, &["serial", "open", &port, "--baud", "9600"]).await;
    rig.expect(0, &["serial", "write", &port, "PIN 4711", "--newline", "crlf"]).await;
    assert_eq!(pair.receive(10).unwrap(), b"PIN 4711\r\n");
    rig.expect(0, &["serial", "write", &port, "--hex", "00 ff:1b"]).await;
    assert_eq!(pair.receive(3).unwrap(), [0x00, 0xff, 0x1b]);
    let output = with_input(&rig, &["serial", "write", &port, "-"], b"from a pipe").await;
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(pair.receive(11).unwrap(), b"from a pipe");
    let file = rig.home().join("program.gcode");
    std::fs::write(&file, "G28\n".repeat(5000)).unwrap();
    let path = file.to_str().unwrap();
    let words = ["serial", "write", &port, "--file", path];
    let (wrote, came) = tokio::join!(rig.run(&words), async {
        tokio::task::spawn_blocking(move || (pair.receive(20_000).unwrap(), pair)).await.unwrap()
    });
    assert!(wrote.status.success(), "{}", said(&wrote));
    let (came, mut pair) = came;
    assert_eq!(came, "G28\n".repeat(5000).into_bytes());

    pair.send(b"ok 0815\nT:20 \x1b[2J\xff\n").unwrap();
    assert_eq!(rig.expect(0, &["serial", "read", &port, "--until", "\n"]).await, "ok 0815\n");
    let rest = rig.run(&["serial", "read", &port, "--length", "11"]).await;
    assert_eq!(rest.stdout, b"T:20 \x1b[2J\xff\n", "a pipe gets the bytes as they are");
    pair.send(b"abc").unwrap();
    assert_eq!(rig.expect(0, &["serial", "read", &port, "--length", "3", "--hex"]).await, "616263\n");
    pair.send(b"end!").unwrap();
    let json = rig.expect(0, &["serial", "read", &port, "--until-hex", "21", "--json"]).await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((text(&json["data"]), text(&json["ended"])), ("ZW5kIQ==".to_owned(), "pattern".to_owned()));
    let late = rig.run(&["serial", "read", &port, "--until", "x", "--timeout", "0"]).await;
    assert_eq!((late.status.code(), said(&late).contains("did not come")), (Some(1), true));
    rig.expect(0, &["serial", "close", &port]).await;
    let closed = rig.run(&["serial", "read", &port]).await;
    assert_eq!(closed.status.code(), Some(1));

    let audit = rig.audit();
    for (op, count) in [("HARDWARE_SERIAL_OPEN", 1), ("HARDWARE_SERIAL_CLOSE", 1), ("HARDWARE_SERIAL_READ", 6)] {
        assert_eq!(records(&audit, op).len(), count, "{op}");
    }
    let opened = records(&audit, "HARDWARE_SERIAL_OPEN")[0];
    assert_eq!((&opened["details"]["settings"], &opened["session_id"]), (&"9600 8N1".into(), &"-".into()));
    let sizes: Vec<u64> = records(&audit, "HARDWARE_SERIAL_WRITE")
        .iter()
        .map(|record| record["details"]["size_bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [10, 3, 11, 16_384, 3616]);
    let shown: Value =
        serde_json::from_str(&rig.expect(0, &["audit", "show", &opened["seq"].to_string()]).await).unwrap();
    assert_eq!(shown["op"], "HARDWARE_SERIAL_OPEN");
    let tail = rig.expect(0, &["audit", "tail", "-n", "3", "--no-follow"]).await;
    assert!(tail.contains("HARDWARE_SERIAL_CLOSE") && tail.contains("HARDWARE_SERIAL_READ"), "{tail}");
    assert_eq!(started.stop().await, Some(0));
    rig.expect(0, &["audit", "verify"]).await;
    // Not the digits alone: they come up in hashes by chance.
    rig.assert_nothing_in_clear(&["PIN 4711", "ok 0815", "from a pipe", "G28\nG28"], b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_given_up_ends_and_loses_nothing() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    rig.expect(0, &["serial", "open", &port]).await;

    let mut child = rig.command(&["serial", "read", &port, "--until", "done\n", "--timeout", "60"]).spawn().unwrap();
    pair.send(b"half ").unwrap();
    until_running(&rig, 1).await;
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(!within(child.wait()).await.unwrap().success());
    until_running(&rig, 0).await;

    pair.send(b"done\n").unwrap();
    assert_eq!(rig.expect(0, &["serial", "read", &port, "--until", "done\n"]).await, "half done\n");
    let audit = rig.audit();
    let reads = records(&audit, "HARDWARE_SERIAL_READ");
    let ok: Vec<&Value> = reads.iter().map(|record| &record["result"]["ok"]).collect();
    assert_eq!(ok, [&Value::Bool(false), &Value::Bool(true)]);
    assert_eq!(started.stop().await, Some(0));
}

/// Waits until so many acts on devices run.
async fn until_running(rig: &Rig, wanted: u64) {
    let running = async {
        loop {
            let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
            let powers = status["powers"].as_array().unwrap();
            let hardware = powers.iter().find(|power| power["power"] == "hardware").unwrap();
            if hardware["running"] == wanted {
                return;
            }
        }
    };
    within(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_tells_what_is_shared_and_the_window_alone_shares_more() {
    let pair = PtyPair::start().unwrap();
    let other = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap();
    rig.expect(0, &["serial", "open", port]).await;

    let listed = rig.expect(0, &["devices", "--json"]).await;
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = rows.iter().find(|row| row["place"] == port).unwrap();
    assert_eq!((&row["shared"], &row["from_config"], &row["held_by"]), (&true.into(), &true.into(), &"cli".into()));
    let words = rig.expect(0, &["devices"]).await;
    assert!(words.contains("shared by the configuration, open by cli (115200 8N1"), "{words}");
    let id = text(&row["id"]);
    rig.expect(0, &["serial", "close", &id[..id.len() - 2]]).await;

    for words in [&["devices", "share", &id][..], &["devices", "add-port", other.port().to_str().unwrap()]] {
        let refused = rig.run(words).await;
        assert_eq!(refused.status.code(), Some(1));
        assert!(said(&refused).contains("its window") && said(&refused).contains("[hardware]"), "{}", said(&refused));
    }
    let refused = rig.run(&["devices", "unshare", &id]).await;
    assert!(said(&refused).contains("configuration shares"), "{}", said(&refused));
    for words in [
        &["serial", "open", "serial-nothing"][..],
        &["serial", "open", "/dev/null"],
        &["usb", "describe", &id],
        &["gpio", "read", &id, "4"],
        &["devices", "remove-port", "/dev/ttyS99"],
        &["serial", "write", &id, "not open"],
    ] {
        let refused = rig.run(words).await;
        assert_eq!(refused.status.code(), Some(1), "{words:?}");
        assert!(!said(&refused).is_empty());
    }
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_the_stored_list_is_edited_and_nothing_is_used() {
    let mut pair = PtyPair::start().unwrap();
    let rig = Rig::signed_in().await;
    let port = pair.port().to_str().unwrap().to_owned();

    for words in [&["serial", "open", &port][..], &["usb", "describe", "usb-1"], &["gpio", "read", "gpio-1", "4"]] {
        let refused = rig.run(words).await;
        assert_eq!(refused.status.code(), Some(3), "{words:?}: {}", said(&refused));
    }
    rig.expect(1, &["devices", "add-port", "/dev/null"]).await;
    rig.expect(1, &["devices", "share", &port]).await;
    rig.expect(0, &["devices", "add-port", &port]).await;
    rig.expect(0, &["devices", "share", &port]).await;
    assert!(rig.expect(0, &["devices"]).await.contains(&format!("shared  {port}")));

    let started = rig.start(&["--enable-hardware"]).await;
    rig.expect(0, &["serial", "open", &port]).await;
    rig.expect(0, &["serial", "write", &port, "hello"]).await;
    assert_eq!(pair.receive(5).unwrap(), b"hello");
    rig.expect(0, &["devices", "unshare", &port]).await;
    let refused = rig.run(&["serial", "open", &port]).await;
    assert!(said(&refused).contains("is shared"), "{}", said(&refused));
    assert_eq!(started.stop().await, Some(0));

    rig.expect(0, &["devices", "remove-port", &port]).await;
    assert!(!rig.expect(0, &["devices"]).await.contains(&port));
    let changes = records(&rig.audit(), "POLICY_CHANGED").len();
    assert_eq!(changes, 2, "taken back while it ran, and the port removed after");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_is_free_again_after_the_engine_was_killed() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, mut started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    rig.expect(0, &["serial", "open", &port]).await;
    started.child.kill().await.unwrap();

    let started = rig.start(&[]).await;
    rig.expect(0, &["serial", "open", &port]).await;
    rig.expect(0, &["serial", "write", &port, "again"]).await;
    assert_eq!(pair.receive(5).unwrap(), b"again");
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_whose_link_stayed_behind_is_gone_and_its_fault_names_it_as_it_is_written() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    rig.expect(0, &["serial", "open", &port]).await;
    let row = async |rig: &Rig| -> Value {
        let status = snapshot(rig).await;
        let rows = status["devices"]["devices"].as_array().unwrap();
        rows.iter().find(|row| row["added"] == port).unwrap().clone()
    };
    let id = text(&row(&rig).await["id"]);

    // Nobody takes the link away.
    pair.kill();
    within(async {
        while row(&rig).await["present"] == true {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    let refused = rig.run(&["serial", "open", &id]).await;
    assert!(said(&refused).contains(&format!("The device {id}: there is nothing at")), "{}", said(&refused));
    assert_eq!(started.stop().await, Some(0));
}

/// The picture as the engine tells it, without asking it to look.
async fn snapshot(rig: &Rig) -> Value {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let mut stream = tokio::net::UnixStream::connect(rig.state().join("control.sock")).await.unwrap();
    stream.write_all(b"{\"request\":1,\"command\":\"snapshot\"}\n").await.unwrap();
    let mut line = String::new();
    within(BufReader::new(stream).read_line(&mut line)).await.unwrap();
    serde_json::from_str::<Value>(&line).unwrap()["snapshot"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_all_the_room_keeps_nobody_from_looking_and_stopping() {
    let (rig, started) = sharing(Path::new("/dev/ttyS99")).await;
    let mut taken = Vec::new();
    for _ in 0..20 {
        taken.push(tokio::net::UnixStream::connect(rig.state().join("control.sock")).await.unwrap());
    }

    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!(status["stop"], "lowered");
    rig.expect(0, &["raise"]).await;
    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!(status["stop"], "raised");
    drop(taken);
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_by_a_pipe_goes_out_as_it_comes() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    rig.expect(0, &["serial", "open", &port]).await;

    let mut child = rig.command(&["serial", "write", &port, "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for word in [&b"one"[..], b"two"] {
        stdin.write_all(word).await.unwrap();
        stdin.flush().await.unwrap();
        assert_eq!(pair.receive(3).unwrap(), word);
    }
    drop(stdin);
    assert!(within(child.wait()).await.unwrap().success());
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_a_command_holds_is_closed_when_it_goes_however_it_goes() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    for how in ["-INT", "-KILL"] {
        let mut child = rig.command(&["serial", "open", &port, "--hold"]).spawn().unwrap();
        until_held(&rig, true).await;
        // The other commands of the person use it meanwhile.
        rig.expect(0, &["serial", "write", &port, "mine"]).await;
        assert_eq!(pair.receive(4).unwrap(), b"mine");
        let refused = rig.run(&["serial", "open", &port, "--hold"]).await;
        assert!(refused.status.code() == Some(1) && said(&refused).contains("open already"), "{}", said(&refused));

        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([how, &id]).status().unwrap().success());
        let ended = within(child.wait()).await.unwrap();
        if how == "-INT" {
            assert_eq!(ended.code(), Some(0));
            assert!(!is_held(&rig).await, "it was closed before the command ended");
        }
        until_held(&rig, false).await;
    }
    // What is opened as usual stays open.
    rig.expect(0, &["serial", "open", &port]).await;
    assert!(is_held(&rig).await);
    let audit = rig.audit();
    let closed = records(&audit, "HARDWARE_SERIAL_CLOSE");
    assert_eq!(closed.iter().filter(|record| record["result"]["ok"] == true).count(), 2);
    assert_eq!(closed.len(), 2, "closed once each");
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_hold_leaves_alone_what_somebody_else_opened_since_then() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    for how in ["-INT", "-KILL"] {
        let mut child = rig.command(&["serial", "open", &port, "--hold"]).spawn().unwrap();
        until_held(&rig, true).await;
        rig.expect(0, &["serial", "close", &port]).await;
        rig.expect(0, &["serial", "open", &port, "--baud", "9600"]).await;

        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([how, &id]).status().unwrap().success());
        let ended = within(child.wait()).await.unwrap();
        assert!(how == "-KILL" || ended.code() == Some(0), "{ended:?}");
        // The end of the hold is on record, however it came.
        let wanted = if how == "-INT" { 1 } else { 2 };
        let over = async {
            let ended = |record: &&&Value| record["result"]["error_code"] == "DEVICE_NOT_OPEN";
            while records(&rig.audit(), "HARDWARE_SERIAL_CLOSE").iter().filter(ended).count() < wanted {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        within(over).await;
        rig.expect(0, &["serial", "write", &port, "mine"]).await;
        assert_eq!(pair.receive(4).unwrap(), b"mine");
        rig.expect(0, &["serial", "close", &port]).await;
    }

    // One that never got to hold it closes nothing.
    rig.expect(0, &["serial", "open", &port]).await;
    for _ in 0..20 {
        use drawbridge_engine::control::Client;
        use drawbridge_engine::device_act::DeviceAct;
        let mut client = Client::connect(&rig.state().join("control.sock")).await.unwrap();
        let (baud, data_bits, stop_bits) = (9600, 8, 1);
        let (parity, flow) = ("none".to_owned(), "none".to_owned());
        let act = DeviceAct::SerialOpen { baud, data_bits, parity, stop_bits, flow };
        let open = drawbridge_engine::Command::UseDevice { device: open_id(&rig).await, act, hold: None };
        let asked = client.hold_within(&open, std::time::Duration::from_secs(60));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(2), asked).await;
    }
    rig.expect(0, &["serial", "write", &port, "mine"]).await;
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_ends_when_the_stop_or_the_plug_takes_away_what_it_holds() {
    let mut pair = PtyPair::start().unwrap();
    let (rig, started) = sharing(pair.port()).await;
    let port = pair.port().to_str().unwrap().to_owned();
    let hold = async || {
        let child = rig.command(&["serial", "open", &port, "--hold"]).stderr(Stdio::piped()).spawn().unwrap();
        until_held(&rig, true).await;
        child
    };
    let ended = async |child: tokio::process::Child, why: &str| {
        let output = within(child.wait_with_output()).await.unwrap();
        assert!(output.status.code() == Some(1) && said(&output).contains(why), "{}", said(&output));
    };
    let held = hold().await;
    rig.expect(0, &["raise"]).await;
    ended(held, "the bridge was raised").await;
    rig.expect(0, &["lower"]).await;

    let held = hold().await;
    pair.unplug().unwrap();
    ended(held, "the device was unplugged").await;
    assert_eq!(started.stop().await, Some(0));
}

async fn open_id(rig: &Rig) -> String {
    let picture = snapshot(rig).await;
    let rows = picture["devices"]["devices"].as_array().unwrap();
    text(&rows.iter().find(|row| row["held_by"] == "cli").unwrap()["id"])
}

async fn is_held(rig: &Rig) -> bool {
    let picture = snapshot(rig).await;
    picture["devices"]["devices"].as_array().unwrap().iter().any(|row| row["held_by"] == "cli")
}

async fn until_held(rig: &Rig, wanted: bool) {
    let held = async {
        while is_held(rig).await != wanted {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within(held).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_words_do_nothing() {
    let rig = Rig::new().await;
    for words in [
        &["serial", "write", "serial-1"][..],
        &["serial", "write", "serial-1", "text", "--hex", "00"],
        &["serial", "write", "serial-1", "--hex", "0g"],
        &["serial", "write", "serial-1", "--hex", "000"],
        &["serial", "open", "serial-1", "--baud", "10"],
        &["serial", "open", "serial-1", "--parity", "mark"],
        &["serial", "read", "serial-1", "--until", "a", "--until-hex", "61"],
        &["serial", "read", "serial-1", "--length", "0"],
        &["serial", "read", "serial-1", "--timeout", "61"],
        &["serial", "lines", "serial-1", "--dtr", "maybe"],
        &["usb", "control", "usb-1", "--request", "1"],
        &["usb", "control", "usb-1", "--request-type", "0x1C0", "--request", "1"],
        &["usb", "transfer", "usb-1", "--endpoint", "0x81", "--hex", "00"],
        &["usb", "transfer", "usb-1", "--endpoint", "0x02", "--in", "4"],
        &["gpio", "write", "gpio-1", "4", "2"],
        &["gpio", "watch", "gpio-1", "4", "--edge", "sideways"],
        &["devices", "share"],
    ] {
        rig.expect(2, words).await;
    }
    assert!(!rig.state().exists(), "nothing was made");
    let help = finish(rig.command(&["serial", "read", "--help"])).await;
    assert!(String::from_utf8(help.stdout).unwrap().contains("What comes after a pattern"));
}
