//! Devices: the list, what is shared, and finding one by what a person calls it. Using one is in [`crate::serial`], [`crate::usb`] and
//! [`crate::gpio`]; it always goes through the running engine.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use drawbridge_core::hardware::DeviceKind;
use drawbridge_core::{Power, escape_outside_text};
use drawbridge_engine::control::{Client, ControlError};
use drawbridge_engine::device_act::{DeviceAct, DeviceResult};
use drawbridge_engine::view::DeviceView;
use drawbridge_engine::{Command, Reply, device_rows, devices_here};
use drawbridge_policy::PolicyState;
use drawbridge_store::config::{DeviceMatch, FlagOverrides};
use drawbridge_store::settings::Settings;

use crate::args::{DevicesVerb, Named};
use crate::coded::{NO_ENGINE, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{accounts, configuration, out, signals, stopped};

/// A person may have to answer a question before an act begins.
const QUESTION: Duration = Duration::from_secs(75);
/// A connection that was not used for so long is made anew: the engine lets go of one after half a minute.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// How often whoever holds a device looks whether it was taken away.
const HELD_LOOK: Duration = Duration::from_millis(500);

pub(crate) async fn run(verb: Option<DevicesVerb>, json: bool) -> anyhow::Result<u8> {
    match verb {
        None => list(json).await,
        Some(DevicesVerb::Share { device }) => share(&device).await,
        Some(DevicesVerb::Unshare { device }) => unshare(&device).await,
        Some(DevicesVerb::AddPort { path }) => add_port(&path).await,
        Some(DevicesVerb::RemovePort { path }) => remove_port(path).await,
    }
}

async fn list(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let rows = match place.engine().await? {
        Some(mut client) => rows(&mut client, true).await?,
        None => {
            let (name, configured) = (accounts::kept_for(&place).1, configured(&place)?);
            rows_here(&Settings::peek_of(&place.folders.state, &name), &configured).await?
        }
    };
    for row in &rows {
        out::line(&if json { serde_json::to_string(row)? } else { in_words(row) })?;
    }
    if rows.is_empty() && !json {
        out::complain("no serial port, USB device or GPIO chip was found");
    }
    Ok(0)
}

async fn share(device: &str) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            let row = find(&mut client, device).await?;
            is_here(&row)?;
            client.send(&Command::ShareDevice { id: row.id, shared: true }).await.map_err(in_window)?;
        }
        Reach::Stopped(owner) => {
            let configured = configured(&place)?;
            let (_, state) = stopped::settings(&place);
            let rows = rows_here(&state, &configured).await?;
            let row = one_of(&rows, device)?.clone();
            is_here(&row)?;
            stopped::share_device(&place, &owner, &row)?;
        }
    }
    Ok(0)
}

async fn unshare(device: &str) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            let id = find(&mut client, device).await?.id;
            client.send(&Command::ShareDevice { id, shared: false }).await?;
        }
        Reach::Stopped(owner) => {
            let (_, state) = stopped::settings(&place);
            let rows = rows_here(&state, &[]).await?;
            let row = one_of(&rows, device)?.clone();
            stopped::unshare_device(&place, &owner, &row)?;
        }
    }
    Ok(0)
}

async fn add_port(path: &str) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            client.send(&Command::AddPort { path: path.to_owned() }).await.map_err(in_window)?;
        }
        Reach::Stopped(owner) => stopped::add_port(&place, &owner, path)?,
    }
    Ok(0)
}

async fn remove_port(path: String) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::RemovePort { path }).await?),
        Reach::Stopped(owner) => stopped::remove_port(&place, &owner, &path)?,
    }
    Ok(0)
}

/// Says what to do where the running engine leaves something to its window.
fn in_window(error: ControlError) -> anyhow::Error {
    let for_the_window = matches!(&error, ControlError::Refused(fault) if fault.code == "window_only");
    if for_the_window {
        return anyhow!(
            "Drawbridge is running, so this is done in its window. Where there is none, end it, or name the device in config.toml (share under [hardware]) and start it again"
        );
    }
    error.into()
}

/// The engine behind the socket, and the device that a person means.
pub(crate) struct Desk {
    client: Client,
    device: DeviceView,
    used: Instant,
}

impl Desk {
    /// Finds a device of a kind.
    ///
    /// # Errors
    /// When no engine runs (exit code 3), when there is no such device, or several are meant.
    pub(crate) async fn at(named: &Named, kind: DeviceKind) -> anyhow::Result<Self> {
        let mut client = connected().await?;
        let device = find(&mut client, &named.device).await?;
        is_here(&device)?;
        if device.kind != kind.name() {
            bail!(
                "{} is no {} device but a {} one",
                shown(&named.device),
                kind.name(),
                escape_outside_text(&device.kind)
            );
        }
        Ok(Self { client, device, used: Instant::now() })
    }

