//! What a link holds of the devices is closed when it ends, whatever ended it. Ports are pairs of pseudo-terminals.
//!
//! The platform's protocol has no message for devices: the test holds ports in the name of a link, as an adapter of another protocol does.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::sync::Arc;

use drawbridge_caps::hardware::{Hardware, System};
use drawbridge_caps::{Capability as _, RunCtx};
use drawbridge_core::hardware::{DeviceId, HardwareAct, HardwareOp, SerialAct, SerialRead, SerialSettings};
use drawbridge_core::{Limits, LinkId, OpError, Operation, Outcome, Power, PowerMode};
use drawbridge_engine::Command;
use drawbridge_engine::view::LinkState;
use drawbridge_os::hardware::{gpio, id, serial, usb};
use drawbridge_policy::{PolicyState, SharedDevice, Verdict, authorize};
use drawbridge_practice::Scope;
use drawbridge_store::config::DeviceMatch;
use drawbridge_testkit::pair::PtyPair;
use rig::{Rig, Wish};
use tokio_util::sync::CancellationToken;

struct Desk {
    rig: Rig,
    hardware: Hardware,
    ports: [(PtyPair, DeviceId); 2],
    chat: String,
}

impl Desk {
    /// One port is held by the control link, one by a chat.
    async fn new() -> Self {
        let system = System {
            serial: serial::of_system(),
            usb: Arc::new(usb::recorded::Recorded::default()),
            gpio: Arc::new(gpio::recorded::Recorded::default()),
        };
        let hardware = Hardware::from(system);
        let ports = [(); 2].map(|()| PtyPair::start().unwrap());
        let paths = [0, 1].map(|at: usize| ports[at].port().to_str().unwrap().to_owned());
        let mut wish = Wish::headless().with(Power::Hardware, PowerMode::Allowed);
        wish.devices = paths.iter().cloned().map(DeviceMatch::Port).collect();
        wish.hardware = Some(hardware.clone());
        let rig = Rig::start(wish).await;
        rig.until(|now| now.devices.devices.iter().filter(|row| row.present && row.shared).count() == 2).await;
        // Links say HELLO again with both; the chat comes after that, so that its first connection is its only one.
        let told = || {
            let state = rig.script.state(0, 0);
            state["links"]
                .as_array()
                .unwrap()
                .iter()
                .any(|link| link["hello"]["hardware_devices"].as_array().is_some_and(|devices| devices.len() == 2))
        };
        rig.until(|_| told()).await;
        rig.until(|now| now.link.state == LinkState::Connected).await;
        let (chat, _) = rig.chat_in("project").await;
        let [one, other] = ports;
        let ids = paths.map(|path| id::serial_of_path(&path));
        let [first, second] = ids;
        Self { rig, hardware, ports: [(one, first), (other, second)], chat }
    }

    /// Opens a port in the name of a link.
    async fn hold(&self, port: usize, link: LinkId) {
        self.act(port, link, SerialAct::Open(SerialSettings::default())).await.unwrap();
    }

    async fn act(&self, port: usize, link: LinkId, act: SerialAct) -> Result<Outcome, OpError> {
        run(self.hardware.clone(), self.ports[port].1.clone(), link, act).await
    }

    /// Which ports are held, by the numbers of their holders.
    fn held(&self) -> Vec<LinkId> {
        let mut held: Vec<LinkId> = self.hardware.held().into_iter().map(|held| held.holder).collect();
        held.sort();
        held
    }

    /// The numbers of the connections that serve the control link and the chat now: they are counted as they are made.
    fn numbers(&self) -> [LinkId; 2] {
        let made = self.rig.audit_ops().iter().filter(|op| *op == "WS_CONNECTED").count() as u64;
        [LinkId::new(made - 1), LinkId::new(made)]
    }

    async fn until_held_by(&self, wanted: &[LinkId]) {
        self.rig.until(|_| self.held() == wanted).await;
    }
}

