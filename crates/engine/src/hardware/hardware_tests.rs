//! Which links have to say HELLO again.

use drawbridge_caps::hardware::System;
use drawbridge_core::PowerMode;
use drawbridge_os::hardware::usb::recorded::ftdi;
use drawbridge_os::hardware::{gpio, serial, usb};
use futures_util::FutureExt as _;

use super::*;

fn devices(bus: &usb::recorded::Recorded) -> Arc<Devices> {
    let mut state = PolicyState::defaults();
    state.modes.insert(Power::Hardware, PowerMode::Allowed);
    let policy = Arc::new(PolicyCell::new(state.clone(), state, Box::new(|_| Ok(()))));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let gpio = Arc::new(gpio::recorded::Recorded::default());
    let system = System { serial: serial::of_system(), usb: Arc::new(bus.clone()), gpio };
    let shared = vec![DeviceMatch::Usb { vendor: 0x0403, product: 0x6001 }];
    Devices::new(Hardware::with(clock.clone(), system), policy, Arc::new(Board::new()), clock, shared)
}

fn is_told(devices: &Devices) -> bool {
    devices.changed().now_or_never().is_some()
}

#[tokio::test]
async fn a_link_that_said_less_says_hello_again_also_when_another_one_said_it_right_meanwhile() {
    let bus = usb::recorded::Recorded::default();
    let devices = devices(&bus);
    assert!(devices.look().await);
    assert_eq!(devices.offer(None), [], "the first link");
    assert!(!is_told(&devices));

    bus.plug(ftdi(), |_, _, _| unreachable!());
    assert!(devices.look().await);
    assert!(is_told(&devices));
    assert_eq!(devices.offer(None).len(), 1, "it says it again");
    bus.unplug(0x0403, 0x6001);
    let gone = devices.hardware.look(&[]);
    devices.found().devices = gone;
    assert_eq!(devices.offer(None), [], "another link comes right before it is told");
    devices.tell();

    assert!(is_told(&devices), "the first link still says that the device is there");
    devices.tell();
    assert!(!is_told(&devices), "nobody has said anything since");
}
