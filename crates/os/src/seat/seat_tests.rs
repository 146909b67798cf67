use super::*;

#[cfg(target_os = "linux")]
#[test]
fn the_environment_names_the_seat() {
    let seat = |pairs: &[(&str, &str)], wsl| {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Seat::named_by(find, wsl)
    };

    assert_eq!(seat(&[("DISPLAY", ":7")], false), Seat::x11(":7"));
    assert_eq!(seat(&[("DISPLAY", ":7"), ("WAYLAND_DISPLAY", "wayland-0")], false).kind, SeatKind::Wayland);
    assert_eq!(seat(&[("DISPLAY", ":0")], true), Seat { kind: SeatKind::Wsl, display: None });
    assert_eq!(seat(&[("DISPLAY", "")], false), Seat { kind: SeatKind::None, display: None });
}
