//! What the desktop application costs: memory in the tray alone, time until something is painted, and the processor while
//! a thousand things happen a second.
//!
//! On a desktop of its own (`scripts/desk.sh`): software rendering, so a graphics card does better.

use std::pin::pin;
use std::process::Command as Program;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use drawbridge_engine::Command;
use serde_json::{Value, json};

use super::idle::attach;
use super::wire::read_of;
use crate::desktop::{Desktop, Memory, elsewhere, row};
use crate::engine::Home;
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, shown};

/// First word of the command line of the part that runs on a desktop.
pub(crate) const DESK_ROLE: &str = "--on-a-desktop";
const SETTLE: Duration = Duration::from_secs(4);
const OPENINGS: usize = 5;
const QUESTIONS: usize = 5;
/// Between two wishes to connect.
const PRESS_EVERY: Duration = Duration::from_millis(50);
const LOAD_FOR: Duration = Duration::from_secs(8);
const LOAD_STEP: Duration = Duration::from_millis(4);
const LOAD_PER_STEP: usize = 4;
const OWN_BUDGET_KIB: u64 = 35 * 1024;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    elsewhere(table, DESK_ROLE, true)
}

/// The part that runs on a desktop.
pub(crate) async fn on_a_desktop() -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    std::fs::create_dir_all(home.root().join("chat-0"))?;
    home.configure(&[home.root().join("chat-0")])?;
    let mut desktop = Desktop::start(&home, &peer.url()?).await?;
    let control = peer.engine().await.with_context(|| desktop.said())?;
    memory(&desktop, "tray only, never opened").await?;
    drop(control);
    openings(&mut desktop).await?;
    questions(&mut desktop, &peer, "tray only").await?;
    desktop.no_pages().await?;
    memory(&desktop, "tray only, after closing").await?;
    open(&mut desktop).await?;
    questions(&mut desktop, &peer, "window open").await?;
    drop(desktop);
    busy(&peer).await
}

/// A link that is alive. While something else is measured nobody answers here, so the old one is given up.
async fn connected(peer: &Peer, desktop: &mut Desktop) -> anyhow::Result<Link> {
    for _ in 0..20 {
        let mut next = pin!(peer.engine());
        let link = loop {
            tokio::select! {
                link = &mut next => break link,
                () = tokio::time::sleep(PRESS_EVERY) => drop(desktop.client.send(&Command::Connect).await?),
            }
        };
        // One that was given up long ago may still have stood in the queue.
        if let Ok(link) = link {
            return Ok(link);
        }
    }
    anyhow::bail!("the application does not connect: {}", desktop.said())
}

async fn memory(desktop: &Desktop, when: &str) -> anyhow::Result<()> {
    tokio::time::sleep(SETTLE).await;
    let Memory { own, tree, pages, networks, threads } = desktop.memory()?;
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    let beside = format!("PSS of all its processes {}, {threads} threads", mib(tree));
    row(&format!("private dirty, {when}"), "≤ 35 MiB", &mib(own), &beside, Verdict::of(own <= OWN_BUDGET_KIB));
    let beside = format!("{networks} network process");
    row(&format!("pages drawn, {when}"), "0 processes", &pages.to_string(), &beside, Verdict::of(pages == 0));
    Ok(())
}

async fn open(desktop: &mut Desktop) -> anyhow::Result<Duration> {
    let before = desktop.paints("main");
    desktop.client.send(&Command::ShowWindow).await?;
    desktop.painted("main", before).await
}

async fn openings(desktop: &mut Desktop) -> anyhow::Result<()> {
    let first = open(desktop).await?;
    desktop.close_window().await?;
    let mut again = Times::default();
    for _ in 0..OPENINGS {
        again.push(open(desktop).await?);
        desktop.close_window().await?;
    }
    let time = |limit: u64, took: Duration| Verdict::of(took <= Duration::from_millis(limit));
    row("window, first paint", "≤ 600 ms", &shown(first), "software rendering", time(600, first));
    let (median, worst) = (again.p50(), shown(again.at(1.0)));
    row("window, built again", "≤ 400 ms", &shown(median), &format!("worst {worst}"), time(400, median));
    Ok(())
}

