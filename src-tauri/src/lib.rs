//! The desktop shell of Drawbridge.
