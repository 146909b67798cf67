//! What policy would say, without doing anything: for `policy explain` and `policy list`. It asks the one decision
//! function with an operation of the kind asked about. Decisions depend on the kind and the chat, and for commands on the rules
//! that the explanation lists.

use std::collections::BTreeMap;
use std::time::Duration;

use drawbridge_core::computer::{AppLaunchOp, ComputerOp, InputOp, PictureFormat, Point, ScreenshotOp, WindowListOp};
use drawbridge_core::hardware::{
    Bias, DeviceId, DeviceKind, Edge, GpioAct, HardwareAct, HardwareOp, LineChange, SerialAct, SerialRead,
    SerialSettings, UsbAct, UsbData,
};
use drawbridge_core::model::{Completion, Knob, ModelOp, Sampling, Turn};
use drawbridge_core::{
    BrowseOp, BrowsePlace, CommandLine, CommandOp, ContentForm, FileOp, Operation, SessionId, SessionOp,
};
use drawbridge_policy::{PolicyState, decide};

use crate::rule_list;
use crate::view::{ExplainView, WhyView};

/// Names of every operation that policy knows, in the order in which they are shown.
pub const OPERATIONS: [&str; 38] = [
    "FILE_READ",
    "FILE_READ_STUB",
    "FILE_WRITE",
    "FILE_STAT",
    "FILE_LIST",
    "FILE_DELETE",
    "FILE_MOVE",
    "EXECUTE_COMMAND",
    "DIRECTORY_LIST",
    "ATTACH_SESSION",
    "ACTIVATE_SESSION",
    "RESTORE_SESSION",
    "DETACH_SESSION",
    "SCREENSHOT_REQUEST",
    "INPUT_ACTION",
    "CURSOR_POSITION_REQUEST",
    "DISPLAY_INFO_REQUEST",
    "WINDOW_LIST_REQUEST",
    "WINDOW_FOCUS",
    "APP_LIST_REQUEST",
    "APP_LAUNCH",
    "CLIPBOARD_READ",
    "CLIPBOARD_WRITE",
    "PERMISSIONS_CHECK_REQUEST",
    "LOCAL_LLM_COMPLETION",
    "LOCAL_LLM_TURN",
    "HARDWARE_SERIAL_OPEN",
    "HARDWARE_SERIAL_WRITE",
    "HARDWARE_SERIAL_READ",
    "HARDWARE_SERIAL_LINES",
    "HARDWARE_SERIAL_CLOSE",
    "HARDWARE_USB_DESCRIBE",
    "HARDWARE_USB_CONTROL",
    "HARDWARE_USB_TRANSFER",
    "HARDWARE_GPIO_READ",
    "HARDWARE_GPIO_WRITE",
    "HARDWARE_GPIO_WATCH",
    "HARDWARE_GPIO_RELEASE",
];

/// Explains the decision about a kind of operation; none when there is no operation of this name. `session` is the chat
/// that would ask.
#[must_use]
pub fn explain(state: &PolicyState, name: &str, session: Option<&SessionId>) -> Option<ExplainView> {
    let operation = sample(state, name, session)?;
    let explanation = decide(state, &operation, session);
    let why = WhyView::from(&explanation);
    Some(ExplainView {
        operation: operation.name().to_owned(),
        power: operation.power().map(|power| power.name().to_owned()),
        decision: why.decision,
        rule: why.rule,
        mode: why.mode,
        by: why.by,
        why: why.text,
        rules: operation.power().map_or_else(Vec::new, |power| rule_list::touching(state, power, session)),
    })
}

