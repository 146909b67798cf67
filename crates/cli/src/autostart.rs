//! Start at login (spec 16.2): writes the entry, prints the command that a service manager wants, never runs it.

use drawbridge_os::autostart::{Around, Autostart, Fault, Kind, State, System};

use crate::args::InstallArgs;
use crate::out;

pub(crate) fn install(args: &InstallArgs) -> anyhow::Result<u8> {
    let around = Around::of_process();
    let kind = match (args.app, args.headless) {
        (true, _) => Kind::App,
        (_, true) => Kind::Headless,
        (false, false) => around.fitting(),
    };
    let way = Autostart::new(&around, kind)?;
    let text = way.render()?;
    if args.print {
        out::line(&format!("# {}\n{}", way.place(), text.trim_end()))?;
        return Ok(0);
    }
    way.set(true)?;
    out::line(&format!("wrote {}", way.place()))?;
    match kind {
        Kind::App => out::line("Drawbridge starts with its tray icon when you log in")?,
        Kind::Headless => out::line("switch it on with:")?,
    }
    for command in way.commands(true) {
        out::line(&command)?;
    }
    if kind == Kind::Headless && around.system == System::Linux {
        out::line("\nto run it also while you are not logged in: loginctl enable-linger")?;
    }
    tell_of_the_other(&around, kind);
    Ok(0)
}

/// Only one can own the state folder; whichever starts second would end at once.
fn tell_of_the_other(around: &Around, kind: Kind) {
    let other = if kind == Kind::App { Kind::Headless } else { Kind::App };
    let Ok(way) = Autostart::new(around, other) else { return };
    if way.state().is_ok_and(|state| state == State::On) {
        out::complain(&format!("{} starts Drawbridge at login too, and only one of them can run", way.place()));
    }
}

pub(crate) fn uninstall(print: bool) -> anyhow::Result<u8> {
    let around = Around::of_process();
    let (mut removed, mut left) = (false, false);
    for kind in [Kind::App, Kind::Headless] {
        // Also when the program itself is gone already: the entry is what matters.
        let way = Autostart::left_behind(&around, kind)?;
        // What stands in the way of one must not keep the other.
        let done = match way.state() {
            Ok(State::Off) => Ok(false),
            Ok(State::Foreign) => Err(Fault::Foreign(way.place()).into()),
            Ok(State::On | State::Elsewhere { .. } | State::Gone { .. } | State::Disabled) => {
                remove(&way, print).map(|()| true)
            }
            Err(fault) => Err(fault.into()),
        };
        match done {
            Ok(done) => removed |= done,
            Err(fault) => {
                out::complain(&fault.to_string());
                left = true;
            }
        }
    }
    if !removed && !left {
        out::line("Drawbridge does not start at login")?;
    }
    Ok(u8::from(left))
}

fn remove(way: &Autostart, print: bool) -> anyhow::Result<()> {
    if print {
        for command in way.commands(false) {
            out::line(&command)?;
        }
        return Ok(out::line(&format!("rm {}", way.place()))?);
    }
    way.set(false)?;
    if way.is_written() {
        return Ok(out::line(&format!("wrote {}: the entry of the whole system starts nothing for you", way.place()))?);
    }
    out::line(&format!("removed {}", way.place()))?;
    let commands = way.commands(false);
    if !commands.is_empty() {
        out::line(&format!("switch it off with:\n{}", commands.join("\n")))?;
    }
    Ok(())
}
