//! Frames in and frames out (spec 4.4).
//!
//! [`decode`] looks at the outside of a frame and leaves the payload unread and uncopied until it is known that the
//! request may run. [`Reply::encode`] writes an answer straight into its frame, away from the connection's task.

mod computer;
mod escape;
mod incoming;
mod model;
mod reply;

pub(crate) use escape::cut_at;
pub(crate) use incoming::parse_version;
pub use incoming::{Incoming, Request, RequestKind, decode};
pub(crate) use model::parts;
pub(crate) use reply::seconds;
pub use reply::{Reply, ReplyContext};
