//! Scripted peers and fixtures for the tests.
