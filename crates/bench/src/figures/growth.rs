//! Memory after much work and many reconnects: it must not grow.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::wire::read_of;
use crate::engine::{Home, Kind};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Verdict};

const OPERATIONS: usize = 20_000;
const RECONNECTS: usize = 200;
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
    for _ in 0..RECONNECTS / 10 {
        link.close().await?;
        link = peer.engine().await.with_context(|| home.log())?;
    }
    let before = process.rss_kib()?;
    for _ in 0..RECONNECTS {
        link.close().await?;
        link = peer.engine().await.with_context(|| home.log())?;
    }
    report(table, &format!("resident memory over {RECONNECTS} reconnects"), before, process.rss_kib()?);
    process.stop()
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
