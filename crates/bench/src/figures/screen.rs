//! The screen over the wire, on a display of its own with real windows: pictures beside what the machine can do at best (taking
//! the pixels, copying them, writing the JPEG), clicks and typing up to the window that receives them, and memory.

mod quiet;

use std::hint::black_box;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use drawbridge_core::computer::{Button, Point, Rect};
use drawbridge_os::seat::input::{self, Input};
use drawbridge_os::seat::{Seat, screen};
use drawbridge_testkit::display::{Display, Recorder};
use jpeg_encoder::{ColorType, Encoder};
use serde_json::{Value, json};

use crate::engine::{Home, Killed, Kind, Process};
use crate::peer::{Link, Peer, request};
use crate::table::{Table, Times, Verdict, shown};

const SIZE: (u32, u32) = (1920, 1080);
/// A part of the screen as an agent looks at it again after a click.
const REGION: [i32; 4] = [600, 300, 1000, 600];
const QUALITY: u8 = 75;
const ROUNDS: usize = 40;
/// Pictures over which memory must not grow, and those before it is looked at.
const MANY: usize = 1000;
const BEFORE: usize = 50;
/// What an allocator may keep without growing any more.
const SLACK_KIB: u64 = 2048;
const CLICKS: usize = 50;
const CHARACTERS: usize = 4000;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let mut display = match Display::start(SIZE.0, SIZE.1) {
        Ok(display) => display,
        Err(fault) => {
            table.missing("pictures, clicks and typing", "-", &format!("no display can be made here: {fault}"));
            return Ok(());
        }
    };
    display.manage_windows()?;
    let _desktop = desktop(&display)?;
    let peer = Peer::open().await?;
    let home = Home::new()?;
    home.configure_more("max_screenshots_per_minute = 10000\n")?;
    let process = home.start_with(Kind::Full, &peer.url()?, |command| {
        command.args(["--enable-computer-use"]).env("DISPLAY", display.name()).env_remove("WAYLAND_DISPLAY");
    })?;
    let mut link = link_with_screen(&peer).await.with_context(|| home.log())?;
    pictures(table, &display, &mut link).await.with_context(|| home.log())?;
    memory(table, &process, &mut link).await?;
    // Quiet: nobody reads what it would say about keys while it is typed into, and a full pipe would stop it.
    let mut recorder = display.record(&["--field", "--quiet", "--size", "600,400", "--at", "200,200"])?;
    let clicks = clicks(&mut link, &mut recorder).await.with_context(|| home.log())?;
    let pace = typing(&mut link, &mut recorder).await.with_context(|| home.log())?;
    process.stop()?;
    // Last, since to the engine this would be somebody else who uses the pointer.
    let least = Least::of(&display, &mut recorder)?;
    table.add(
        "click to the window's event, p50",
        "≤ 10 ms",
        format!("{} (p99 {})", shown(clicks.p50()), shown(clicks.p99())),
        format!("pointer and button alone {}", shown(least.clicks.p50())),
        Verdict::of(clicks.p50() <= Duration::from_millis(10)),
    );
    table.add(
        "typing, characters a second",
        "≥ 200, nothing lost",
        format!("{pace:.0}, nothing lost"),
        format!("keyboard alone {:.0}", least.pace),
        Verdict::of(pace >= 200.0),
    );
    drop(recorder);
    quiet::measure(table, &display).await
}

/// Takes the link once it offers the screen: on a busy machine the first HELLO does not wait for the display, and the link is made
/// anew when it has answered.
async fn link_with_screen(peer: &Peer) -> anyhow::Result<Link> {
    let mut last = None;
    for _ in 0..3 {
        let mut link = peer.engine().await?;
        match link.ask("CURSOR_POSITION_REQUEST", &json!({}), "CURSOR_POSITION_RESPONSE").await {
            Ok(_) => return Ok(link),
            Err(fault) => last = Some(fault),
        }
    }
    Err(last.context("no link")?)
}

