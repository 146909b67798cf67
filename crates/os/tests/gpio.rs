//! GPIO chips of this machine, whatever it has; chips that somebody moves by hand; and the kernel's own simulated ones, where the
//! kernel has them and this user may make them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use drawbridge_core::DeviceFault::{Absent, Busy, Denied, Unplugged, Unsupported};
use drawbridge_core::hardware::{Bias, DeviceId, DevicePlace, Edge, LineEvent};
use drawbridge_os::hardware::Stop;
use drawbridge_os::hardware::gpio::recorded::Recorded;
use drawbridge_os::hardware::gpio::{self, GpioChip, GpioChips as _};

fn chip(name: &str, label: &str, parent: &str) -> GpioChip {
    GpioChip {
        name: name.to_owned(),
        label: Some(label.to_owned()).filter(|label| !label.is_empty()),
        parent: parent.to_owned(),
        lines: 8,
        names: Vec::new(),
        denied: None,
    }
}

fn named(chips: &[GpioChip]) -> Vec<String> {
    let board = Recorded::default();
    for chip in chips {
        board.add(chip.clone());
    }
    board.list().into_iter().map(|one| one.id.to_string()).collect()
}

#[test]
fn this_machine_is_looked_at_without_a_fault() {
    let system = gpio::of_system();

    let found = system.found();

    println!("this machine has {} GPIO chips", found.len());
    assert_eq!(system.list().len(), found.len());
    let gone = DeviceId::parse("gpio-nothing-of-the-kind").unwrap();
    assert_eq!(system.find(&gone).unwrap_err().fault, Absent);
}

#[test]
fn chips_are_named_by_what_they_are_and_not_by_their_turn() {
    let main = chip("gpiochip0", "pinctrl-bcm2711", "fe200000.gpio");
    let second = chip("gpiochip1", "pcf8574", "1-0020");
    let third = chip("gpiochip2", "pcf8574", "1-0021");
    assert_eq!(
        named(&[main.clone(), second.clone(), third.clone()]),
        ["gpio-fe200000.gpio", "gpio-1-0020", "gpio-1-0021"]
    );

    // After a restart they come in another order.
    let turned =
        [GpioChip { name: "gpiochip0".to_owned(), ..third }, GpioChip { name: "gpiochip2".to_owned(), ..second }];
    assert_eq!(named(&turned), ["gpio-1-0021", "gpio-1-0020"]);

    // Whoever may open it at last finds it under its old name.
    let denied = GpioChip { label: None, lines: 0, denied: Some("no".to_owned()), ..main };
    assert_eq!(named(&[denied]), ["gpio-fe200000.gpio"]);

    // Banks of one chip differ in nothing but their turn.
    let banks = [chip("gpiochip3", "bank", "gpio-sim.0"), chip("gpiochip4", "bank", "gpio-sim.0")];
    assert_eq!(named(&banks), ["gpio-gpio-sim.0-gpiochip3", "gpio-gpio-sim.0-gpiochip4"]);
}

#[test]
fn a_chip_that_this_user_may_not_open_is_seen_and_says_what_gives_it() {
    let board = Recorded::default();
    let denied = Some("this user may not open /dev/gpiochip0: it belongs to the group gpio.".to_owned());
    board.add(GpioChip { lines: 0, denied: denied.clone(), ..chip("gpiochip0", "", "fe200000.gpio") });

    let listed = board.list();

    assert_eq!((listed[0].id.as_str(), &listed[0].denied), ("gpio-fe200000.gpio", &denied));
    assert_eq!(listed[0].place, DevicePlace::Gpio { chip: "gpiochip0".to_owned(), lines: 0, names: Vec::new() });
    assert_eq!(board.find(&listed[0].id).unwrap_err().fault, Denied);
}

