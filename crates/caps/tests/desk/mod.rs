//! A holder with devices, and permits for all of them.

use std::sync::Arc;

use drawbridge_caps::hardware::{Hardware, System};
use drawbridge_caps::{Capability as _, RunCtx};
use drawbridge_core::hardware::{DeviceId, HardwareAct, HardwareOp};
use drawbridge_core::{DeviceFault, Limits, LinkId, OpError, Operation, Outcome, Power, PowerMode, SystemClock};
use drawbridge_os::hardware::{gpio, serial, usb};
use drawbridge_policy::{PolicyState, SharedDevice, Verdict, authorize};
use tokio_util::sync::CancellationToken;

/// A holder.
pub(crate) struct Desk {
    pub(crate) hardware: Hardware,
    pub(crate) cancel: CancellationToken,
    holder: LinkId,
}

impl Desk {
    pub(crate) fn with(system: System) -> Self {
        let hardware = Hardware::with(Arc::new(SystemClock), system);
        Self { hardware, cancel: CancellationToken::new(), holder: LinkId::new(1) }
    }

    #[allow(dead_code, reason = "each test file has devices of one kind")]
    pub(crate) fn with_usb(bus: usb::recorded::Recorded) -> Self {
        Self::with(System { serial: serial::of_system(), usb: Arc::new(bus), gpio: gpio::of_system() })
    }

    #[allow(dead_code, reason = "each test file has devices of one kind")]
    pub(crate) fn with_gpio(board: gpio::recorded::Recorded) -> Self {
        Self::with(System { serial: serial::of_system(), usb: usb::of_system(), gpio: Arc::new(board) })
    }

    /// The same devices for another holder.
    pub(crate) fn of_another_holder(&self) -> Self {
        Self { hardware: self.hardware.clone(), cancel: CancellationToken::new(), holder: LinkId::new(2) }
    }

    pub(crate) async fn run(&self, device: &DeviceId, act: HardwareAct) -> Result<Outcome, OpError> {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::Hardware, PowerMode::Allowed);
        state.devices.insert(device.clone(), SharedDevice { label: "it".to_owned(), at_ms: 0 });
        let operation = Operation::Hardware(HardwareOp { device: device.clone(), act, hold: None });
        let Verdict::Allowed(permit) = authorize(&state, operation, None) else { panic!("it is not permitted") };
        let ctx = RunCtx {
            root: None,
            limits: Limits::default(),
            cancel: self.cancel.clone(),
            shown: None,
            holder: self.holder,
            pieces: None,
            computer: None,
        };
        self.hardware.run(permit, ctx).await
    }
}

/// What kind of thing went wrong with the device.
pub(crate) fn fault(result: Result<Outcome, OpError>) -> DeviceFault {
    match result.map(drop) {
        Err(OpError::Device { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}
