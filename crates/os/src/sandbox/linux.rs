//! Linux: the arguments of bubblewrap, the inner wall, and the probe.

use std::ffi::{OsStr, OsString};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::pipe::PipeFlags;

use super::{CONFINE_ARGUMENT, CheckedFolder, LayerState, Reach, SandboxState, WallState, Walls, standing};
use crate::process::{PASSED_NUMBER, Start};

/// Where our own program stands inside the walls, which may hide the place where it really is.
const HELPER_INSIDE: &str = "/run/drawbridge/confine";
/// The oldest Landlock that can hold "writes only below": before it, files elsewhere could be cut to nothing.
const LANDLOCK_NEEDED: ABI = ABI::V3;
/// The newest Landlock whose rights are used. What an older kernel lacks of those (TCP, ioctl, abstract sockets, signals)
/// is held by the name spaces around it as well.
const LANDLOCK: ABI = ABI::V6;
/// Status of a start that failed inside the walls, as shells have it.
const NOT_STARTED: u8 = 126;
const STOOD: &[u8] = b"+";

/// Returns where this program's file is.
pub(super) fn place() -> std::io::Result<PathBuf> {
    standing::place()
}

pub(super) fn confine(walls: &Walls, start: Start) -> std::io::Result<(Start, OwnedFd)> {
    let helper = standing::standing(&walls.helper.program)?;
    let (report, told) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let mut args = outer_arguments(walls, &helper);
    args.extend(["--", HELPER_INSIDE, CONFINE_ARGUMENT].map(OsString::from));
    args.push(PASSED_NUMBER.to_string().into());
    for folder in [&walls.root, &walls.folder] {
        args.push(folder.path.clone().into());
        args.push(folder.device.to_string().into());
        args.push(folder.inode.to_string().into());
    }
    args.push(reach_name(walls.reach).into());
    args.push(start.program.into());
    args.push(start.name);
    args.extend(start.args);
    let wrapped = Start {
        program: walls.bubblewrap.clone(),
        name: "bwrap".into(),
        args,
        env: start.env,
        folder: None,
        pass: Some(told),
        wrapped: true,
    };
    Ok((wrapped, report))
}

/// The order matters: each line covers what the lines before it left open.
fn outer_arguments(walls: &Walls, helper: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
            .map(OsString::from)
            .to_vec();
    if walls.reach != Reach::Everything {
        args.push("--unshare-net".into());
    }
    let mut add = |words: &[&OsStr]| args.extend(words.iter().map(|word| (*word).to_owned()));
    let word = OsStr::new;
    add(&[word("--ro-bind"), word("/"), word("/"), word("--dev"), word("/dev"), word("--proc"), word("/proc")]);
    for hidden in ["/run", "/tmp", "/var/tmp"] {
        if Path::new(hidden).is_dir() && !is_link(Path::new(hidden)) {
            add(&[word("--tmpfs"), word(hidden)]);
        }
    }
    let home = walls.home.as_ref().and_then(|home| std::fs::canonicalize(home).ok());
    let home = home.filter(|home| home != Path::new("/"));
    if let Some(home) = &home {
        add(&[word("--tmpfs"), home.as_os_str()]);
    }
    if walls.reach == Reach::Everything
        && let Ok(names) = std::fs::canonicalize("/etc/resolv.conf")
        && names.starts_with("/run")
    {
        add(&[word("--ro-bind"), names.as_os_str(), names.as_os_str()]);
    }
    for part in ["/run/current-system", "/run/opengl-driver"] {
        add(&[word("--ro-bind-try"), word(part), word(part)]);
    }
    let root = walls.root.path.as_os_str();
    add(&[word("--bind"), root, root]);
    for own in &walls.hidden {
        // A folder that is covered already needs no cover, and one would only tell that it exists.
        let Ok(own) = std::fs::canonicalize(own) else { continue };
        let covered = home.as_ref().is_some_and(|home| own.starts_with(home)) && !own.starts_with(root);
        if own.is_dir() && !covered && !walls.root.path.starts_with(&own) {
            add(&[word("--tmpfs"), own.as_os_str()]);
        }
    }
    add(&[word("--ro-bind"), helper.as_os_str(), word(HELPER_INSIDE)]);
    args
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_symlink())
}

fn reach_name(reach: Reach) -> &'static str {
    match reach {
        Reach::Nothing => "nothing",
        Reach::OwnLoopback => "loopback",
        Reach::Everything => "everything",
    }
}

