//! What the power over the screen costs while nobody uses it: at the start, and once the seat was left alone for a while.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use drawbridge_testkit::display::Display;
use serde_json::json;

use super::{act, link_with_screen};
use crate::engine::{Home, Kind, Process};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, shown};

const STARTS: usize = 9;
/// The start may take this much longer with the power: what the display can do is asked for HELLO.
const MORE: Duration = Duration::from_millis(50);
/// The engine lets go of the display a minute after the last use, and looks at it now and then in the first two minutes.
const LEFT_ALONE: Duration = Duration::from_secs(200);
const WATCH: Duration = Duration::from_secs(20);
/// What a runtime does by itself.
const SLACK: u64 = 20;

pub(super) async fn measure(table: &mut Table, display: &Display) -> anyhow::Result<()> {
    let (on, off) = starts(display).await?;
    table.add(
        "start to HELLO with the screen",
        format!("≤ {} more", shown(MORE)),
        shown(on.p50()),
        format!("without {}", shown(off.p50())),
        Verdict::of(on.p50() <= off.p50() + MORE),
    );
    let (mut on, off) = (Engine::start(display, true).await?, Engine::start(display, false).await?);
    on.use_everything().await?;
    let used = on.process.rss_kib()?;
    tokio::time::sleep(LEFT_ALONE).await;
    let before = (on.process.sleeps()?, off.process.sleeps()?, on.process.cpu()?);
    tokio::time::sleep(WATCH).await;
    let woken = (on.process.sleeps()?.saturating_sub(before.0), off.process.sleeps()?.saturating_sub(before.1));
    let helpers = on.process.helpers()?;
    let mib = |kib: u64| kib as f64 / 1024.0;
    table.add(
        "screen left alone: woken, helpers",
        "as without, none",
        format!("{} times in {} s, {helpers}", woken.0, WATCH.as_secs()),
        format!("without {} times; {} ticks", woken.1, (on.process.cpu()? - before.2).as_millis() / 10),
        Verdict::of(woken.0 <= woken.1 + SLACK && helpers == 0),
    );
    let (rests, without) = (on.process.rss_kib()?, off.process.rss_kib()?);
    table.add(
        "screen left alone: memory",
        "≤ 8 MiB more",
        format!("{:.1} → {:.1} MiB, {} threads", mib(used), mib(rests), on.process.threads()?),
        format!("without {:.1} MiB, {} threads", mib(without), off.process.threads()?),
        Verdict::of(rests <= without + 8 * 1024),
    );
    on.process.stop()?;
    off.process.stop()
}

/// An engine on the display, which may have the power.
struct Engine {
    process: Process,
    link: Link,
    // Its folders and its peer, as long as it runs.
    _home: Home,
    _peer: Peer,
}

impl Engine {
    async fn start(display: &Display, with: bool) -> anyhow::Result<Self> {
        let (home, peer) = (Home::new()?, Peer::open().await?);
        let process = start(&home, &peer, display, with)?;
        let link = if with { link_with_screen(&peer).await } else { peer.engine().await };
        let link = link.with_context(|| home.log())?;
        Ok(Self { process, link, _home: home, _peer: peer })
    }

    /// Makes it open all that it has: pictures, pointer, keyboard with its watchdog.
    async fn use_everything(&mut self) -> anyhow::Result<()> {
        for _ in 0..10 {
            self.link.send(request("shot", "SCREENSHOT_REQUEST", &json!({ "monitor": 0, "format": "jpeg" }))).await?;
            let reply = self.link.reply().await?;
            ensure!(reply.contains("\"SCREENSHOT_RESPONSE\""), "{}", reply.get(..400).unwrap_or(&reply));
        }
        act(&mut self.link, &json!({ "action": "left_click", "coordinate": [10, 1000] })).await
    }
}

fn start(home: &Home, peer: &Peer, display: &Display, with: bool) -> anyhow::Result<Process> {
    home.start_with(Kind::Full, &peer.url()?, |command| {
        command.args(with.then_some("--enable-computer-use"));
        command.env("DISPLAY", display.name()).env_remove("WAYLAND_DISPLAY");
    })
}

/// Starts with the power and without it in turn, so that other work on this machine meets both.
async fn starts(display: &Display) -> anyhow::Result<(Times, Times)> {
    let (home, peer) = (Home::new()?, Peer::open().await?);
    let (mut on, mut off) = (Times::default(), Times::default());
    for round in 0..=STARTS {
        for (with, times) in [(true, &mut on), (false, &mut off)] {
            let started = Instant::now();
            let process = start(&home, &peer, display, with)?;
            let (_link, _) = peer.hello().await.with_context(|| home.log())?;
            // The first starts make the audit key and its log.
            if round > 0 {
                times.push(started.elapsed());
            }
            process.stop().with_context(|| home.log())?;
        }
    }
    Ok((on, off))
}
