//! What went wrong, as code and details (spec 8, 15.4, 15.6).
