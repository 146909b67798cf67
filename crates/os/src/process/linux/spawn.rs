//! Starting one process without copying this one: `posix_spawn` shares the memory until the exec, so a start costs the
//! same however large the engine has grown. Session, folder, handles and signals are set by the C library in between
//! (glibc 2.34 or later).

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::ptr::null_mut;

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{ChildStderr, ChildStdout};

use super::super::{MARKER_VARIABLE, PASSED_NUMBER, Start};

/// A process that was started.
#[derive(Debug)]
pub(in super::super) struct Child {
    pid: i32,
    /// Readable once it has ended.
    ended: AsyncFd<OwnedFd>,
    code: Option<i32>,
}

impl Child {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits for its end. Safe to drop and call again.
    pub(in super::super) async fn wait(&mut self) -> Result<i32> {
        loop {
            if let Some(code) = self.try_wait()? {
                return Ok(code);
            }
            self.ended.readable().await?.clear_ready();
        }
    }

    pub(in super::super) fn try_wait(&mut self) -> Result<Option<i32>> {
        if self.code.is_none()
            && let Some(pid) = Pid::from_raw(self.pid)
        {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(pid), options))?;
            self.code =
                status.map(|status| status.exit_status().unwrap_or_else(|| -status.terminating_signal().unwrap_or(1)));
        }
        Ok(self.code)
    }

    /// Its number, while nobody has waited for it yet.
    pub(in super::super) fn unwaited(&self) -> Option<i32> {
        self.code.is_none().then_some(self.pid)
    }
}

/// What a start is made of, ready to be used without another allocation.
pub(super) struct Ready {
    program: CString,
    args: Vec<CString>,
    env: Vec<CString>,
    input: File,
    out: OwnedFd,
    err: OwnedFd,
    start: Start,
}

/// Makes everything that a start needs, and the pipes that it writes to.
pub(super) fn prepare(mut start: Start, marker: &str) -> Result<(Ready, ChildStdout, ChildStderr)> {
    let (out_end, out) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (err_end, err) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let stdout = ChildStdout::from_std(std::process::ChildStdout::from(out_end))?;
    let stderr = ChildStderr::from_std(std::process::ChildStderr::from(err_end))?;
    let program = c_string(start.program.as_os_str())?;
    let args = [c_string(&start.name)].into_iter().chain(start.args.iter().map(|arg| c_string(arg)));
    let args = args.collect::<Result<_>>()?;
    start.env.retain(|(name, _)| name != MARKER_VARIABLE);
    start.env.push((MARKER_VARIABLE.into(), marker.into()));
    let env = start.env.iter().map(|(name, value)| {
        let mut pair = OsString::with_capacity(name.len() + 1 + value.len());
        pair.push(name);
        pair.push("=");
        pair.push(value);
        CString::new(pair.into_vec()).map_err(|_| nul())
    });
    let env = env.collect::<Result<_>>()?;
    let input = File::open("/dev/null")?;
    Ok((Ready { program, args, env, input, out, err, start }, stdout, stderr))
}

impl Ready {
    /// Starts it: the number of the new process.
    #[expect(unsafe_code, reason = "the C library starts it; the standard library would copy this process")]
    pub(super) fn go(&self) -> Result<i32> {
        let mut actions = Actions::new()?;
        actions.take(&self.input, 0)?;
        actions.take(&self.out, 1)?;
        actions.take(&self.err, 2)?;
        if let Some(folder) = &self.start.folder {
            actions.enter(folder.handle().as_raw_fd())?;
        }
        let mut first_closed = PASSED_NUMBER;
        if let Some(pass) = &self.start.pass {
            // Last, since one of the others may have this very number.
            actions.take(pass, PASSED_NUMBER)?;
            first_closed += 1;
        }
        actions.close_from(first_closed)?;
        let attributes = Attributes::new()?;
        let pointers = |texts: &[CString]| -> Vec<*mut libc::c_char> {
            texts.iter().map(|text| text.as_ptr().cast_mut()).chain([null_mut()]).collect()
        };
        let (args, env) = (pointers(&self.args), pointers(&self.env));
        let mut pid = 0;
        // SAFETY: all pointers are to live values of the right kind, and both lists end in a null pointer. The C library
        // writes to none of the texts.
        let fault = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.program.as_ptr(),
                &actions.0,
                &attributes.0,
                args.as_ptr(),
                env.as_ptr(),
            )
        };
        checked(fault).map(|()| pid)
    }
}

