//! Devices: serial ports, USB, GPIO. What is there, opening it, and using it.
//!
//! A trait for each kind, so that what the system offers can be told apart from what is done with it.
