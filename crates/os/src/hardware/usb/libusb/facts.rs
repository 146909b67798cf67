//! What the system knows of USB devices beside libusb, so that looking opens none.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{add_drivers, add_words, denied, driver, has_usb};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{add_drivers, add_words, denied, driver, has_usb};