/// A background that is no single colour and two terminals full of text, so that there is something to write.
fn desktop(display: &Display) -> anyhow::Result<Vec<Killed>> {
    let slope = |x: u16, y: u16| [(x / 8).to_le_bytes()[0], (y / 5).to_le_bytes()[0], ((x + y) / 12).to_le_bytes()[0]];
    display.painter()?.background(slope)?;
    let mut windows = Vec::new();
    for (number, place) in ["120x40+40+40", "100x50+900+300"].iter().enumerate() {
        let (ready, told) = std::io::pipe()?;
        let fill =
            format!("i=0; while [ $i -lt 60 ]; do echo \"$i {}\"; i=$((i+1)); done; echo >&9", "text ".repeat(18));
        let child = display
            .command("sh")
            .args([
                "-c",
                "exec 9>&1; exec xterm -xrm '*waitForMap: true' -geometry \"$1\" -e sh -c \"$2; exec sleep 3600\"",
                "sh",
                place,
                &fill,
            ])
            .stdin(Stdio::null())
            .stdout(told)
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("xterm {number}"))?;
        windows.push(Killed(child));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(ready), &mut line)?;
    }
    Ok(windows)
}

async fn pictures(table: &mut Table, display: &Display, link: &mut Link) -> anyhow::Result<()> {
    let whole = json!({ "monitor": 0, "quality": QUALITY, "format": "jpeg", "include_cursor": true });
    let mut part = whole.clone();
    part["region"] = json!(REGION);
    let [x1, y1, x2, y2] = REGION;
    let (right, bottom) = (i32::try_from(SIZE.0)?, i32::try_from(SIZE.1)?);
    for (figure, budget, payload, area) in [
        ("screenshot 1920×1080 JPEG, p50", 60, &whole, Rect::new(0, 0, right, bottom)),
        ("screenshot of a region, p50", 15, &part, Rect::new(x1, y1, x2, y2)),
    ] {
        let (mut ours, mut bytes) = (Times::default(), 0);
        let mut best = Best::of(display, area)?;
        for round in 0..=ROUNDS {
            let ask = request("shot", "SCREENSHOT_REQUEST", payload);
            let started = Instant::now();
            link.send(ask).await?;
            let reply = link.reply().await?;
            let took = started.elapsed();
            ensure!(reply.contains("\"SCREENSHOT_RESPONSE\""), "{}", reply.get(..400).unwrap_or(&reply));
            bytes = reply.len();
            // The first round warms up.
            if round > 0 {
                ours.push(took);
                best.take()?;
            }
        }
        table.add(
            figure,
            format!("≤ {budget} ms"),
            format!("{} (p99 {}, frame {} KiB)", shown(ours.p50()), shown(ours.p99()), bytes / 1024),
            best.told(),
            Verdict::of(ours.p50() <= Duration::from_millis(budget)),
        );
    }
    Ok(())
}

/// What this machine can do at best, in this process.
struct Best {
    screen: Box<dyn screen::Screen>,
    area: Rect,
    grabs: Times,
    copies: Times,
    writes: Times,
}

impl Best {
    fn of(display: &Display, area: Rect) -> anyhow::Result<Self> {
        let screen = screen::open(&Seat::x11(display.name()))?;
        Ok(Self { screen, area, grabs: Times::default(), copies: Times::default(), writes: Times::default() })
    }

    fn take(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        let pixels = self.screen.grab(self.area)?;
        self.grabs.push(started.elapsed());
        let started = Instant::now();
        black_box(pixels.bgrx.clone());
        self.copies.push(started.elapsed());
        let started = Instant::now();
        let mut bytes = Vec::new();
        let (width, height) = (u16::try_from(pixels.width)?, u16::try_from(pixels.height)?);
        Encoder::new(&mut bytes, QUALITY).encode(&pixels.bgrx, width, height, ColorType::Bgra)?;
        black_box(bytes);
        self.writes.push(started.elapsed());
        Ok(())
    }

    fn told(&self) -> String {
        let [grab, copy, write] = [&self.grabs, &self.copies, &self.writes].map(|times| shown(times.p50()));
        format!("grab {grab} (a copy alone {copy}) + JPEG {write}")
    }
}