pub(super) fn read_report(report: &OwnedFd) -> WallState {
    let mut text = Vec::new();
    let mut buffer = [0_u8; 1024];
    // Never waits: what was to be told was told before the first process ended.
    let _ = rustix::fs::fcntl_setfl(report, OFlags::NONBLOCK);
    while let Ok(count) = rustix::io::read(report, &mut buffer) {
        if count == 0 || text.len() > 4096 {
            break;
        }
        text.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match text.strip_prefix(STOOD) {
        Some([]) => WallState::Stood,
        Some(why) => WallState::NotStarted(words(why)),
        None if text.is_empty() => WallState::Missing(None),
        None => WallState::Missing(Some(words(&text))),
    }
}

pub(super) fn confine_main(args: Vec<OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let handle = args.next().and_then(|text| text.to_str()?.parse::<RawFd>().ok()).filter(|handle| *handle > 2);
    let Some(handle) = handle else { return ExitCode::from(NOT_STARTED) };
    let Some(report) = take_handle(handle) else { return ExitCode::from(NOT_STARTED) };
    let tell = |text: &[u8]| {
        let _ = rustix::io::write(&report, text);
    };
    let mut command = match put_on(args) {
        Ok(command) => command,
        Err(why) => {
            tell(why.as_bytes());
            return ExitCode::from(NOT_STARTED);
        }
    };
    tell(STOOD);
    // Closes on exec, like every other handle above 2.
    let fault = command.exec();
    tell(fault.to_string().as_bytes());
    ExitCode::from(NOT_STARTED)
}

#[expect(unsafe_code, reason = "a handle that comes by its number")]
fn take_handle(handle: RawFd) -> Option<OwnedFd> {
    // SAFETY: reads and sets flags of a number; one that is not open gives an error.
    let open = unsafe { libc::fcntl(handle, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, it was passed for this, and nothing else in this fresh process knows it.
    open.then(|| unsafe { OwnedFd::from_raw_fd(handle) })
}

/// Checks the folders, puts on Landlock and returns the command to become.
fn put_on(mut args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let root = checked_folder(&mut args)?;
    let folder = checked_folder(&mut args)?;
    let reach = args.next().ok_or("the call is incomplete")?;
    let program = args.next().ok_or("the call is incomplete")?;
    let name = args.next().ok_or("the call is incomplete")?;
    let root = open_checked(&root)?;
    let folder = open_checked(&folder)?;
    landlock(&root, reach == OsStr::new(reach_name(Reach::Nothing)))?;
    rustix::process::fchdir(&folder).map_err(|fault| format!("the folder cannot be entered: {fault}"))?;
    let mut command = Command::new(program);
    command.arg0(name).args(args);
    Ok(command)
}

fn checked_folder(args: &mut impl Iterator<Item = OsString>) -> Result<CheckedFolder, String> {
    let path = PathBuf::from(args.next().ok_or("the call is incomplete")?);
    let mut number = || args.next().and_then(|text| text.to_str()?.parse::<u64>().ok()).ok_or("the call is incomplete");
    Ok(CheckedFolder { path, device: number()?, inode: number()? })
}

fn open_checked(folder: &CheckedFolder) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, &folder.path, flags, Mode::empty())
        .map_err(|fault| format!("the attached folder cannot be opened behind the wall: {fault}"))?;
    let facts = rustix::fs::fstat(&handle).map_err(|fault| fault.to_string())?;
    if facts.st_dev == folder.device && facts.st_ino == folder.inode {
        Ok(handle)
    } else {
        Err("the attached folder was moved or replaced while the command started".to_owned())
    }
}

fn landlock(root: &OwnedFd, no_network: bool) -> Result<(), String> {
    let say = |fault: &dyn std::fmt::Display| format!("Landlock: {fault}");
    if let LayerState::Missing(why) = landlock_state(landlock_version()) {
        return Err(say(&why));
    }
    let write = AccessFs::from_write(LANDLOCK);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset = ruleset.handle_access(AccessFs::from_write(LANDLOCK_NEEDED)).map_err(|fault| say(&fault))?;
    ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(write).map_err(|fault| say(&fault))?;
    ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal).map_err(|fault| say(&fault))?;
    if no_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(LANDLOCK)).map_err(|fault| say(&fault))?;
    }
    let mut ruleset = ruleset.create().map_err(|fault| say(&fault))?;
    ruleset = ruleset.add_rule(PathBeneath::new(root, write)).map_err(|fault| say(&fault))?;
    for place in ["/tmp", "/var/tmp", "/dev"] {
        // Each is private to the command; what is not there needs no rule.
        if let Ok(handle) = PathFd::new(place) {
            ruleset = ruleset.add_rule(PathBeneath::new(handle, write)).map_err(|fault| say(&fault))?;
        }
    }
    let status = ruleset.restrict_self().map_err(|fault| say(&fault))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("Landlock: the kernel does not enforce it".to_owned());
    }
    Ok(())
}

pub(super) fn probe(bubblewrap: &Path) -> SandboxState {
    let landlock = landlock_state(landlock_version());
    if !bubblewrap.is_file() {
        let why = format!("{} is not there; install the package bubblewrap", bubblewrap.display());
        let untried = LayerState::Missing("cannot be tried without bubblewrap".to_owned());
        return SandboxState { bubblewrap: LayerState::Missing(why), landlock, namespaces: untried };
    }
    let tried = Command::new(bubblewrap)
        .args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"])
        .args(["--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true"])
        .stdin(Stdio::null())
        .output();
    let (bubblewrap, namespaces) = match tried {
        Err(fault) => (
            LayerState::Missing(format!("it cannot be started: {fault}")),
            LayerState::Missing("cannot be tried without bubblewrap".to_owned()),
        ),
        Ok(output) if output.status.success() => (LayerState::Works, LayerState::Works),
        Ok(output) => {
            let said: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(300).collect();
            (LayerState::Works, LayerState::Missing(format!("this system refuses them: {said}")))
        }
    };
    SandboxState { bubblewrap, landlock, namespaces }
}

/// Tells whether a kernel with this version of Landlock, if any, can hold what is promised.
fn landlock_state(version: Option<i64>) -> LayerState {
    let needed = LANDLOCK_NEEDED as i64;
    match version {
        None => LayerState::Missing("this kernel does not have it or has it switched off".to_owned()),
        Some(version) if version < needed => LayerState::Missing(format!(
            "this kernel has version {version}, which lets files elsewhere be cut; version {needed} is needed"
        )),
        Some(_) => LayerState::Works,
    }
}

#[expect(unsafe_code, reason = "no safe wrapper asks for the version alone")]
fn landlock_version() -> Option<i64> {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with no attributes and this flag the call only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_VERSION) };
    (version >= 1).then_some(version)
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