fn sample(state: &PolicyState, name: &str, session: Option<&SessionId>) -> Option<Operation> {
    let path = || ".".to_owned();
    let place = || BrowsePlace { browse_id: String::new(), directory_ref: String::new() };
    let chat = || session.cloned().or_else(|| SessionId::parse("any").ok());
    Some(match name {
        "FILE_READ" => Operation::File(FileOp::Read { path: path(), form: ContentForm::Text, offset: 0, length: None }),
        "FILE_READ_STUB" => Operation::File(FileOp::Stub { path: path(), preview_bytes: 0 }),
        "FILE_WRITE" => Operation::File(FileOp::Write {
            path: path(),
            content: Vec::new(),
            form: ContentForm::Text,
            create_parents: false,
        }),
        "FILE_STAT" => Operation::File(FileOp::Stat { path: path(), follow_symlinks: false }),
        "FILE_LIST" => Operation::File(FileOp::List {
            path: path(),
            glob: None,
            recursive: false,
            include_hidden: false,
            max_entries: 1,
        }),
        "FILE_DELETE" => Operation::File(FileOp::Delete { path: path(), recursive: false, missing_ok: false }),
        "FILE_MOVE" => Operation::File(FileOp::Move { src: path(), dst: path(), overwrite: false }),
        "EXECUTE_COMMAND" => Operation::Command(CommandOp {
            line: CommandLine::Argv(vec!["true".to_owned()]),
            cwd: None,
            timeout: None,
            env: BTreeMap::new(),
        }),
        "DIRECTORY_LIST" => Operation::Browse(BrowseOp { place: None, cursor: None }),
        "ATTACH_SESSION" => Operation::Session(SessionOp::Attach { session: chat()?, place: place() }),
        "ACTIVATE_SESSION" => Operation::Session(SessionOp::Activate { session: chat()?, revision: 1 }),
        "RESTORE_SESSION" => Operation::Session(SessionOp::Restore { session: chat()?, root_grant: String::new() }),
        "DETACH_SESSION" => Operation::Session(SessionOp::Detach { session: chat()? }),
        "LOCAL_LLM_COMPLETION" | "LOCAL_LLM_TURN" => Operation::Model(model_sample(name)?),
        name if name.starts_with("HARDWARE_") => Operation::Hardware(device_sample(state, name)?),
        _ => Operation::Computer(computer_sample(name)?),
    })
}

/// About a device of its kind that is shared, if there is one: what is not shared is refused whatever the power says.
fn device_sample(state: &PolicyState, name: &str) -> Option<HardwareOp> {
    let act = act_sample(name)?;
    let kind = match &act {
        HardwareAct::Serial(_) => DeviceKind::Serial,
        HardwareAct::Usb(_) => DeviceKind::Usb,
        HardwareAct::Gpio(_) => DeviceKind::Gpio,
    };
    let of_kind = |id: &&DeviceId| id.as_str().strip_prefix(kind.name()).is_some_and(|rest| rest.starts_with('-'));
    let device = state.devices.keys().find(of_kind).cloned().unwrap_or_else(|| DeviceId::plain(kind, "any"));
    Some(HardwareOp { device, act, hold: None })
}

fn act_sample(name: &str) -> Option<HardwareAct> {
    let timeout = Duration::from_secs(1);
    let (line, bias) = (0, Bias::AsIs);
    Some(match name {
        "HARDWARE_SERIAL_OPEN" => HardwareAct::Serial(SerialAct::Open(SerialSettings::default())),
        "HARDWARE_SERIAL_WRITE" => HardwareAct::Serial(SerialAct::Write { bytes: Vec::new() }),
        "HARDWARE_SERIAL_READ" => {
            HardwareAct::Serial(SerialAct::Read(SerialRead { until: None, max_bytes: 1, timeout }))
        }
        "HARDWARE_SERIAL_LINES" => HardwareAct::Serial(SerialAct::Lines(LineChange::default())),
        "HARDWARE_SERIAL_CLOSE" => HardwareAct::Serial(SerialAct::Close),
        "HARDWARE_USB_DESCRIBE" => HardwareAct::Usb(UsbAct::Describe),
        "HARDWARE_USB_CONTROL" => HardwareAct::Usb(UsbAct::Control {
            request_type: 0x80,
            request: 0,
            value: 0,
            index: 0,
            data: UsbData::In(1),
            timeout,
        }),
        "HARDWARE_USB_TRANSFER" => HardwareAct::Usb(UsbAct::Transfer { endpoint: 0x81, data: UsbData::In(1), timeout }),
        "HARDWARE_GPIO_READ" => HardwareAct::Gpio(GpioAct::Read { line, bias }),
        "HARDWARE_GPIO_WRITE" => HardwareAct::Gpio(GpioAct::Write { line, high: false }),
        "HARDWARE_GPIO_WATCH" => {
            HardwareAct::Gpio(GpioAct::Watch { line, bias, edge: Edge::Both, max_events: 1, timeout })
        }
        "HARDWARE_GPIO_RELEASE" => HardwareAct::Gpio(GpioAct::Release { line }),
        _ => return None,
    })
}

fn model_sample(name: &str) -> Option<ModelOp> {
    let sampling = Sampling { max_tokens: 1, temperature: Knob::new(0.0)?, top_p: Knob::new(1.0)? };
    let model = String::new();
    Some(match name {
        "LOCAL_LLM_COMPLETION" => {
            ModelOp::Completion(Completion { model, messages: Vec::new(), sampling, stream: true })
        }
        "LOCAL_LLM_TURN" => {
            let (task, stubs) = (String::new(), Vec::new());
            ModelOp::Turn(Turn { model, task, stubs, context: None, sampling, verify: true })
        }
        _ => return None,
    })
}

