//! Linux: sub-reaper, session ids, and a mark in the environment that survives re-parenting.

mod spawn;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::process::{ChildStderr, ChildStdout};

pub(super) use spawn::Child;

use super::{APP_MARK, MARKER_VARIABLE, Start, StillAlive};

/// Trying to end a tree stops after this long.
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// What an earlier run left behind is looked for so often, with this pause between.
const LEFT_BEHIND_ROUNDS: usize = 100;
const LEFT_BEHIND_PAUSE: Duration = Duration::from_millis(20);

static ADOPTING: AtomicBool = AtomicBool::new(false);

/// The first process of each command that is not settled, with its mark. Held while a command starts, so that nobody
/// takes a process for a stray that is not entered yet.
static LIVE: Mutex<BTreeMap<i32, String>> = Mutex::new(BTreeMap::new());

/// The sessions of apps that were started for the desktop: whatever an ended app leaves behind comes to us as an orphan, and is no
/// stray of a command.
static APPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn apps() -> MutexGuard<'static, BTreeSet<i32>> {
    APPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts an app in a session of its own and makes it no business of any command. `start` returns its number, which is that of
/// its session.
pub(super) fn start_apart(start: impl FnOnce() -> std::io::Result<u32>) -> std::io::Result<u32> {
    // Who looks for strays has this lock, or takes it after looking.
    let _live = live();
    let pid = start()?;
    let running: BTreeSet<i32> = table().into_iter().map(|process| process.session).collect();
    let mut apps = apps();
    apps.retain(|session| running.contains(session));
    apps.extend(i32::try_from(pid).ok());
    Ok(pid)
}

fn live() -> MutexGuard<'static, BTreeMap<i32, String>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn adopt_orphans() -> std::io::Result<()> {
    // Any process id switches it on; the number itself has no meaning.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    ADOPTING.store(true, Ordering::Release);
    Ok(())
}

pub(super) fn spawn(start: Start, marker: String) -> std::io::Result<(Child, ChildStdout, ChildStderr, Tree)> {
    let wrapped = start.wrapped;
    let (ready, stdout, stderr) = spawn::prepare(start, &marker)?;
    let mut live = live();
    let child = spawn::hold(ready.go()?)?;
    let leader = child.pid();
    live.insert(leader, marker.clone());
    Ok((child, stdout, stderr, Tree { leader, marker, wrapped }))
}