#[test]
fn a_line_belongs_to_one_and_is_free_again_afterwards() {
    let board = Recorded::default();
    let here = chip("gpiochip0", "bank", "x");
    board.add(here.clone());
    board.use_elsewhere("gpiochip0", 3, "spi0 CS0");

    let mut driven = board.drive(&here, 1, true).unwrap();
    assert_eq!((board.driven("gpiochip0", 1), driven.level()), (Some(true), Ok(true)));
    assert_eq!(board.read(&here, 1, Bias::AsIs).unwrap_err().fault, Busy);
    driven.set(false).unwrap();
    assert_eq!(board.driven("gpiochip0", 1), Some(false));
    drop(driven);
    assert_eq!((board.driven("gpiochip0", 1), board.read(&here, 1, Bias::PullUp)), (None, Ok(false)));

    let busy = board.drive(&here, 3, true).map(drop).unwrap_err();
    assert_eq!(busy.fault, Busy);
    assert!(busy.message.contains("\"spi0 CS0\""), "{}", busy.message);
    let missing = board.read(&here, 8, Bias::AsIs).unwrap_err();
    assert_eq!(missing.fault, Unsupported);
    assert!(missing.message.contains("0 to 7"), "{}", missing.message);
}

#[test]
fn a_watch_tells_the_changes_that_count_and_ends_when_the_chip_goes() {
    let board = Recorded::default();
    let here = chip("gpiochip0", "bank", "x");
    board.add(here.clone());
    let stop = Stop::new().unwrap();
    let mut watch = board.watch(&here, 2, Bias::PullDown, Edge::Rising).unwrap();

    for (high, at) in [(true, 1), (false, 2), (true, 3)] {
        board.set("gpiochip0", 2, high, Duration::from_millis(at));
    }

    let risen = |at| Ok(Some(LineEvent { rising: true, at: Duration::from_millis(at) }));
    assert_eq!(watch.next(Duration::from_secs(10), &stop), risen(1));
    assert_eq!(watch.next(Duration::from_secs(10), &stop), risen(3));
    assert_eq!(watch.next(Duration::ZERO, &stop), Ok(None));
    board.remove("gpiochip0");
    assert_eq!(watch.next(Duration::from_secs(10), &stop).unwrap_err().fault, Unplugged);
}

#[cfg(target_os = "linux")]
mod simulated {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    const HERE: &str = "/sys/kernel/config/gpio-sim";

    /// A chip of 4 lines that the kernel simulates. Taken away with it.
    struct Simulated {
        config: PathBuf,
        lines: PathBuf,
        chip: GpioChip,
    }

    impl Simulated {
        fn make(label: &str) -> Result<Self, String> {
            let config = Path::new(HERE).join(format!("drawbridge-{}-{label}", std::process::id()));
            let bank = config.join("bank");
            let wrote =
                |path: PathBuf, text: &str| fs::write(&path, text).map_err(|fault| format!("{path:?}: {fault}"));
            fs::create_dir(&config).map_err(|fault| format!("{}: {fault}", config.display()))?;
            let made = fs::create_dir(&bank)
                .map_err(|fault| fault.to_string())
                .and_then(|()| wrote(bank.join("num_lines"), "4"))
                .and_then(|()| wrote(bank.join("label"), label))
                .and_then(|()| fs::create_dir(bank.join("line2")).map_err(|fault| fault.to_string()))
                .and_then(|()| wrote(bank.join("line2/name"), "DOOR"))
                .and_then(|()| wrote(config.join("live"), "1"));
            if let Err(fault) = made {
                let _ = fs::remove_dir(bank.join("line2"));
                let _ = fs::remove_dir(&bank);
                let _ = fs::remove_dir(&config);
                return Err(fault);
            }
            let told = |path: PathBuf| fs::read_to_string(path).unwrap().trim().to_owned();
            let (device, name) = (told(config.join("dev_name")), told(bank.join("chip_name")));
            let lines = Path::new("/sys/devices/platform").join(device).join(&name);
            let found = gpio::of_system().found();
            let chip =
                found.iter().find(|chip| chip.name == name).unwrap_or_else(|| panic!("no {name} in {found:?}")).clone();
            Ok(Self { config, lines, chip })
        }