    /// Returns what is known of it.
    pub(crate) const fn device(&self) -> &DeviceView {
        &self.device
    }

    /// Uses it. `within` is how long the act itself may take.
    ///
    /// # Errors
    /// Why it was refused or failed.
    pub(crate) async fn act(&mut self, act: DeviceAct, within: Duration) -> anyhow::Result<DeviceResult> {
        if self.used.elapsed() > FORGOTTEN {
            self.client = connected().await?;
        }
        let command = Command::UseDevice { device: self.device.id.clone(), act, hold: None };
        let Reply::Device { result } = self.client.send_within(&command, within + QUESTION).await? else {
            return Err(odd_answer());
        };
        self.used = Instant::now();
        Ok(result)
    }
}

impl Desk {
    /// Uses it and holds what was opened until this program ends, by Ctrl-C or otherwise; `undo` then closes it. The engine does so
    /// itself when this program is killed.
    ///
    /// # Errors
    /// Why it was refused or failed, or that the engine ended first.
    pub(crate) async fn hold(mut self, act: DeviceAct, undo: DeviceAct, within: Duration) -> anyhow::Result<u8> {
        // From here on, so that a Ctrl-C that comes early closes in order as well.
        let ended = signals::ended()?;
        tokio::pin!(ended);
        let command = Command::UseDevice { device: self.device.id.clone(), act, hold: None };
        tokio::select! {
            held = self.client.hold_within(&command, within + QUESTION) => drop(held?),
            // Hanging up ends the act.
            () = &mut ended => return Ok(0),
        }
        out::complain("this is held until you end it with Ctrl-C");
        loop {
            tokio::select! {
                () = &mut ended => break,
                () = self.client.gone() => bail!("Drawbridge has ended, so nothing is held any more"),
                () = tokio::time::sleep(HELD_LOOK) => {}
            }
            if let Some(why) = self.lost().await? {
                bail!("{why}, so nothing is held any more");
            }
        }
        let undo = Command::UseDevice { device: self.device.id.clone(), act: undo, hold: None };
        match self.client.hold_within(&undo, within).await {
            Ok(_) => Ok(0),
            // Unplugged, or closed by somebody else: what was opened there since then is theirs.
            Err(ControlError::Refused(why)) if why.code == "device_not_open" || why.code == "device_busy" => {
                out::complain("it had been closed already");
                Ok(0)
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Says what took away what is held, if something did.
    async fn lost(&mut self) -> anyhow::Result<Option<&'static str>> {
        let now = self.client.snapshot().await?;
        let device = now.devices.devices.iter().find(|device| device.id == self.device.id);
        let is_off = now.powers.iter().any(|power| power.power == Power::Hardware.name() && power.mode == "off");
        Ok(match device {
            _ if now.raised => Some("the bridge was raised"),
            _ if is_off => Some("the power over devices was switched off"),
            Some(device) if device.present && device.shared => None,
            Some(device) if device.present => Some("the device is shared no longer"),
            Some(_) | None => Some("the device was unplugged"),
        })
    }
}

async fn connected() -> anyhow::Result<Client> {
    Place::from_env()?.engine().await?.ok_or_else(|| {
        let why = anyhow!("Drawbridge is not running, so nothing was done; start it with --enable-hardware first");
        coded(NO_ENGINE, why)
    })
}

/// Finds a device, with another look when it is not there: it may have been plugged in this moment.
async fn find(client: &mut Client, named: &str) -> anyhow::Result<DeviceView> {
    let known = rows(client, false).await?;
    if let Some(row) = one_of(&known, named).ok().filter(|row| row.present) {
        return Ok(row.clone());
    }
    one_of(&rows(client, true).await?, named).cloned()
}

/// Refuses an entry of the configuration that nothing here matches: there is nothing to use or to share.
fn is_here(row: &DeviceView) -> anyhow::Result<()> {
    match &row.entry {
        Some(entry) if !row.present && *entry == row.id => {
            bail!("{entry} is shared by the configuration, and no such device is here now; plug it in and try again")
        }
        Some(_) | None => Ok(()),
    }
}

async fn rows(client: &mut Client, look: bool) -> anyhow::Result<Vec<DeviceView>> {
    if look {
        client.send(&Command::LookAtDevices).await?;
    }
    Ok(client.snapshot().await?.devices.devices)
}

/// The list while no engine runs.
async fn rows_here(state: &PolicyState, configured: &[DeviceMatch]) -> anyhow::Result<Vec<DeviceView>> {
    let mut state = state.clone();
    state.added_ports.extend(configured.iter().filter_map(DeviceMatch::port).map(str::to_owned));
    let configured = configured.to_vec();
    let look = move || {
        let found = devices_here(&state.added_ports);
        device_rows(&found, &state, &configured)
    };
    Ok(tokio::task::spawn_blocking(look).await?)
}

fn configured(place: &Place) -> anyhow::Result<Vec<DeviceMatch>> {
    Ok(configuration::load(place, FlagOverrides::default())?.config.hardware.share)
}

/// Finds what a person means: a whole name, a port or chip, the ids of a USB device, as the list shows them or as config.toml has them,
/// or the beginning of one name alone.
fn one_of<'a>(rows: &'a [DeviceView], named: &str) -> anyhow::Result<&'a DeviceView> {
    // The list has paths and names as they are safe to show.
    let safe = escape_outside_text(named);
    let called = |text: &str| text == named || text == safe;
    let is_it = |row: &&DeviceView| row.id == named || called(&row.place) || row.added.as_deref().is_some_and(called);
    if let Some(row) = rows.iter().find(is_it) {
        return Ok(row);
    }
    let begins = |row: &&DeviceView| !named.is_empty() && (row.id.starts_with(named) || is_told_by(row, named));
    let begins: Vec<&DeviceView> = rows.iter().filter(begins).collect();
    match begins.as_slice() {
        [row] => Ok(row),
        [] => bail!("there is no device {}; `drawbridge devices` lists them", shown(named)),
        several => {
            let ids: Vec<&str> = several.iter().map(|row| row.id.as_str()).collect();
            bail!("{} can mean several devices: {}", shown(named), ids.join(", "))
        }
    }
}

