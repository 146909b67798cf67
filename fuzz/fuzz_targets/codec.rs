//! Any text is some kind of frame, and any known request is an operation or a named fault.
#![no_main]

use drawbridge_core::{OpError, RequestId};
use drawbridge_proto::executor::codec::{Incoming, Reply, ReplyContext, decode};
use drawbridge_proto::executor::errors::{error_details, wire_code};
use drawbridge_proto::executor::wire::{Envelope, FromClient, FromPlatform};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(frame) = Envelope::<FromPlatform>::from_text(text) {
        // What was read once reads the same again.
        let again = Envelope::<FromPlatform>::from_text(&frame.to_text());
        assert!(again.is_ok());
    }
    let Incoming::Request(request) = decode(text) else { return };
    match request.operation() {
        // The one request with two operations.
        Ok(operation) if operation.name() == "FILE_READ_STUB" => assert_eq!(request.kind.name(), "FILE_READ"),
        Ok(operation) => assert_eq!(operation.name(), request.kind.name()),
        Err(error) => {
            if let OpError::InvalidPayload(fault) = &error {
                assert!(!fault.field.is_empty());
            }
            let context = ReplyContext::of_name(request.kind.name());
            let details = error_details(&error, &context);
            let id = RequestId::parse("r").expect("a fine id");
            let reply = Reply::failure(&id, wire_code(&error), &error.to_string(), details);
            let frame = reply.into_frame(drawbridge_core::WallMs(0), "1.1", 0);
            assert!(Envelope::<FromClient>::from_text(&frame).is_ok());
        }
    }
});
