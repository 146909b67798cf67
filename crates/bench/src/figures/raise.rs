//! How fast everything ends when the bridge is raised: the last frame, and the last process of a command that does what it
//! can to stay.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use drawbridge_engine::Command;
use drawbridge_engine::control::Client;
use drawbridge_store::state_dir::StateDir;
use serde_json::json;

use super::wire::read_of;
use crate::engine::{Home, Kind};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, shown};

const ROUNDS: usize = 5;
/// One process of a session of its own, one that does not listen to TERM, one that has left its parent, and the shell.
const STUBBORN: &str = "setsid sh -c 'echo $$ >> pids; sleep 600' & \
    sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' & \
    (setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 600; sleep 600' &) ; \
    echo $$ >> pids; wait; sleep 600";
const PROCESSES: usize = 4;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::new()?;
    std::fs::write(home.root().join("small.txt"), "x".repeat(4096))?;
    let process = home.start(Kind::Full, &peer.url()?)?;
    let (mut frames, mut processes, mut answers) = (Times::default(), Times::default(), Times::default());
    let socket = StateDir::open(&home.state())?.control_socket();
    for round in 0..ROUNDS {
        let mut link = peer.engine().await.with_context(|| home.log())?;
        let pids = begin(&home, &mut link).await.with_context(|| home.log())?;
        let mut client = Client::connect(&socket).await?;
        let started = Instant::now();
        let raise = async {
            client.send(&Command::SetRaised { raised: true }).await?;
            anyhow::Ok(started.elapsed())
        };
        let (answer, frame, ended) = tokio::join!(raise, busy(&home, link, started), all_ended(&pids, started));
        answers.push(answer?);
        frames.push(frame?);
        processes.push(ended?);
        std::fs::remove_file(home.root().join("pids"))?;
        if round + 1 < ROUNDS {
            client.send(&Command::SetRaised { raised: false }).await?;
        }
    }
    for (figure, budget, times) in
        [("raise to the last frame", 50, &frames), ("raise to the end of the last process", 500, &processes)]
    {
        let worst = times.at(1.0);
        table.add(
            figure,
            format!("≤ {budget} ms"),
            format!("{} (worst {})", shown(times.p50()), shown(worst)),
            format!("raise confirmed after {}", shown(answers.p50())),
            Verdict::of(worst <= Duration::from_millis(budget)),
        );
    }
    process.stop()
}

async fn begin(home: &Home, link: &mut Link) -> anyhow::Result<Vec<u32>> {
    link.send(request("stubborn", "EXECUTE_COMMAND", &json!({ "command": STUBBORN, "shell": "sh" }))).await?;
    let list = home.root().join("pids");
    for _ in 0..1000 {
        let text = std::fs::read_to_string(&list).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == PROCESSES {
            return Ok(pids);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bail!("the command did not start its processes")
}

/// Keeps asking until the connection ends; tells when the last frame came.
async fn busy(home: &Home, mut link: Link, started: Instant) -> anyhow::Result<Duration> {
    let ask = request("busy", "FILE_READ", &read_of(&home.root().join("small.txt")));
    let mut last = Duration::ZERO;
    loop {
        // The end of the connection is what is waited for.
        if link.send(ask.as_str()).await.is_err() {
            return Ok(last);
        }
        match link.text().await {
            Ok(_) => last = started.elapsed(),
            Err(_) => return Ok(last),
        }
    }
}

async fn all_ended(pids: &[u32], started: Instant) -> anyhow::Result<Duration> {
    while started.elapsed() < Duration::from_secs(10) {
        if pids.iter().all(|pid| ended(*pid)) {
            return Ok(started.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bail!("processes are left after 10 s")
}

/// Gone, or dead and not yet collected.
fn ended(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")) else { return true };
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z') || rest.starts_with('X'))
}
