//! Linux: services by their names on the session bus.

use zbus::blocking::Connection;
use zbus::blocking::fdo::DBusProxy;
use zbus::names::BusName;

use super::{Service, ServiceState};

pub(super) fn service(wanted: Service) -> ServiceState {
    let Ok(bus) = Connection::session() else { return ServiceState::NoBus };
    let name = match wanted {
        Service::Tray => "org.kde.StatusNotifierWatcher",
        Service::Notifications => "org.freedesktop.Notifications",
    };
    match is_offered(&bus, name) {
        Ok(true) => ServiceState::There,
        Ok(false) => ServiceState::Missing,
        Err(_) => ServiceState::NoBus,
    }
}

/// Somebody has the name, or the bus starts somebody who takes it. Tray icons are drawn by what is there already.
fn is_offered(bus: &Connection, name: &'static str) -> zbus::Result<bool> {
    let names = DBusProxy::new(bus)?;
    if names.name_has_owner(BusName::try_from(name)?)? {
        return Ok(true);
    }
    Ok(names.list_activatable_names()?.iter().any(|offered| offered.as_str() == name))
}
