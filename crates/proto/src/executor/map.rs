//! Requests become operations; everything about a payload is checked here, once (spec 8, 9.2).