/// From the frame that asks to the question that is painted, as seen from outside.
async fn questions(desktop: &mut Desktop, peer: &Peer, when: &str) -> anyhow::Result<()> {
    let mut control = connected(peer, desktop).await?;
    let mut times = Times::default();
    let mut inside = Times::default();
    for number in 0..QUESTIONS {
        let page = control
            .ask(
                "DIRECTORY_LIST_REQUEST",
                &json!({ "browse_id": null, "directory_ref": null }),
                "DIRECTORY_LIST_RESPONSE",
            )
            .await?;
        let wish: Value = json!({
            "session_id": format!("asked-{}-{number}", when.replace(' ', "-")),
            "browse_id": page["browse_id"],
            "directory_ref": page["entries"][0]["directory_ref"],
        });
        let before = desktop.paints("prompt");
        let started = Instant::now();
        control.send(request("asked", "ATTACH_SESSION", &wish)).await?;
        tokio::select! {
            took = desktop.painted("prompt", before) => inside.push(took?),
            reply = control.reply() => anyhow::bail!("answered without a question: {}", reply?),
        }
        times.push(started.elapsed());
        desktop.client.send(&Command::DenyPrompts).await?;
        control.reply().await?;
        gone(desktop).await?;
    }
    let median = times.p50();
    let beside = format!("worst {}, of it the window {}", shown(times.at(1.0)), shown(inside.p50()));
    row(
        &format!("frame to painted question, {when}"),
        "≤ 250 ms",
        &shown(median),
        &beside,
        Verdict::of(median <= Duration::from_millis(250)),
    );
    Ok(())
}

/// Waits until the window for questions has gone, so that the next one is built anew.
async fn gone(desktop: &Desktop) -> anyhow::Result<()> {
    for _ in 0..1_500 {
        let listed = Program::new("wmctrl").arg("-l").output().context("no wmctrl here")?;
        let others =
            String::from_utf8_lossy(&listed.stdout).lines().filter(|line| !line.ends_with(" Drawbridge")).count();
        if others == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("the window for questions stays: {}", desktop.said())
}

/// Another start, in which the configuration lets the platform attach a folder.
async fn busy(peer: &Peer) -> anyhow::Result<()> {
    let home = Home::new()?;
    std::fs::create_dir_all(home.root().join("chat-0"))?;
    home.configure_attached(&[home.root().join("chat-0")])?;
    let mut desktop = Desktop::start(&home, &peer.url()?).await?;
    let mut control = connected(peer, &mut desktop).await?;
    let link = attach(peer, &mut control, 0).await?;
    open(&mut desktop).await?;
    load(&home, &desktop, link).await
}

/// A thousand reads a second, each an act with its row. The page keeps up if drawing takes well under one core.
async fn load(home: &Home, desktop: &Desktop, mut link: Link) -> anyhow::Result<()> {
    std::fs::write(home.root().join("chat-0/small.txt"), "x".repeat(4096))?;
    let wish = read_of(&home.root().join("chat-0/small.txt"));
    let (own, others) = desktop.cpu()?;
    let started = Instant::now();
    let mut beats = tokio::time::interval(LOAD_STEP);
    let (mut count, mut times) = (0_u32, Times::default());
    while started.elapsed() < LOAD_FOR {
        beats.tick().await;
        let asked = Instant::now();
        for number in 0..LOAD_PER_STEP {
            // A number that is taken is passed over without a reply.
            link.send(request(&format!("read-{count}-{number}"), "FILE_READ", &wish)).await?;
        }
        for _ in 0..LOAD_PER_STEP {
            link.reply().await?;
            times.push(asked.elapsed());
            count += 1;
        }
    }
    let took = started.elapsed().as_secs_f64();
    let (own_after, others_after) = desktop.cpu()?;
    let part = |before: Duration, after: Duration| (after - before).as_secs_f64() / took * 100.0;
    let pages = part(others, others_after);
    row(
        &format!("page at {:.0} acts a second", f64::from(count) / took),
        "< 60 % of a core",
        &format!("{pages:.0} %"),
        &format!("application {:.0} %, reply p99 {}", part(own, own_after), shown(times.p99())),
        Verdict::of(pages < 60.0),
    );
    Ok(())
}