fn computer_sample(name: &str) -> Option<ComputerOp> {
    Some(match name {
        "SCREENSHOT_REQUEST" => ComputerOp::Screenshot(ScreenshotOp {
            monitor: 0,
            quality: 75,
            area: None,
            format: PictureFormat::Jpeg,
            include_cursor: true,
        }),
        "INPUT_ACTION" => ComputerOp::Input(InputOp::Move { at: Point::default() }),
        "CURSOR_POSITION_REQUEST" => ComputerOp::CursorPosition,
        "DISPLAY_INFO_REQUEST" => ComputerOp::DisplayInfo,
        "WINDOW_LIST_REQUEST" => ComputerOp::WindowList(WindowListOp::default()),
        "WINDOW_FOCUS" => ComputerOp::WindowFocus { window_id: String::new(), raise: true },
        "APP_LIST_REQUEST" => ComputerOp::AppList { include_background: false },
        "APP_LAUNCH" => ComputerOp::AppLaunch(AppLaunchOp {
            bundle_id: None,
            executable_path: None,
            args: Vec::new(),
            activate: true,
        }),
        "CLIPBOARD_READ" => ComputerOp::ClipboardRead,
        "CLIPBOARD_WRITE" => ComputerOp::ClipboardWrite { text: String::new() },
        "PERMISSIONS_CHECK_REQUEST" => ComputerOp::PermissionsCheck { names: Vec::new() },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use drawbridge_core::{Power, PowerMode};

    #[test]
    fn every_name_is_explained_as_itself_and_others_are_not() {
        let state = PolicyState::defaults();
        for name in OPERATIONS {
            assert_eq!(explain(&state, name, None).unwrap().operation, name);
        }
        assert_eq!(explain(&state, "FILE_EXPLODE", None), None);
    }

    #[test]
    fn the_answer_is_that_of_the_decision_function() {
        let mut state = PolicyState::defaults();
        let write = |state: &PolicyState| explain(state, "FILE_WRITE", None).unwrap();
        assert_eq!((write(&state).decision.as_str(), write(&state).rule.as_str()), ("allow", "mode"));

        state.modes.insert(Power::Files, PowerMode::AskEachTime);
        assert_eq!((write(&state).decision.as_str(), write(&state).rule.as_str()), ("deny", "nobody_to_ask"));

        state.raised = true;
        assert_eq!((write(&state).decision.as_str(), write(&state).rule.as_str()), ("deny", "raised"));
        assert_eq!(explain(&state, "DETACH_SESSION", None).unwrap().decision, "allow");
    }

    #[test]
    fn what_a_private_chat_may_do_is_told_for_it_alone() {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::LocalModel, PowerMode::Allowed);
        let chat = SessionId::parse("c").unwrap();
        state.privacy.chats.insert(chat.clone(), true);
        let told = |name: &str, session: Option<&SessionId>| explain(&state, name, session).unwrap().rule;

        assert_eq!(told("FILE_READ", Some(&chat)), "privacy_on");
        assert_eq!(
            (told("FILE_READ_STUB", Some(&chat)).as_str(), told("LOCAL_LLM_TURN", Some(&chat)).as_str()),
            ("mode", "mode")
        );
        assert_eq!(told("FILE_READ", None), "mode");
        assert_eq!(told("LOCAL_LLM_TURN", None), "privacy_off");
        assert_eq!(told("HARDWARE_SERIAL_WRITE", None), "mode");
    }

    #[test]
    fn screen_and_clipboard_have_switches_of_their_own() {
        let mut state = PolicyState::defaults();
        let told = |state: &PolicyState, name: &str| {
            let view = explain(state, name, None).unwrap();
            (view.decision, view.power)
        };
        let said = |decision: &str, power: Power| (decision.to_owned(), Some(power.name().to_owned()));
        assert_eq!(told(&state, "SCREENSHOT_REQUEST"), said("deny", Power::ComputerUse));
        assert_eq!(told(&state, "CLIPBOARD_READ"), said("deny", Power::Clipboard));

        state.modes.insert(Power::ComputerUse, PowerMode::Allowed);
        assert_eq!(told(&state, "INPUT_ACTION"), said("allow", Power::ComputerUse));
        assert_eq!(told(&state, "CLIPBOARD_WRITE"), said("deny", Power::Clipboard));
    }
}