/// Tells whether this means a device as config.toml names it, or by the ids of a USB device alone, which several may have.
fn is_told_by(row: &DeviceView, named: &str) -> bool {
    let place = row.place.split_once(", bus").map_or(row.place.as_str(), |(ids, _)| ids);
    named.strip_prefix(row.kind.as_str()).and_then(|rest| rest.strip_prefix(':')).unwrap_or(named) == place
}

fn in_words(row: &DeviceView) -> String {
    let shared = match (row.shared, row.from_config) {
        // Also what was not there yet: it is shared as soon as it comes.
        (_, true) if row.present => "shared by the configuration",
        (_, true) => "shared",
        (true, false) => "shared",
        (false, _) => "not shared",
    };
    let away = if row.present { "" } else { ", not here now" };
    let held = row.held_by.as_ref().map(|by| {
        let how = row.how.as_deref().unwrap_or_default();
        format!(", open by {} ({})", escape_outside_text(by), escape_outside_text(how))
    });
    // One that is away is told by the path under which it was added.
    let place = if row.place.is_empty() { row.added.as_ref().unwrap_or(&row.place) } else { &row.place };
    let words = [place, &row.description].map(|text| escape_outside_text(text));
    let words: Vec<String> = words.into_iter().filter(|text| !text.is_empty()).collect();
    let head = format!("{}  {shared}{away}{}", escape_outside_text(&row.id), held.unwrap_or_default());
    let by_entry =
        row.entry.as_ref().filter(|entry| !row.present && **entry != row.id && Some(*entry) != row.added.as_ref());
    let head = [head].into_iter().chain(words).collect::<Vec<_>>().join("  ");
    let lines: Vec<String> =
        row.lines.iter().map(|line| format!("{} {}", line.number, escape_outside_text(&line.name))).collect();
    let more = [
        row.denied.as_deref().map(escape_outside_text),
        by_entry.map(|entry| format!("by {} in config.toml", escape_outside_text(entry))),
        (!lines.is_empty()).then(|| format!("lines with names: {}", lines.join(", "))),
    ];
    more.into_iter().flatten().fold(head, |told, more| format!("{told}\n    {more}"))
}

