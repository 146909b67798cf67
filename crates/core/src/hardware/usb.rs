//! USB devices: what to do with one, and what it answers.

use std::time::Duration;

/// What to do with a USB device.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum UsbAct {
    /// Tells its descriptors.
    Describe,
    /// A control transfer on the default pipe.
    Control {
        /// `bmRequestType`: direction, type and recipient.
        request_type: u8,
        /// `bRequest`.
        request: u8,
        /// `wValue`.
        value: u16,
        /// `wIndex`.
        index: u16,
        /// What goes out or how much may come in.
        data: UsbData,
        /// At most so long.
        timeout: Duration,
    },
    /// A bulk or interrupt transfer; which of both, the end point's descriptor says. Its interface is claimed for it.
    Transfer {
        /// The end point's address with its direction bit.
        endpoint: u8,
        /// What goes out or how much may come in.
        data: UsbData,
        /// At most so long.
        timeout: Duration,
    },
}

/// The data of a transfer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum UsbData {
    /// Out, to the device.
    Out(Vec<u8>),
    /// In, at most so many bytes.
    In(u32),
}

/// What a USB device says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbDescription {
    /// Vendor id.
    pub vendor: u16,
    /// Product id.
    pub product: u16,
    /// USB version, for example "2.0".
    pub usb_version: String,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// Its maker in its own words; none where it says nothing or may not be asked.
    pub manufacturer: Option<String>,
    /// Its name in its own words.
    pub product_name: Option<String>,
    /// Its interfaces in the configuration that is active.
    pub interfaces: Vec<UsbInterface>,
}

/// An interface of a USB device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbInterface {
    /// Its number.
    pub number: u8,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// A driver of the system has it.
    pub driver_active: bool,
    /// Its end points.
    pub endpoints: Vec<UsbEndpoint>,
}

/// An end point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbEndpoint {
    /// Its address with its direction bit.
    pub address: u8,
    /// "control", "isochronous", "bulk" or "interrupt".
    pub transfer: &'static str,
    /// The largest packet in bytes.
    pub max_packet: u16,
}