/// Gets hold of a process that was just started and that nobody else waits for.
pub(super) fn hold(pid: i32) -> Result<Child> {
    let raw = Pid::from_raw(pid).ok_or_else(|| Error::other("the system gave no process number"))?;
    watch(raw).map(|ended| Child { pid, ended, code: None }).inspect_err(|_| {
        let _ = rustix::process::kill_process(raw, rustix::process::Signal::KILL);
        let _ = rustix::process::waitid(WaitId::Pid(raw), WaitIdOptions::EXITED);
    })
}

#[expect(unsafe_code, reason = "registering asks for a promise about the handle")]
fn watch(pid: Pid) -> Result<AsyncFd<OwnedFd>> {
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    // SAFETY: an owned handle stays open and the same for as long as it lives.
    Ok(unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?)
}

fn c_string(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| nul())
}

fn nul() -> Error {
    Error::new(ErrorKind::InvalidInput, "a word of the command holds a NUL")
}

fn checked(fault: libc::c_int) -> Result<()> {
    if fault == 0 { Ok(()) } else { Err(Error::from_raw_os_error(fault)) }
}

#[expect(unsafe_code, reason = "the bindings in use leave these two out")]
unsafe extern "C" {
    fn posix_spawn_file_actions_addfchdir_np(
        actions: *mut libc::posix_spawn_file_actions_t,
        handle: libc::c_int,
    ) -> libc::c_int;
    fn posix_spawn_file_actions_addclosefrom_np(
        actions: *mut libc::posix_spawn_file_actions_t,
        first: libc::c_int,
    ) -> libc::c_int;
}

/// What happens to handles and folder between start and exec.
struct Actions(libc::posix_spawn_file_actions_t);

#[expect(unsafe_code, reason = "each call is one of the C library on a value that it made")]
impl Actions {
    fn new() -> Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: makes the value behind the pointer, or fails.
        checked(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: it was made.
        Ok(Self(unsafe { actions.assume_init() }))
    }

    fn take(&mut self, handle: &impl AsRawFd, number: RawFd) -> Result<()> {
        // SAFETY: the value was made by the C library.
        checked(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, handle.as_raw_fd(), number) })
    }

    fn enter(&mut self, folder: RawFd) -> Result<()> {
        // SAFETY: the value was made by the C library.
        checked(unsafe { posix_spawn_file_actions_addfchdir_np(&raw mut self.0, folder) })
    }

    fn close_from(&mut self, first: RawFd) -> Result<()> {
        // SAFETY: the value was made by the C library.
        checked(unsafe { posix_spawn_file_actions_addclosefrom_np(&raw mut self.0, first) })
    }
}

#[expect(unsafe_code, reason = "the C library frees what it made")]
impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: made by the C library, freed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// A session of its own, no signal blocked, and a broken pipe ends it as usual, which Rust programs switch off.
struct Attributes(libc::posix_spawnattr_t);

#[expect(unsafe_code, reason = "each call is one of the C library on a value that it made")]
impl Attributes {
    fn new() -> Result<Self> {
        const NEW_SESSION: libc::c_int = 0x80;
        let flags = NEW_SESSION | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        let flags = libc::c_short::try_from(flags).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: makes the value behind the pointer, or fails.
        checked(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: it was made.
        let mut made = Self(unsafe { attributes.assume_init() });
        let mut signals = MaybeUninit::uninit();
        // SAFETY: makes the set behind the pointer; the others read it, and write to a value that was made.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            let mut signals = signals.assume_init();
            checked(libc::posix_spawnattr_setsigmask(&raw mut made.0, &raw const signals))?;
            libc::sigaddset(&raw mut signals, libc::SIGPIPE);
            checked(libc::posix_spawnattr_setsigdefault(&raw mut made.0, &raw const signals))?;
            checked(libc::posix_spawnattr_setflags(&raw mut made.0, flags))?;
        }
        Ok(made)
    }
}

#[expect(unsafe_code, reason = "the C library frees what it made")]
impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: made by the C library, freed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}