async fn run(hardware: Hardware, device: DeviceId, holder: LinkId, act: SerialAct) -> Result<Outcome, OpError> {
    let mut state = PolicyState::defaults();
    state.modes.insert(Power::Hardware, PowerMode::Allowed);
    state.devices.insert(device.clone(), SharedDevice { label: "it".to_owned(), at_ms: 0 });
    let operation = Operation::Hardware(HardwareOp { device, act: HardwareAct::Serial(act), hold: None });
    let Verdict::Allowed(permit) = authorize(&state, operation, None) else { panic!("not allowed") };
    let ctx = RunCtx {
        root: None,
        limits: Limits::default(),
        cancel: CancellationToken::new(),
        shown: None,
        holder,
        pieces: None,
        computer: None,
    };
    hardware.run(permit, ctx).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_closed_leaves_its_port_to_others_and_ends_what_waits() {
    let mut desk = Desk::new().await;
    let [control, chat] = desk.numbers();
    desk.hold(0, control).await;
    desk.hold(1, chat).await;
    let row = |port: usize| desk.ports[port].1.as_str().to_owned();
    let (mine, theirs) = (row(0), row(1));
    let held_by = |now: &drawbridge_engine::view::Snapshot, id: &str| {
        now.devices.devices.iter().find(|row| row.id == id).and_then(|row| row.held_by.clone())
    };
    desk.rig.handle.send(Command::LookAtDevices).await.unwrap();
    let now = desk.rig.handle.snapshot();
    assert_eq!((held_by(&now, &mine).as_deref(), held_by(&now, &theirs)), (Some("control"), Some(desk.chat.clone())));
    let busy = desk.act(1, control, SerialAct::Open(SerialSettings::default())).await.unwrap_err();
    assert!(busy.to_string().contains("held by another chat"), "{busy}");
    let until =
        SerialRead { until: Some(b"never".to_vec()), max_bytes: 9, timeout: std::time::Duration::from_secs(60) };
    let waits = tokio::spawn(run(desk.hardware.clone(), desk.ports[1].1.clone(), chat, SerialAct::Read(until)));

    desk.rig.handle.send(Command::Detach { session_id: desk.chat.clone() }).await.unwrap();

    // Its task had ended when the command was answered.
    assert_eq!(desk.held(), [control]);
    waits.await.unwrap().unwrap_err();
    desk.hold(1, control).await;
    desk.act(1, control, SerialAct::Write { bytes: b"free".to_vec() }).await.unwrap();
    assert_eq!(desk.ports[1].0.receive(4).unwrap(), b"free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_leaves_nothing_open_for_the_next_one() {
    let desk = Desk::new().await;
    let [control, chat] = desk.numbers();
    desk.hold(0, control).await;
    desk.hold(1, chat).await;

    desk.rig.script.cut(&Scope::Data(desk.chat.clone())).unwrap();
    desk.until_held_by(&[control]).await;
    desk.rig.script.connected(&Scope::Data(desk.chat.clone()), true).await;

    let [_, again] = desk.numbers();
    assert_ne!(again, chat, "numbers never come again");
    desk.hold(1, again).await;
    assert_eq!(desk.held(), [control, again]);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_and_a_halt_for_good_close_what_every_link_held() {
    for by_the_platform in [false, true] {
        let desk = Desk::new().await;
        let [control, chat] = desk.numbers();
        desk.hold(0, control).await;
        desk.hold(1, chat).await;

        if by_the_platform {
            desk.rig.script.revoke_all();
        } else {
            desk.rig.handle.send(Command::SignOut).await.unwrap();
        }

        desk.until_held_by(&[]).await;
        for port in [0, 1] {
            desk.hold(port, LinkId::new(99)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_stops_leaves_nothing_open() {
    let mut desk = Desk::new().await;
    let [control, chat] = desk.numbers();
    desk.hold(0, control).await;
    desk.hold(1, chat).await;

    desk.rig.stop().await;

    assert_eq!(desk.held(), []);
    // The system lets somebody else have it: nothing of ours has a handle.
    desk.hold(1, LinkId::new(99)).await;
}
