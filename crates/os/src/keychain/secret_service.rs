//! A first look at the Secret Service that never opens a prompt, and the one call that does.

use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};

use super::{KeychainFault, KeychainState};

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

/// Name of a collection that has to be made.
const NEW_COLLECTION: &str = "Default keyring";

/// Lets the service ask the person to open the default collection, or to choose a password for a first one.
pub(super) fn ask_to_open() -> Result<KeychainState, KeychainFault> {
    let failed = |err: Error| {
        let said_no = matches!(err, Error::Locked | Error::Prompt);
        if said_no { KeychainFault::Locked } else { KeychainFault::Failed(err.to_string()) }
    };
    let service = SecretService::connect(EncryptionType::Plain).map_err(failed)?;
    match service.get_default_collection() {
        Ok(collection) => collection.unlock().map_err(failed)?,
        Err(Error::NoResult) => {
            service.create_collection(NEW_COLLECTION, "default").map_err(failed)?;
        }
        Err(err) => return Err(failed(err)),
    }
    Ok(probe())
}
