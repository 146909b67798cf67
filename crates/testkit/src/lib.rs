//! Scripted peers and fixtures for the tests.

pub mod display;
pub mod proxy;
pub mod tls;
pub mod turn;
