//! Answers of a local model beside a bare client of the same server in the same run. The server is the practice one, which
//! speaks both interfaces: what it costs itself, both pay.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::engine::{Home, Kind};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, shown};

const ROUNDS: usize = 200;
const WARM: usize = 10;
const FIRST_BUDGET: Duration = Duration::from_millis(5);
/// 200 tokens a second for three seconds.
const PACE: Duration = Duration::from_millis(5);
const TOKENS: usize = 600;
const LOSS_BUDGET: f64 = 0.02;

/// One of the two interfaces, as a bare client speaks it.
struct Plain {
    name: &'static str,
    model: &'static str,
    path: &'static str,
    /// What stands in the last line.
    end: &'static [u8],
}

const OLLAMA: Plain = Plain { name: "Ollama", model: "bench-ollama", path: "/api/chat", end: b"\"done\":true" };
const OPENAI: Plain = Plain { name: "OpenAI", model: "bench-openai", path: "/v1/chat/completions", end: b"[DONE]" };

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    let ollama = ModelServer::start(Script { openai: false, ..script(&OLLAMA) }).await?;
    let openai = ModelServer::start(Script { ollama: false, ..script(&OPENAI) }).await?;
    let servers = [ollama.url(), openai.url()];
    home.configure_more(&format!("enable_local_llm = true\n[models]\nservers = {servers:?}\n"))?;
    let process = home.start(Kind::Full, &peer.url()?)?;
    let mut link = peer.engine().await.with_context(|| home.log())?;
    for (plain, server) in [(&OLLAMA, &ollama), (&OPENAI, &openai)] {
        first_chunk(table, plain, server, &mut link).await?;
        throughput(table, plain, server, &mut link).await?;
    }
    process.stop()?;
    Ok(())
}

fn script(plain: &Plain) -> Script {
    Script::default().with_models(&[plain.model])
}

/// The time to the first piece of an answer that the server has at once.
async fn first_chunk(table: &mut Table, plain: &Plain, server: &ModelServer, link: &mut Link) -> anyhow::Result<()> {
    server.change(|script| script.reply = Reply::pieces(&["token"]));
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    for round in 0..WARM + ROUNDS {
        let (bare, _) = ask_plainly(plain, server).await?;
        let (first, _) = ask(plain, link).await?;
        if round >= WARM {
            theirs.push(bare);
            ours.push(first);
        }
    }
    let added = ours.p50().saturating_sub(theirs.p50());
    table.add(
        format!("local model, {}: first chunk over the back end, p50", plain.name),
        format!("≤ {}", shown(FIRST_BUDGET)),
        format!("+ {} ({}, p99 {})", shown(added), shown(ours.p50()), shown(ours.p99())),
        format!("bare client {} (p99 {})", shown(theirs.p50()), shown(theirs.p99())),
        Verdict::of(added <= FIRST_BUDGET),
    );
    Ok(())
}

/// Tokens a second of an answer that comes at the pace of a quick model.
async fn throughput(table: &mut Table, plain: &Plain, server: &ModelServer, link: &mut Link) -> anyhow::Result<()> {
    let steps: Vec<Step> = (0..TOKENS).map(|_| Step::text("token ")).chain([Step::finish("stop")]).collect();
    server.change(|script| (script.reply, script.pace) = (Reply::Steps(steps), Some(PACE)));
    let (_, theirs) = ask_plainly(plain, server).await?;
    let (_, ours) = ask(plain, link).await?;
    server.change(|script| script.pace = None);
    let rate = |time: Duration| TOKENS as f64 / time.as_secs_f64();
    let loss = 1.0 - rate(ours) / rate(theirs);
    table.add(
        format!("local model, {}: {TOKENS} tokens at 200/s", plain.name),
        format!("≤ {:.0} % less", LOSS_BUDGET * 100.0),
        format!("{:.1}/s = {:.2} % less", rate(ours), loss * 100.0),
        format!("bare client {:.1}/s", rate(theirs)),
        Verdict::of(loss <= LOSS_BUDGET),
    );
    Ok(())
}

/// Asks through the engine, as a platform does. Returns the time to the first piece and to the answer.
async fn ask(plain: &Plain, link: &mut Link) -> anyhow::Result<(Duration, Duration)> {
    let payload = json!({ "model": plain.model, "messages": messages(), "stream": true });
    let frame = request("ask", "LOCAL_LLM_COMPLETION", &payload);
    let started = Instant::now();
    link.send(frame).await?;
    let mut first = None;
    loop {
        let reply = link.reply().await?;
        let now = started.elapsed();
        if is_a(&reply, "LOCAL_LLM_COMPLETION_CHUNK") {
            first.get_or_insert(now);
            continue;
        }
        ensure!(is_a(&reply, "LOCAL_LLM_COMPLETION_RESPONSE"), "an unexpected frame: {reply}");
        return Ok((first.context("an answer without pieces")?, now));
    }
}

fn is_a(frame: &str, kind: &str) -> bool {
    frame.get(..80).unwrap_or(frame).contains(&format!("\"{kind}\""))
}

/// Asks the server itself, with nothing but a socket. Returns the time to the first piece and to the end.
async fn ask_plainly(plain: &Plain, server: &ModelServer) -> anyhow::Result<(Duration, Duration)> {
    let body = json!({ "model": plain.model, "messages": messages(), "stream": true }).to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        plain.path,
        body.len()
    );
    let started = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await?;
    stream.set_nodelay(true)?;
    stream.write_all((head + &body).as_bytes()).await?;
    let mut first = None;
    // A line is never cut between two reads here, since each comes as a packet of its own.
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let count = stream.read(&mut bytes).await?;
        let now = started.elapsed();
        let read = bytes.get(..count).unwrap_or_default();
        ensure!(count > 0, "the answer has no end");
        if contains(read, b"token") {
            first.get_or_insert(now);
        }
        if contains(read, plain.end) {
            return Ok((first.context("an answer without pieces")?, now));
        }
    }
}

fn messages() -> Value {
    json!([{ "role": "user", "content": "Say something." }])
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
