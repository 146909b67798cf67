//! Scripted peers and fixtures for the tests.

pub mod display;
pub mod forms;
pub mod pair;
pub mod proxy;
pub mod scenarios;
pub mod selection;
pub mod serial;
pub mod tls;
pub mod turn;