        fn pull(&self, line: u32, how: &str) {
            fs::write(self.lines.join(format!("sim_gpio{line}/pull")), how).unwrap();
        }

        fn value(&self, line: u32) -> String {
            fs::read_to_string(self.lines.join(format!("sim_gpio{line}/value"))).unwrap().trim().to_owned()
        }

        fn unplug(&self) {
            fs::write(self.config.join("live"), "0").unwrap();
        }
    }

    impl Drop for Simulated {
        fn drop(&mut self) {
            let _ = fs::write(self.config.join("live"), "0");
            let _ = fs::remove_dir(self.config.join("bank/line2"));
            let _ = fs::remove_dir(self.config.join("bank"));
            let _ = fs::remove_dir(&self.config);
        }
    }

    #[test]
    fn the_kernels_own_chip_is_read_driven_and_watched() {
        let sim = match Simulated::make("drawbridge-sim") {
            Ok(sim) => sim,
            Err(why) => {
                println!("SKIPPED GPIO through the kernel: no chip can be simulated here ({why})");
                return;
            }
        };
        let (system, chip) = (gpio::of_system(), sim.chip.clone());
        assert_eq!((chip.label.as_deref(), chip.lines, &chip.denied), (Some("drawbridge-sim"), 4, &None));
        assert!(system.list().iter().any(|one| one.description == "drawbridge-sim"));
        assert_eq!(chip.names, [(2, "DOOR".to_owned())]);

        sim.pull(0, "pull-up");
        assert_eq!(system.read(&chip, 0, Bias::AsIs), Ok(true));
        assert_eq!(system.read(&chip, 0, Bias::PullDown), Ok(false));
        assert_eq!(system.read(&chip, 4, Bias::AsIs).unwrap_err().fault, Unsupported);

        let mut driven = system.drive(&chip, 1, true).unwrap();
        assert_eq!((sim.value(1).as_str(), driven.level()), ("1", Ok(true)));
        let busy = system.drive(&chip, 1, false).map(drop).unwrap_err();
        assert_eq!(busy.fault, Busy);
        assert!(busy.message.contains("\"drawbridge\""), "{}", busy.message);
        driven.set(false).unwrap();
        assert_eq!(sim.value(1), "0");
        drop(driven);
        drop(system.drive(&chip, 1, false).unwrap());

        sim.pull(2, "pull-down");
        let stop = Stop::new().unwrap();
        let mut watch = system.watch(&chip, 2, Bias::AsIs, Edge::Both).unwrap();
        // One after the other: the kernel reads the level when it comes to the event.
        let mut moved = |how| {
            sim.pull(2, how);
            watch.next(Duration::from_secs(10), &stop).unwrap().unwrap()
        };
        let (first, second) = (moved("pull-up"), moved("pull-down"));
        assert!(first.rising && !second.rising && first.at <= second.at, "{first:?} {second:?}");
        assert!(second.at < Duration::from_secs(60), "{second:?}");
        assert_eq!(watch.next(Duration::ZERO, &stop), Ok(None));

        let waiting = std::thread::scope(|threads| {
            let ended = threads.spawn(|| watch.next(Duration::from_secs(600), &stop));
            stop.say();
            ended.join().unwrap()
        });
        assert_eq!(waiting, Ok(None));
    }

    #[test]
    fn a_chip_that_goes_while_it_is_watched_is_unplugged() {
        let sim = match Simulated::make("drawbridge-gone") {
            Ok(sim) => sim,
            Err(why) => {
                println!("SKIPPED a GPIO chip that goes: no chip can be simulated here ({why})");
                return;
            }
        };
        let stop = Stop::new().unwrap();
        let mut watch = gpio::of_system().watch(&sim.chip, 0, Bias::AsIs, Edge::Both).unwrap();

        sim.unplug();

        assert_eq!(watch.next(Duration::from_secs(10), &stop).unwrap_err().fault, Unplugged);
        assert_eq!(gpio::of_system().read(&sim.chip, 0, Bias::AsIs).unwrap_err().fault, Unplugged);
    }
}