/// Takes the first process of an ended command out of the table when nobody waits for it any more.
pub(super) fn reap_left(unwaited: Option<i32>) {
    if let Some(pid) = unwaited {
        reap(pid);
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    leader: i32,
    marker: String,
    wrapped: bool,
}

impl Tree {
    pub(super) fn terminate(&self) {
        for process in self.living() {
            let is_wall = self.wrapped && (process.pid == self.leader || process.parent == self.leader);
            if !is_wall {
                signal(process.pid, Signal::TERM);
            }
        }
    }

    pub(super) fn kill(&self) -> Result<(), StillAlive> {
        let begin = Instant::now();
        loop {
            self.stop_all();
            let members = self.living();
            for process in &members {
                signal(process.pid, Signal::KILL);
            }
            reap_strays();
            // The first process may be a zombie that its owner has yet to wait for; it is not counted as living.
            let left = self.living().len();
            if left == 0 {
                reap_strays();
                return Ok(());
            }
            if begin.elapsed() > KILL_LIMIT {
                return Err(StillAlive { count: left });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops members until no new one shows up, so that none can start another while they are ended.
    fn stop_all(&self) {
        let mut stopped = BTreeSet::new();
        for _ in 0..50 {
            let fresh: Vec<i32> =
                self.living().into_iter().map(|process| process.pid).filter(|pid| !stopped.contains(pid)).collect();
            if fresh.is_empty() {
                return;
            }
            for pid in fresh {
                signal(pid, Signal::STOP);
                stopped.insert(pid);
            }
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        if !ADOPTING.load(Ordering::Acquire) {
            return self.living().iter().all(|process| process.pid == self.leader);
        }
        if has_no_child() {
            return true;
        }
        let Some(children) = own_children() else {
            reap_strays();
            return self.living().iter().all(|process| process.pid == self.leader);
        };
        let live = live();
        let own_session = own_session();
        let mut quiet = true;
        for pid in children {
            if live.contains_key(&pid) {
                continue;
            }
            let Some(process) = Process::read(pid) else { continue };
            if process.session == own_session {
                continue;
            }
            if process.is_dead() {
                reap(pid);
            } else if self.owns_stray(&process, &live) {
                quiet = false;
            }
        }
        quiet
    }

    pub(super) fn members(&self) -> Vec<i32> {
        self.living().into_iter().map(|process| process.pid).collect()
    }

    pub(super) fn forget(&self) {
        let mut live = live();
        if live.get(&self.leader) == Some(&self.marker) {
            live.remove(&self.leader);
        }
    }

    pub(super) fn is_forgotten(&self) -> bool {
        live().get(&self.leader) != Some(&self.marker)
    }

    /// Whether a child that this process adopted belongs here: by session, by mark, or because no other command could
    /// have left it.
    fn owns_stray(&self, process: &Process, live: &BTreeMap<i32, String>) -> bool {
        if process.session == self.leader {
            return true;
        }
        if live.contains_key(&process.session) || apps().contains(&process.session) {
            return false;
        }
        match process.marker() {
            Some(marker) if marker == APP_MARK => false,
            Some(marker) if marker == self.marker => true,
            Some(marker) if live.values().any(|other| *other == marker) => false,
            Some(_) | None => live.keys().all(|leader| *leader == self.leader),
        }
    }

    fn living(&self) -> Vec<Process> {
        let table = table();
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let adopting = ADOPTING.load(Ordering::Acquire);
        let live = live().clone();
        // After its owner waited for it, the number of the first process may belong to somebody else.
        let own_session = own_session();
        let mut members: BTreeSet<i32> = BTreeSet::new();
        for process in &table {
            let is_leader = process.pid == self.leader && process.parent == me;
            let adopted = adopting && process.parent == me && process.session != own_session;
            let ours = is_leader
                || process.session == self.leader
                || if adopted && !live.contains_key(&process.pid) {
                    self.owns_stray(process, &live)
                } else {
                    process.marker().is_some_and(|marker| marker == self.marker)
                };
            if ours && process.pid != me {
                members.insert(process.pid);
            }
        }
        loop {
            let before = members.len();
            for process in &table {
                if members.contains(&process.parent) && process.pid != me {
                    members.insert(process.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        table.into_iter().filter(|process| members.contains(&process.pid) && !process.is_dead()).collect()
    }
}

/// What the process table says about one process.
#[derive(Debug, Clone)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    state: u8,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, also brackets and spaces; the last bracket ends it.
        let after = text.iter().rposition(|byte| *byte == b')')? + 1;
        let rest = String::from_utf8_lossy(text.get(after..)?).into_owned();
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { pid, parent, session, state })
    }

    fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    fn marker(&self) -> Option<String> {
        if self.is_dead() {
            return None;
        }
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        environment.split(|byte| *byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    }
}

fn table() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(Process::read)
        .collect()
}

/// Tells, by one call, whether this process has no child at all, not even one that ended.
fn has_no_child() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Lists the children of this process by the kernel's own list; none where the kernel keeps no such list.
fn own_children() -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        match std::fs::read_to_string(task.path().join("children")) {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // A thread that ended meanwhile has no children any more; a kernel without the list has no file at all.
            Err(_) if task.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

/// The session of this process, as the process table names it: 0 when its leader is outside our pid namespace, as in a
/// container that was entered. A session of a command is never 0, for its leader runs in our namespace.
fn own_session() -> i32 {
    Process::read(rustix::process::getpid().as_raw_nonzero().get()).map_or(0, |own| own.session)
}

/// Ends every process whose mark begins like this and that no command of this run owns.
pub(super) fn end_left_behind(prefix: &str) -> usize {
    let mut ended = BTreeSet::new();
    for _ in 0..LEFT_BEHIND_ROUNDS {
        let owned: Vec<String> = live().values().cloned().collect();
        let left: Vec<i32> = table()
            .into_iter()
            .filter(|process| {
                process.marker().is_some_and(|marker| marker.starts_with(prefix) && !owned.contains(&marker))
            })
            .map(|process| process.pid)
            .collect();
        if left.is_empty() {
            break;
        }
        for pid in left {
            signal(pid, Signal::KILL);
            ended.insert(pid);
        }
        // They are not our children, so their end cannot be waited for.
        std::thread::sleep(LEFT_BEHIND_PAUSE);
    }
    ended.len()
}

/// Takes ended orphans out of the process table, and nothing that somebody else waits for.
pub(super) fn reap_strays() {
    if !ADOPTING.load(Ordering::Acquire) {
        return;
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let pids =
        own_children().unwrap_or_else(|| table().into_iter().filter(|p| p.parent == me).map(|p| p.pid).collect());
    let live = live();
    let own_session = own_session();
    for pid in pids {
        if live.contains_key(&pid) {
            continue;
        }
        if Process::read(pid).is_some_and(|process| process.is_dead() && process.session != own_session) {
            reap(pid);
        }
    }
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
