//! What an engine costs that has nothing to do: memory and processor time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::engine::{Home, Kind, Process};
use crate::peer::{Link, Peer};
use crate::table::{Table, Verdict};

const SETTLE: Duration = Duration::from_secs(2);
const WATCH: Duration = Duration::from_secs(20);

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    let folders: Vec<PathBuf> = (0..8).map(|number| home.root().join(format!("chat-{number}"))).collect();
    folders.iter().try_for_each(std::fs::create_dir_all)?;
    home.configure(&folders)?;
    let process = home.start(Kind::Control, &peer.url()?)?;
    let mut control = peer.engine().await.with_context(|| home.log())?;
    memory(table, &process, 0, 15).await?;
    processor(table, &process, 0).await?;
    let mut chats = Vec::new();
    for number in 0..8 {
        chats.push(attach(&peer, &mut control, number).await.with_context(|| home.log())?);
        if number == 0 {
            memory(table, &process, 1, 25).await?;
        }
    }
    memory(table, &process, 8, 25).await?;
    processor(table, &process, 8).await?;
    process.stop()
}

async fn memory(table: &mut Table, process: &Process, chats: usize, budget_mib: u64) -> anyhow::Result<()> {
    tokio::time::sleep(SETTLE).await;
    let (pss, rss) = (process.pss_kib()?, process.rss_kib()?);
    table.add(
        format!("idle memory, {chats} chats"),
        format!("≤ {budget_mib} MiB PSS"),
        format!("{:.1} MiB PSS", pss as f64 / 1024.0),
        format!("RSS {:.1} MiB, {} threads", rss as f64 / 1024.0, process.threads()?),
        Verdict::of(pss <= budget_mib * 1024),
    );
    Ok(())
}

async fn processor(table: &mut Table, process: &Process, chats: usize) -> anyhow::Result<()> {
    let before = process.cpu()?;
    tokio::time::sleep(WATCH).await;
    let used = process.cpu()? - before;
    let part = used.as_secs_f64() / WATCH.as_secs_f64() * 100.0;
    table.add(
        format!("idle processor, {chats} chats"),
        "< 0.2 % of a core",
        format!("{part:.2} % ({} ticks in {} s)", used.as_millis() / 10, WATCH.as_secs()),
        "",
        Verdict::of(part < 0.2),
    );
    Ok(())
}

/// Attaches the folder of this number to a new chat, and takes its data link.
pub(crate) async fn attach(peer: &Peer, control: &mut Link, number: usize) -> anyhow::Result<Link> {
    let page = control
        .ask("DIRECTORY_LIST_REQUEST", &json!({ "browse_id": null, "directory_ref": null }), "DIRECTORY_LIST_RESPONSE")
        .await?;
    let chat = format!("chat-{number}");
    let entries = page["entries"].as_array().context("no folders")?;
    let entry = entries.iter().find(|entry| ends_with(entry, &chat)).context("the folder is not offered")?;
    let wish = json!({ "session_id": chat, "browse_id": page["browse_id"], "directory_ref": entry["directory_ref"] });
    let attached = control.ask("ATTACH_SESSION", &wish, "SESSION_ATTACHED").await?;
    let wish = json!({ "session_id": chat, "revision": attached["revision"] });
    control.ask("ACTIVATE_SESSION", &wish, "SESSION_ACTIVATED").await?;
    peer.engine().await
}

fn ends_with(entry: &Value, name: &str) -> bool {
    entry["path"].as_str().is_some_and(|path| path.ends_with(name))
}
