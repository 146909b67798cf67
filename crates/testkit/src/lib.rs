//! Scripted peers and fixtures for the tests.

pub mod proxy;
pub mod tls;
pub mod turn;
