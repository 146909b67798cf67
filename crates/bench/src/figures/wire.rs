//! Files over the wire, beside a bare echo of frames of the same size in the same run. Engine and echo take turns, so
//! that whatever else the machine does meets both.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::echo::{self, Echo};
use crate::engine::{Home, Kind, Process};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, ratio, shown, speed};

const SMALL: usize = 4096;
const LARGE: usize = 8 * 1024 * 1024;
const ROUNDS: usize = 10;
const PER_ROUND: usize = 500;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    let process = home.start(Kind::Full, &peer.url()?)?;
    let mut link = peer.engine().await.with_context(|| home.log())?;
    let mut echo = Echo::start(&peer).await?;
    small(table, &home, &process, &mut link, &mut echo).await?;
    for encoding in ["utf-8", "base64"] {
        large_read(table, &home, &mut link, &mut echo.link, encoding).await?;
    }
    for encoding in ["utf-8", "base64"] {
        large_write(table, &home, &mut link, &mut echo.link, encoding).await?;
    }
    list(table, &home, &mut link).await?;
    process.stop()
}

async fn small(
    table: &mut Table,
    home: &Home,
    process: &Process,
    link: &mut Link,
    echo: &mut Echo,
) -> anyhow::Result<()> {
    let path = home.root().join("small.txt");
    std::fs::write(&path, text(SMALL))?;
    let ask = request("small", "FILE_READ", &json!({ "path": path, "encoding": "utf-8" }));
    link.send(ask.as_str()).await?;
    let reply = link.reply().await?;
    ensure!(reply.contains("\"FILE_CONTENTS\""), "{reply}");
    let bare = echo::frame(reply.len(), ask.len());

    let (mut reads, mut echoes, mut ratios) = (Times::default(), Times::default(), Vec::new());
    for round in 0..=ROUNDS {
        let ours = one_by_one(link, &ask).await?;
        let theirs = one_by_one(&mut echo.link, &bare).await?;
        // The first round warms up both.
        if round > 0 {
            ratios.push(ratio(ours.p50(), theirs.p50()));
            reads.extend(ours);
            echoes.extend(theirs);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let times = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
    table.add(
        "FILE_READ 4 KiB, p50",
        "≤ 1.5 × echo",
        format!("{} = {times:.2} × (rounds {:.2}–{:.2})", shown(reads.p50()), ratios[0], ratios[ratios.len() - 1]),
        format!("echo {}", shown(echoes.p50())),
        Verdict::of(times <= 1.5),
    );
    table.add(
        "FILE_READ 4 KiB, p99",
        "-",
        format!("{} = {:.2} ×", shown(reads.p99()), ratio(reads.p99(), echoes.p99())),
        format!("echo {}", shown(echoes.p99())),
        Verdict::None,
    );
    for window in [1, 4] {
        let (mut ours, mut theirs) = (Times::default(), Times::default());
        for _ in 0..5 {
            ours.push(many(link, &ask, window, 2000).await?);
            theirs.push(many(&mut echo.link, &bare, window, 2000).await?);
        }
        table.add(
            format!("FILE_READ 4 KiB, {window} in flight"),
            "-",
            format!("{:.0}/s", 2000.0 / ours.p50().as_secs_f64()),
            format!("echo {:.0}/s", 2000.0 / theirs.p50().as_secs_f64()),
            Verdict::None,
        );
    }
    let (before, echo_before) = (process.cpu()?, echo.cpu()?);
    many(link, &ask, 1, 10_000).await?;
    let used = (process.cpu()? - before) / 10;
    many(&mut echo.link, &bare, 1, 10_000).await?;
    let echo_used = (echo.cpu()? - echo_before) / 10;
    table.add(
        "CPU for 1,000 FILE_READ 4 KiB",
        "-",
        format!("{:.3} s", used.as_secs_f64()),
        format!("echo {:.3} s", echo_used.as_secs_f64()),
        Verdict::None,
    );
    Ok(())
}

async fn one_by_one(link: &mut Link, ask: &str) -> anyhow::Result<Times> {
    let mut times = Times::default();
    for _ in 0..PER_ROUND {
        let frame = ask.to_owned();
        let started = Instant::now();
        link.send(frame).await?;
        link.reply().await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

/// Sends `count` requests with `window` of them unanswered at any time.
async fn many(link: &mut Link, ask: &str, window: usize, count: usize) -> anyhow::Result<Duration> {
    // Ids differ while they are open.
    let frames: Vec<String> =
        (0..window).map(|slot| ask.replacen("\"small\"", &format!("\"smal{slot}\""), 1)).collect();
    let started = Instant::now();
    let mut sent = 0;
    for frame in &frames {
        link.send(frame.as_str()).await?;
        sent += 1;
    }
    for _ in 0..count {
        let reply = link.reply().await?;
        if sent < count {
            // The one that was answered is free again.
            let slot = frames.iter().position(|frame| same_id(frame, &reply)).unwrap_or(0);
            link.send(frames[slot].as_str()).await?;
            sent += 1;
        }
    }
    Ok(started.elapsed())
}

fn same_id(frame: &str, reply: &str) -> bool {
    let id = frame.find("\"smal").and_then(|at| frame.get(at..at + 7)).unwrap_or("?");
    reply.get(..120).is_some_and(|head| head.contains(id))
}

async fn large_read(
    table: &mut Table,
    home: &Home,
    link: &mut Link,
    echo: &mut Link,
    encoding: &str,
) -> anyhow::Result<()> {
    let path = home.root().join("large.txt");
    std::fs::write(&path, text(LARGE))?;
    let ask = request("large", "FILE_READ", &json!({ "path": path, "encoding": encoding }));
    let (mut reads, mut echoes) = (Times::default(), Times::default());
    for round in 0..8 {
        let started = Instant::now();
        link.send(ask.as_str()).await?;
        let reply = link.reply().await?;
        let ours = started.elapsed();
        ensure!(reply.len() >= LARGE, "{}", reply.get(..300).unwrap_or_default());
        let bare = echo::frame(reply.len(), ask.len());
        drop(reply);
        let started = Instant::now();
        echo.send(bare).await?;
        echo.text().await?;
        let theirs = started.elapsed();
        if round > 0 {
            reads.push(ours);
            echoes.push(theirs);
        }
    }
    let (ours, theirs) = (reads.p50(), echoes.p50());
    table.add(
        format!("FILE_READ 8 MiB, {encoding}"),
        "≥ ½ of echo",
        format!("{:.0} MB/s = {:.2} ×", speed(LARGE, ours), ratio(theirs, ours)),
        format!("echo {:.0} MB/s", speed(LARGE, theirs)),
        Verdict::of(ratio(theirs, ours) >= 0.5),
    );
    Ok(())
}

async fn large_write(
    table: &mut Table,
    home: &Home,
    link: &mut Link,
    echo: &mut Link,
    encoding: &str,
) -> anyhow::Result<()> {
    use base64::Engine as _;
    let body = text(LARGE);
    let content = match encoding {
        "base64" => base64::engine::general_purpose::STANDARD.encode(&body),
        _ => body.clone(),
    };
    let (mut writes, mut echoes, mut disks) = (Times::default(), Times::default(), Times::default());
    for round in 0..5 {
        let path = home.root().join(format!("written-{encoding}-{round}"));
        let payload = json!({ "path": path, "content": content, "encoding": encoding, "create_parents": true });
        let ask = request("large", "FILE_WRITE", &payload);
        drop(payload);
        let bare = echo::frame(120, ask.len());
        let started = Instant::now();
        link.send(ask).await?;
        let reply = link.reply().await?;
        writes.push(started.elapsed());
        ensure!(reply.contains("\"ACK\""), "{}", reply.get(..300).unwrap_or_default());
        let started = Instant::now();
        echo.send(bare).await?;
        echo.text().await?;
        echoes.push(started.elapsed());
        let started = Instant::now();
        plain_write(&home.root(), &body)?;
        disks.push(started.elapsed());
    }
    table.add(
        format!("FILE_WRITE 8 MiB, {encoding}, durable"),
        "-",
        format!(
            "{:.0} MB/s = {:.2} × of both",
            speed(LARGE, writes.p50()),
            ratio(echoes.p50() + disks.p50(), writes.p50())
        ),
        format!("echo {:.0} MB/s, write + sync {:.0} MB/s", speed(LARGE, echoes.p50()), speed(LARGE, disks.p50())),
        Verdict::None,
    );
    Ok(())
}

/// What a durable, whole-or-not write costs at least.
fn plain_write(folder: &Path, body: &str) -> anyhow::Result<()> {
    let (temporary, path) = (folder.join("plain.tmp"), folder.join("plain"));
    let mut file = File::create(&temporary)?;
    file.write_all(body.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(())
}

async fn list(table: &mut Table, home: &Home, link: &mut Link) -> anyhow::Result<()> {
    // One answer holds 10,000 entries at most, so two folders are listed.
    let folders = ["first", "second"].map(|name| home.root().join("many").join(name));
    for folder in &folders {
        std::fs::create_dir_all(folder)?;
        for number in 0..10_000 {
            std::fs::write(folder.join(format!("file-{number:05}.txt")), "x")?;
        }
    }
    let (mut lists, mut finds, mut names) = (Times::default(), Times::default(), Times::default());
    for round in 0..6 {
        let started = Instant::now();
        for folder in &folders {
            link.send(request("list", "FILE_LIST", &json!({ "path": folder, "max_entries": 10_000 }))).await?;
            let reply = link.reply().await?;
            ensure!(reply.contains("\"FILE_LIST_RESPONSE\"") && reply.len() > 1_000_000, "a short list");
        }
        let ours = started.elapsed();
        let facts = find(&home.root().join("many"), &["-printf", "%p %s %T@ %y\\n"])?;
        let plain = find(&home.root().join("many"), &[])?;
        if round > 0 {
            lists.push(ours);
            finds.push(facts);
            names.push(plain);
        }
    }
    let times = ratio(lists.p50(), finds.p50());
    table.add(
        "FILE_LIST of 20,000 files",
        "≤ 2 × find",
        format!("{} = {times:.2} ×", shown(lists.p50())),
        format!("find with size and time {}, names alone {}", shown(finds.p50()), shown(names.p50())),
        Verdict::of(times <= 2.0),
    );
    Ok(())
}

fn find(folder: &Path, more: &[&str]) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let output = Command::new("find").arg(folder).args(more).stdin(Stdio::null()).output()?;
    let time = started.elapsed();
    ensure!(output.stdout.len() > 100_000, "find found little");
    Ok(time)
}

/// Text as sources have it: lines with quotes and tabs.
fn text(size: usize) -> String {
    let mut text = String::with_capacity(size + 128);
    let mut line = 0;
    while text.len() < size {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "\tlet value_{line} = lookup(\"name {line}\", &table); // the next one comes below");
        line += 1;
    }
    text.truncate(size);
    text
}

/// The payload of a read, for the other figures.
pub(crate) fn read_of(path: &Path) -> Value {
    json!({ "path": path, "encoding": "utf-8" })
}
