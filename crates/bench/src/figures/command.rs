//! Commands beside a plain spawn.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::engine::{Home, Kind};
use crate::peer::{Peer, request};
use crate::table::{Table, Times, Verdict, ratio, shown};

/// An engine runs 60 commands a minute at most.
const WARM: usize = 5;
const RUNS: usize = 50;
const PROGRAM: &str = "/bin/true";

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let (bare, spawns) = run(Kind::Full).await?;
    let times = ratio(bare.p50(), spawns.p50());
    table.add(
        "command, full access, p50",
        "≤ 1.3 × spawn",
        format!("{} = {times:.2} × (p99 {})", shown(bare.p50()), shown(bare.p99())),
        format!("spawn + wait {}", shown(spawns.p50())),
        Verdict::of(times <= 1.3),
    );
    match run(Kind::Confined).await {
        Ok((confined, _)) => {
            let more = confined.p50().saturating_sub(bare.p50());
            table.add(
                "command, confined, p50",
                "≤ + 15 ms",
                format!("{} = + {} (p99 {})", shown(confined.p50()), shown(more), shown(confined.p99())),
                format!("full access {}", shown(bare.p50())),
                Verdict::of(more <= Duration::from_millis(15)),
            );
        }
        Err(fault) => table.missing("command, confined, p50", "≤ + 15 ms", &format!("{fault:#}")),
    }
    Ok(())
}

async fn run(kind: Kind) -> anyhow::Result<(Times, Times)> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    let process = home.start(kind, &peer.url()?)?;
    let mut link = peer.engine().await.with_context(|| home.log())?;
    let ask = request("run", "EXECUTE_COMMAND", &json!({ "argv": [PROGRAM] }));
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    for round in 0..WARM + RUNS {
        let started = Instant::now();
        link.send(ask.as_str()).await?;
        let reply = link.reply().await?;
        let one = started.elapsed();
        let parsed: Value = serde_json::from_str(&reply)?;
        ensure!(parsed["payload"]["exit_code"] == 0, "{reply}");
        let started = Instant::now();
        Command::new(PROGRAM).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let other = started.elapsed();
        if round >= WARM {
            ours.push(one);
            theirs.push(other);
        }
    }
    process.stop()?;
    Ok((ours, theirs))
}
