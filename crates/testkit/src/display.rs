//! A display of its own for a test: Xvfb, a window manager, a keyboard layout, and a window that records what it receives.
//!
//! Everything ends when it is dropped. Nothing waits by time: each program says itself when it is ready.

mod painter;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub use painter::Painter;
use serde_json::Value;

/// Ends a broken run; a window that comes is there long before.
const WINDOWS_WITHIN: Duration = Duration::from_secs(30);
/// How often to look for a window that is not there yet.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// An X display with nothing on it but what the test starts.
#[derive(Debug)]
pub struct Display {
    name: String,
    /// Its size and depth, as Xvfb takes them.
    screen: String,
    server: Child,
    manager: Option<Child>,
    folder: PathBuf,
}

impl Display {
    /// Starts a display of this size with 24 bits a pixel.
    ///
    /// # Errors
    /// When Xvfb is missing or does not start.
    pub fn start(width: u32, height: u32) -> io::Result<Self> {
        Self::start_with_depth(width, height, 24)
    }

    /// Starts a display of this size with so many bits a pixel: 16, 24 or 30.
    ///
    /// # Errors
    /// When Xvfb is missing or does not start.
    pub fn start_with_depth(width: u32, height: u32, bits: u8) -> io::Result<Self> {
        Self::serve(format!("{width}x{height}x{bits}"), &[])
    }

    /// Starts a display of this size whose server lacks an extension.
    ///
    /// # Errors
    /// When Xvfb is missing or does not start.
    pub fn start_without(width: u32, height: u32, extension: &str) -> io::Result<Self> {
        Self::serve(format!("{width}x{height}x24"), &["-extension", extension])
    }