/// Reads a file that goes out to a device, up to a bound.
///
/// # Errors
/// When it cannot be read or holds more.
pub(crate) fn whole_file(path: &Path, most: usize) -> anyhow::Result<Vec<u8>> {
    use anyhow::Context as _;
    use std::io::Read as _;
    let cannot = || format!("{} cannot be read", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).with_context(cannot)?;
    file.take(most as u64 + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() > most {
        bail!("{} has more than {most} bytes, which is the most for one transfer", path.display());
    }
    Ok(bytes)
}

/// Seconds as whole milliseconds, for acts.
pub(crate) fn ms(seconds: f64) -> u32 {
    let ms = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_millis();
    u32::try_from(ms).unwrap_or(u32::MAX)
}

fn shown(named: &str) -> String {
    escape_outside_text(named)
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::LineNameView;

    use super::*;

    fn row(id: &str, place: &str) -> DeviceView {
        DeviceView { id: id.to_owned(), place: place.to_owned(), present: true, ..DeviceView::default() }
    }

    #[test]
    fn a_device_is_meant_by_its_name_its_place_or_a_beginning_of_its_own() {
        let rows =
            [row("serial-1a2b", "/dev/ttyUSB0"), row("serial-1c3d", "/dev/ttyUSB1"), row("serial-1", "/dev/ttyS0")];
        let meant = |named: &str| one_of(&rows, named).map(|row| row.place.clone()).map_err(|fault| fault.to_string());

        assert_eq!(meant("serial-1c3d").unwrap(), "/dev/ttyUSB1");
        assert_eq!(meant("/dev/ttyUSB0").unwrap(), "/dev/ttyUSB0");
        assert_eq!(meant("serial-1a").unwrap(), "/dev/ttyUSB0");
        assert_eq!(meant("serial-1").unwrap(), "/dev/ttyS0", "a whole name comes before beginnings");
        assert!(meant("serial-").unwrap_err().contains("serial-1a2b, serial-1c3d"));
        assert!(meant("usb-").unwrap_err().contains("there is no device usb-"));
        assert!(meant("").is_err());
        let odd = [row("serial-5", &escape_outside_text("/dev/tty\u{202e}x"))];
        assert!(one_of(&odd, "/dev/tty\u{202e}x").is_ok(), "as it is on the disk");
        let usb =
            |id: &str, bus: u8| DeviceView { kind: "usb".to_owned(), ..row(id, &format!("2341:0043, bus {bus}")) };
        let rows =
            [usb("usb-1", 1), DeviceView { kind: "gpio".to_owned(), ..row("gpio-2", "gpiochip0") }, usb("usb-3", 2)];
        let meant = |rows: &[DeviceView], named: &str| {
            one_of(rows, named).map(|row| row.id.clone()).map_err(|fault| fault.to_string())
        };
        for (named, id) in [("2341:0043", "usb-1"), ("usb:2341:0043", "usb-1"), ("gpio:gpiochip0", "gpio-2")] {
            assert_eq!(meant(&rows[..2], named).unwrap(), id);
        }
        assert!(meant(&rows, "2341:0043").unwrap_err().contains("usb-1, usb-3"));
    }

    #[test]
    fn the_list_says_what_is_shared_there_and_open() {
        let shared = DeviceView {
            shared: true,
            held_by: Some("cli".to_owned()),
            how: Some("9600 8N1".to_owned()),
            description: "Board".to_owned(),
            ..row("serial-1", "/dev/ttyUSB0")
        };
        assert_eq!(in_words(&shared), "serial-1  shared, open by cli (9600 8N1)  /dev/ttyUSB0  Board");
        let denied = DeviceView { denied: Some("join the group dialout".to_owned()), ..row("serial-2", "/dev/ttyS0") };
        assert_eq!(in_words(&denied), "serial-2  not shared  /dev/ttyS0\n    join the group dialout");
        let away = DeviceView { present: false, shared: true, from_config: true, ..row("usb-1", "") };
        assert_eq!(in_words(&away), "usb-1  shared, not here now");
        let never_seen = DeviceView {
            id: "usb:2341:0043".to_owned(),
            entry: Some("usb:2341:0043".to_owned()),
            shared: false,
            ..away
        };
        assert_eq!(in_words(&never_seen), "usb:2341:0043  shared, not here now");
        assert!(is_here(&never_seen).unwrap_err().to_string().contains("no such device is here now"));
        let was_here = DeviceView { id: "usb-1".to_owned(), description: "Board".to_owned(), ..never_seen };
        assert_eq!(in_words(&was_here), "usb-1  shared, not here now  Board\n    by usb:2341:0043 in config.toml");
        is_here(&was_here).unwrap();
        let away = DeviceView { present: false, added: Some("/dev/ttyS9".to_owned()), ..row("serial-3", "") };
        assert_eq!(in_words(&away), "serial-3  not shared, not here now  /dev/ttyS9");
        let name = |number, name: &str| LineNameView { number, name: name.to_owned() };
        let chip = DeviceView { lines: vec![name(4, "RELAY"), name(17, "DOOR")], ..row("gpio-1", "gpiochip0") };
        assert_eq!(in_words(&chip), "gpio-1  not shared  gpiochip0\n    lines with names: 4 RELAY, 17 DOOR");
    }
}
