//! Describing a large private file: its digest beside that of the system's own tool.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::json;

use crate::engine::{Home, Kind};
use crate::peer::Peer;
use crate::table::{Table, Times, Verdict, speed};

const FILE_BYTES: usize = 1 << 30;
const ROUNDS: usize = 5;
/// Memory that a description may take beside what the engine has already: its blocks, two threads and what they warm up.
const MEMORY_KIB: u64 = 16 * 1024;
const FIGURE: &str = "1 GiB file described";
const BUDGET: &str = "≥ 80 % of sha256sum";

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    if Command::new("sha256sum").arg("--version").stdout(Stdio::null()).status().is_err() {
        table.missing(FIGURE, BUDGET, "sha256sum is not on this machine");
        return Ok(());
    }
    let peer = Peer::open().await?;
    let home = Home::new()?;
    home.configure_more("[privacy]\nall = true\n")?;
    let file = home.root().join("large.bin");
    fill(&file)?;
    let process = home.start(Kind::Full, &peer.url()?)?;
    let mut link = peer.engine().await?;
    let payload = json!({ "path": file, "encoding": "base64", "mode": "stub" });
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    // A small one first, so that what is there for good is there before.
    std::fs::write(home.root().join("small.txt"), "small")?;
    link.ask("FILE_READ", &json!({ "path": home.root().join("small.txt"), "mode": "stub" }), "FILE_CONTENTS").await?;
    let before = process.peak_kib()?;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let reply = link.ask("FILE_READ", &payload, "FILE_CONTENTS").await?;
        ours.push(started.elapsed());
        let (other, digest) = sha256sum(&file)?;
        theirs.push(other);
        ensure!(reply["sha256"] == digest.as_str(), "the digests differ: {reply} and {digest}");
    }
    let peak = process.peak_kib()?.saturating_sub(before);
    let share = theirs.p50().as_secs_f64() / ours.p50().as_secs_f64().max(1e-9);
    table.add(
        FIGURE,
        BUDGET,
        format!("{:.0} MB/s = {:.0} %", speed(FILE_BYTES, ours.p50()), share * 100.0),
        format!("sha256sum {:.0} MB/s", speed(FILE_BYTES, theirs.p50())),
        Verdict::of(share >= 0.8),
    );
    table.add(
        "memory on top at its peak",
        "≤ 16 MiB",
        format!("{:.1} MiB", peak as f64 / 1024.0),
        "three blocks of 1 MiB, two threads",
        Verdict::of(peak <= MEMORY_KIB),
    );
    process.stop()
}

/// Fills a file with bytes that no file system leaves out, and lets them reach the disk, so that writing them back disturbs nothing.
fn fill(path: &Path) -> anyhow::Result<()> {
    let mut file = File::create(path)?;
    let block: Vec<u8> = (0..1_u32 << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(&block)?;
    }
    Ok(file.sync_all()?)
}

fn sha256sum(path: &Path) -> anyhow::Result<(Duration, String)> {
    let started = Instant::now();
    let output = Command::new("sha256sum").arg(path).output()?;
    let time = started.elapsed();
    ensure!(output.status.success(), "sha256sum ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    Ok((time, text.split_whitespace().next().unwrap_or_default().to_owned()))
}