    fn serve(screen: String, more: &[&str]) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("display-{}-{:x}", std::process::id(), unique()));
        std::fs::create_dir_all(&folder)?;
        // The first number that is free.
        let (name, server) = serve(&screen, more)?;
        Ok(Self { name, screen, server, manager: None, folder })
    }

    /// Ends the server, and with it all that is on the display.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub fn lose(&mut self) -> io::Result<()> {
        self.server.kill()?;
        self.server.wait().map(drop)
    }

    /// Starts a server again under the name of the one that was lost.
    ///
    /// # Errors
    /// When Xvfb does not start, for one because another one took the name.
    pub fn start_again(&mut self) -> io::Result<()> {
        (self.name, self.server) = serve(&self.screen, &[&self.name])?;
        Ok(())
    }

    /// Stops the server from answering, without ending it.
    ///
    /// # Errors
    /// When it is gone.
    pub fn freeze(&self) -> io::Result<()> {
        self.run("kill", &["-STOP", &self.server.id().to_string()])
    }

    /// Lets the server answer again.
    ///
    /// # Errors
    /// When it is gone.
    pub fn thaw(&self) -> io::Result<()> {
        self.run("kill", &["-CONT", &self.server.id().to_string()])
    }

    /// Returns its name, as in `DISPLAY`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a window manager and waits until it manages.
    ///
    /// # Errors
    /// When openbox is missing or does not start.
    pub fn manage_windows(&mut self) -> io::Result<()> {
        let (ready, told) = io::pipe()?;
        let told = OwnedFd::from(told);
        let manager = self
            .command("openbox")
            .args(["--startup", "/bin/echo managed"])
            .stdin(Stdio::null())
            .stdout(Stdio::from(told))
            .stderr(Stdio::null())
            .spawn()?;
        self.manager = Some(manager);
        // It may say other things before.
        let managed = BufReader::new(ready).lines().map_while(Result::ok).any(|line| line == "managed");
        if managed { Ok(()) } else { Err(io::Error::other("openbox did not start")) }
    }

    /// Returns a client that draws on it.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn painter(&self) -> io::Result<Painter> {
        Painter::on(&self.name)
    }

    /// Sets the keyboard's layouts, for example "us,ru".
    ///
    /// # Errors
    /// When setxkbmap is missing or refuses.
    pub fn layout(&self, layouts: &str) -> io::Result<()> {
        self.run("setxkbmap", &["-layout", layouts, "-option", "grp:alt_shift_toggle"])
    }

    /// Splits the screen into monitors, each `(name, width, height, x, y)`; the first one is the primary one.
    ///
    /// # Errors
    /// When xrandr is missing or refuses.
    pub fn monitors(&self, monitors: &[(&str, u32, u32, i32, i32)]) -> io::Result<()> {
        for (number, (name, width, height, x, y)) in monitors.iter().enumerate() {
            let name = if number == 0 { format!("*{name}") } else { (*name).to_owned() };
            let output = if number == 0 { "screen" } else { "none" };
            let place = format!("{width}/{width}x{height}/{height}+{x}+{y}");
            self.run("xrandr", &["--setmonitor", &name, &place, output])?;
        }
        Ok(())
    }

    /// Runs a program on this display to its end.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&self, program: &str, args: &[&str]) -> io::Result<()> {
        let output = self.command(program).args(args).stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr))))
    }

    /// Does something to the windows of a class with xdotool, such as `["windowfocus", "--sync"]`, once there are any.
    ///
    /// Another window that goes away while xdotool walks through all of them ends it with an error; then it looks again.
    ///
    /// # Errors
    /// What xdotool said last, when there is no such window for half a minute.
    pub fn windows_of(&self, class: &str, act: &[&str]) -> io::Result<()> {
        let args = [&["search", "--onlyvisible", "--class", class], act].concat();
        let began = Instant::now();
        loop {
            match self.run("xdotool", &args) {
                Err(error) if began.elapsed() > WINDOWS_WITHIN => return Err(error),
                Err(_) => std::thread::sleep(LOOK_AGAIN),
                done => return done,
            }
        }
    }

    /// Returns a command that will run on this display.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.name)
            .env_remove("WAYLAND_DISPLAY")
            .env("GDK_BACKEND", "x11")
            .env("NO_AT_BRIDGE", "1")
            .env("HOME", &self.folder);
        command
    }

    /// Opens a window that records what it receives, and waits until it has the keyboard. It needs a window manager.
    ///
    /// # Errors
    /// When the recorder does not start.
    pub fn record(&self, args: &[&str]) -> io::Result<Recorder> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/recorder.py");
        let mut child = self
            .command("/usr/bin/python3")
            .arg(script)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(io::Error::other("no pipes")) };
        let mut recorder = Recorder { child, input, output: BufReader::new(output) };
        recorder.until(|event| event["event"] == "ready")?;
        Ok(recorder)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        for child in self.manager.iter_mut().chain([&mut self.server]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A window that records what it receives. See `scripts/recorder.py` for its events.
#[derive(Debug)]
pub struct Recorder {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Recorder {
    /// Returns the next event.
    ///
    /// # Errors
    /// When the window is gone.
    pub fn next_event(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the recorder has ended"));
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }

    /// Returns the events up to the first that is meant, which is the last of them.
    ///
    /// # Errors
    /// When the window is gone before.
    pub fn until(&mut self, meant: impl Fn(&Value) -> bool) -> io::Result<Vec<Value>> {
        let mut events = Vec::new();
        loop {
            events.push(self.next_event()?);
            if events.last().is_some_and(&meant) {
                return Ok(events);
            }
        }
    }

    /// Asks for something and returns the events up to its answer, which is the last of them.
    ///
    /// # Errors
    /// When the window is gone.
    pub fn ask(&mut self, request: &str) -> io::Result<Vec<Value>> {
        writeln!(self.input, "{request}")?;
        self.input.flush()?;
        let wanted = request.split_whitespace().next().unwrap_or_default().to_owned();
        self.until(|event| event["event"] == "answer" && event["to"] == wanted.as_str())
    }

    /// Returns the text that the window's field holds by now.
    ///
    /// # Errors
    /// When the window is gone.
    pub fn text(&mut self) -> io::Result<String> {
        let events = self.ask("text")?;
        Ok(events.last().and_then(|answer| answer["text"].as_str()).unwrap_or_default().to_owned())
    }

    /// Returns the process of the window.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and returns the name of its display and its process.
fn serve(screen: &str, more: &[&str]) -> io::Result<(String, Child)> {
    // What a program sets stays when it ends, also when it was the last one. The server says its number when it is ready.
    let mut server = Command::new("Xvfb")
        .args(more)
        .args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-screen", "0", screen])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut number = String::new();
    if let Some(output) = server.stdout.take() {
        BufReader::new(output).read_line(&mut number)?;
    }
    if number.trim().is_empty() {
        let _ = server.kill();
        let _ = server.wait();
        return Err(io::Error::other("Xvfb did not start"));
    }
    Ok((format!(":{}", number.trim()), server))
}

fn unique() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
