//! Memory after much work and many reconnects: it must not grow.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use drawbridge_engine::Command;
use drawbridge_engine::control::Client;
use drawbridge_store::state_dir::StateDir;
use serde_json::json;

use super::wire::read_of;
use crate::engine::{Home, Kind};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Verdict};

const OPERATIONS: usize = 20_000;
const RECONNECTS: usize = 1_000;
/// Between two wishes to connect.
const PRESS_EVERY: Duration = Duration::from_millis(3);
/// Growth below this is the allocator's.
const SLACK_KIB: u64 = 1024;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    let process = home.start(Kind::Full, &peer.url()?)?;
    let mut link = peer.engine().await.with_context(|| home.log())?;
    std::fs::write(home.root().join("small.txt"), "x".repeat(4096))?;
    work(&home, &mut link, OPERATIONS / 4).await?;
    let first = process.rss_kib()?;
    work(&home, &mut link, OPERATIONS).await?;
    let second = process.rss_kib()?;
    report(table, &format!("resident memory over {OPERATIONS} operations"), first, second);
    let mut person = Client::connect(&StateDir::open(&home.state())?.control_socket()).await?;
    link = reconnects(&home, &peer, &mut person, link, RECONNECTS / 10).await?;
    let before = process.rss_kib()?;
    link = reconnects(&home, &peer, &mut person, link, RECONNECTS).await?;
    report(table, &format!("resident memory over {RECONNECTS} reconnects"), before, process.rss_kib()?);
    drop(link);
    process.stop()
}

/// Closes in order and connects again. A peer that only accepts and closes sees longer and longer waits, as it should, so the
/// wish of a person is played, which ends each wait.
async fn reconnects(
    home: &Home,
    peer: &Peer,
    person: &mut Client,
    mut link: Link,
    count: usize,
) -> anyhow::Result<Link> {
    for _ in 0..count {
        link.close().await?;
        let mut next = pin!(peer.engine());
        link = loop {
            tokio::select! {
                link = &mut next => break link.with_context(|| home.log())?,
                // Pressed before the engine has seen the end it means nothing, so it is pressed until the link is there.
                () = tokio::time::sleep(PRESS_EVERY) => drop(person.send(&Command::Connect).await?),
            }
        };
    }
    Ok(link)
}

fn report(table: &mut Table, figure: &str, before: u64, after: u64) {
    let grown = after.saturating_sub(before);
    table.add(
        figure,
        "flat (< 1 MiB)",
        format!("{:.1} → {:.1} MiB", before as f64 / 1024.0, after as f64 / 1024.0),
        "",
        Verdict::of(grown < SLACK_KIB),
    );
}

/// Reads, looks at and lists, four at a time.
async fn work(home: &Home, link: &mut Link, count: usize) -> anyhow::Result<()> {
    let file = home.root().join("small.txt");
    let kinds = [
        ("FILE_READ", read_of(&file)),
        ("FILE_STAT", json!({ "path": file })),
        ("FILE_LIST", json!({ "path": home.root() })),
        ("FILE_READ", json!({ "path": home.root().join("missing.txt"), "encoding": "utf-8" })),
    ];
    let frames: Vec<String> =
        kinds.iter().enumerate().map(|(slot, (kind, payload))| request(&format!("g{slot}"), kind, payload)).collect();
    for _ in 0..count / frames.len() {
        for frame in &frames {
            link.send(frame.as_str()).await?;
        }
        for _ in &frames {
            let reply = link.reply().await?;
            ensure!(!reply.contains("\"SHIM_OVERLOADED\""), "{reply}");
        }
    }
    Ok(())
}
