//! A first look at the Secret Service that never opens a prompt.

use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};

use super::KeychainState;

/// Looks for the default collection and whether it is open.
pub(super) fn probe() -> KeychainState {
    let none = |why: String| KeychainState::None { why };
    // Nothing secret travels in a look, so no key exchange is needed.
    let service = match SecretService::connect(EncryptionType::Plain) {
        Ok(service) => service,
        Err(err) => return none(format!("no secret service can be reached: {err}")),
    };
    let collection = match service.get_default_collection() {
        Ok(collection) => collection,
        // Making the first collection asks the person for a password.
        Err(Error::NoResult) => return KeychainState::Locked,
        Err(err) => return none(format!("the secret service has no usable collection: {err}")),
    };
    match collection.is_locked() {
        Ok(false) => KeychainState::Ready,
        Ok(true) => KeychainState::Locked,
        Err(err) => none(format!("the secret service does not tell whether it is open: {err}")),
    }
}
