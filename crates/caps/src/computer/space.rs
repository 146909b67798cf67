//! The one coordinate space (spec 10.2), and the one place that converts.
