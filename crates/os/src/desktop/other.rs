//! Systems whose desktop brings a tray and notifications itself.

use super::{Service, ServiceState};

pub(super) fn service(_wanted: Service) -> ServiceState {
    ServiceState::BuiltIn
}
