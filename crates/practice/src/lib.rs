//! A small platform on loopback to try Drawbridge with and to test it against.
