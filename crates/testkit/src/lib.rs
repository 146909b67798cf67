//! Scripted peers and fixtures for the tests.

pub mod display;
pub mod proxy;
pub mod scenarios;
pub mod selection;
pub mod tls;
pub mod turn;
