use super::*;
use crate::doctor::tests::Rig;

fn keys(found: &[Finding]) -> Vec<(&str, FindingState)> {
    found.iter().map(|one| (one.key.as_str(), one.state)).collect()
}

fn row(kind: &str, description: &str, place: &str) -> DeviceView {
    DeviceView {
        kind: kind.to_owned(),
        description: description.to_owned(),
        place: place.to_owned(),
        present: true,
        ..DeviceView::default()
    }
}

fn denied(device: DeviceView) -> DeviceView {
    let why = "this user may not open /dev/ttyUSB0: it belongs to the group dialout.";
    DeviceView { denied: Some(why.to_owned()), ..device }
}

fn port() -> DeviceView {
    row("serial", "FTDI FT232R USB UART", "/dev/ttyUSB0")
}

#[test]
fn what_can_be_used_is_named_kind_by_kind() {
    let found = findings(&[port(), row("usb", "", "0403:6001, bus 1"), row("gpio", "pinctrl-bcm2711", "gpiochip0")]);

    let ok = FindingState::Ok;
    assert_eq!(keys(&found), [("devices_serial", ok), ("devices_usb", ok), ("devices_gpio", ok)]);
    assert_eq!(found[0].params["names"], "FTDI FT232R USB UART (/dev/ttyUSB0)");
    assert_eq!(found[1].params["names"], "0403:6001, bus 1");
}

#[test]
fn a_shared_device_that_is_denied_needs_the_person_and_says_which_group() {
    let found = findings(&[denied(DeviceView { shared: true, ..port() })]);

    assert_eq!(keys(&found), [("device_denied", FindingState::Warn)]);
    assert!(found[0].text.contains("the group dialout") && found[0].fix.is_some(), "{found:?}");
    let configured = findings(&[denied(DeviceView { from_config: true, ..port() })]);
    assert_eq!(keys(&configured), [("device_denied", FindingState::Warn)]);
}

#[test]
fn one_that_nobody_shared_matters_only_where_nothing_else_can_be_used() {
    assert_eq!(keys(&findings(&[denied(port())])), [("devices_denied", FindingState::Warn)]);

    let chip = row("gpio", "pinctrl-bcm2711", "gpiochip0");
    let found = findings(&[denied(port()), chip]);
    assert_eq!(keys(&found), [("devices_gpio", FindingState::Ok), ("devices_denied", FindingState::Info)]);
}

#[test]
fn a_mouse_that_belongs_to_nobody_is_no_finding() {
    let found = findings(&[denied(row("usb", "Optical Mouse", "046d:c077, bus 1")), port()]);
    assert_eq!(keys(&found), [("devices_serial", FindingState::Ok)]);
}

#[test]
fn what_is_shared_and_away_is_told_and_nothing_at_all_too() {
    let away = DeviceView { shared: true, present: false, place: String::new(), ..port() };
    let found = findings(&[away]);
    assert_eq!(keys(&found), [("devices_away", FindingState::Info)]);
    assert_eq!(found[0].params["names"], "FTDI FT232R USB UART");
    let entry = DeviceView {
        id: "usb:2341:0043".to_owned(),
        from_config: true,
        entry: Some("usb:2341:0043".to_owned()),
        ..DeviceView::default()
    };
    let found = findings(&[entry]);
    assert_eq!(keys(&found), [("devices_away", FindingState::Info)]);
    assert_eq!(found[0].text, "Shared, not here now: usb:2341:0043");

    assert_eq!(keys(&findings(&[])), [("devices_none", FindingState::Info)]);
}

#[test]
fn many_are_cut() {
    let many: Vec<DeviceView> = (0..20).map(|number| row("serial", "", &format!("/dev/ttyUSB{number}"))).collect();
    let names = findings(&many)[0].params["names"].clone();
    assert!(names.ends_with("/dev/ttyUSB7, …"), "{names}");
}

#[tokio::test]
async fn nobody_looks_while_the_power_is_off() {
    let rig = Rig::new();
    assert_eq!(devices(&Arc::new(rig.input("")), &Door::Stopped).await, []);
}

#[tokio::test]
async fn a_port_that_the_configuration_shares_is_looked_at() {
    let rig = Rig::new();
    let gone = rig.home.path().join("ttyGONE");
    let config = format!("enable_hardware = true\n[hardware]\nshare = [{:?}]\n", gone.display().to_string());

    let found = devices(&Arc::new(rig.input(&config)), &Door::Stopped).await;

    assert!(!found.is_empty() && found.iter().all(|one| one.check == "hardware"), "{found:?}");
    assert!(found.iter().all(|one| one.key != "not_built"), "{found:?}");
}
