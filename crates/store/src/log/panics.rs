//! A fault of the program in its log: where, and not with what it had in its hands.

/// Tells of every panic by its place. A message that was made at run time may quote contents, so only one that stands in the
/// program itself is told.
pub(super) fn tell_without_their_messages() {
    std::panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("without a name");
        match fault.payload().downcast_ref::<&'static str>() {
            Some(message) => tracing::error!(place, thread, "a fault of the program: {message}"),
            None => {
                tracing::error!(
                    place,
                    thread,
                    "a fault of the program; its message may quote contents and is left out"
                );
            }
        }
    }));
}