async fn memory(table: &mut Table, process: &Process, link: &mut Link) -> anyhow::Result<()> {
    let payload = json!({ "monitor": 0, "quality": QUALITY, "format": "jpeg", "include_cursor": true });
    let ask = request("many", "SCREENSHOT_REQUEST", &payload);
    let mut before = 0;
    for number in 0..BEFORE + MANY {
        if number == BEFORE {
            before = process.rss_kib()?;
        }
        link.send(ask.as_str()).await?;
        let reply = link.reply().await?;
        ensure!(reply.contains("\"SCREENSHOT_RESPONSE\""), "{}", reply.get(..400).unwrap_or(&reply));
    }
    let after = process.rss_kib()?;
    table.add(
        "memory over 1,000 screenshots",
        "flat (< 2 MiB)",
        format!("{:.1} → {:.1} MiB", before as f64 / 1024.0, after as f64 / 1024.0),
        "",
        Verdict::of(after.saturating_sub(before) < SLACK_KIB),
    );
    Ok(())
}

async fn act(link: &mut Link, payload: &Value) -> anyhow::Result<()> {
    link.send(request("act", "INPUT_ACTION", payload)).await?;
    acknowledged(link).await
}

async fn acknowledged(link: &mut Link) -> anyhow::Result<()> {
    let reply = link.reply().await?;
    ensure!(reply.contains("\"ACK\""), "{reply}");
    Ok(())
}

/// Clicks go to these places in turn. Those in one place are kept apart, so that they do not count as double ones.
const PLACES: [i32; 2] = [300, 500];

/// From the request to the line that the window writes about it.
async fn clicks(link: &mut Link, recorder: &mut Recorder) -> anyhow::Result<Times> {
    let mut times = Times::default();
    for (number, x) in PLACES.into_iter().cycle().take(CLICKS + 1).enumerate() {
        let payload = json!({ "action": "left_click", "coordinate": [x, 400] });
        let started = Instant::now();
        link.send(request("click", "INPUT_ACTION", &payload)).await?;
        // This blocks the only thread, which has sent everything and has nothing else to do.
        recorder.until(|event| event["event"] == "button" && event["x"] == x)?;
        if number > 0 {
            times.push(started.elapsed());
        }
        acknowledged(link).await?;
        recorder.ask("mark")?;
    }
    Ok(times)
}

fn text() -> String {
    "The quick brown fox, 42 times; naïve Ångström! ".chars().cycle().take(CHARACTERS).collect()
}

/// Returns how many characters a second have arrived.
async fn typing(link: &mut Link, recorder: &mut Recorder) -> anyhow::Result<f64> {
    recorder.ask("clear")?;
    act(link, &json!({ "action": "left_click", "coordinate": [400, 400] })).await?;
    let started = Instant::now();
    act(link, &json!({ "action": "type", "text": text() })).await?;
    let took = started.elapsed();
    ensure!(recorder.text()? == text(), "the text that arrived is another one");
    Ok(CHARACTERS as f64 / took.as_secs_f64())
}

/// The same acts in this process, without a wire, rules or looks at windows.
struct Least {
    clicks: Times,
    pace: f64,
}

impl Least {
    fn of(display: &Display, recorder: &mut Recorder) -> anyhow::Result<Self> {
        let input: Box<dyn Input> = input::open(&Seat::x11(display.name()))?;
        let mut clicks = Times::default();
        for (number, x) in PLACES.into_iter().cycle().take(CLICKS + 1).enumerate() {
            let started = Instant::now();
            input.move_to(Point::new(x, 400))?;
            input.button(Button::Left, true)?;
            recorder.until(|event| event["event"] == "button" && event["x"] == x)?;
            // The first one starts the watchdog.
            if number > 0 {
                clicks.push(started.elapsed());
            }
            input.button(Button::Left, false)?;
            recorder.ask("mark")?;
        }
        recorder.ask("clear")?;
        let started = Instant::now();
        input.type_text(&text(), &mut |_| true).map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
        let took = started.elapsed();
        ensure!(recorder.text()? == text(), "the text that arrived is another one");
        Ok(Self { clicks, pace: CHARACTERS as f64 / took.as_secs_f64() })
    }
}
