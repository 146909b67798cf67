//! `usb`: a USB device through the running engine.

use std::time::Duration;

use anyhow::anyhow;
use drawbridge_core::escape_outside_text;
use drawbridge_core::hardware::DeviceKind;
use drawbridge_engine::device_act::{DeviceAct, DeviceBytes, DeviceResult, MAX_OUT_BYTES, UsbView};

use crate::args::{Named, UsbControl, UsbData, UsbTransfer, UsbVerb};
use crate::coded::{USAGE, coded};
use crate::devices::{Desk, ms, whole_file};
use crate::out;
use crate::place::odd_answer;

/// Beside what a transfer may take by itself.
const SOON: Duration = Duration::from_secs(15);

pub(crate) async fn run(verb: UsbVerb) -> anyhow::Result<u8> {
    match verb {
        UsbVerb::Describe { named, json } => describe(&named, json).await,
        UsbVerb::Control(args) => control(args).await,
        UsbVerb::Transfer(args) => transfer(args).await,
    }
}

async fn describe(named: &Named, json: bool) -> anyhow::Result<u8> {
    let result = Desk::at(named, DeviceKind::Usb).await?.act(DeviceAct::UsbDescribe, SOON).await?;
    let DeviceResult::Described { usb } = result else { return Err(odd_answer()) };
    if json {
        out::line(&serde_json::to_string(&usb)?)?;
    } else {
        for line in in_words(&usb) {
            out::line(&line)?;
        }
    }
    Ok(0)
}

async fn control(args: UsbControl) -> anyhow::Result<u8> {
    let UsbControl { named, request_type, request, value, index, data } = args;
    // A request without any data is usual, and its direction does not matter then.
    let (out, max_bytes) = carried(&data, request_type & 0x80 != 0, "--request-type", true)?;
    let timeout_ms = ms(data.timeout).max(1);
    let act = DeviceAct::UsbControl { request_type, request, value, index, out, max_bytes, timeout_ms };
    transferred(&named, act, &data).await
}

async fn transfer(args: UsbTransfer) -> anyhow::Result<u8> {
    let UsbTransfer { named, endpoint, data } = args;
    let (out, max_bytes) = carried(&data, endpoint & 0x80 != 0, "--endpoint", false)?;
    let act = DeviceAct::UsbTransfer { endpoint, out, max_bytes, timeout_ms: ms(data.timeout).max(1) };
    transferred(&named, act, &data).await
}

/// Returns what goes out, or how much may come in.
fn carried(
    data: &UsbData,
    comes_in: bool,
    flag: &str,
    may_be_empty: bool,
) -> anyhow::Result<(Option<DeviceBytes>, Option<u32>)> {
    let out = match (&data.hex, &data.file) {
        (Some(hex), _) => Some(hex.0.clone()),
        (None, Some(path)) => Some(whole_file(path, MAX_OUT_BYTES)?),
        (None, None) => None,
    };
    let wrong = |why: &str| Err(coded(USAGE, anyhow!("{flag} {why}")));
    match (comes_in, out, data.most) {
        (true, None, Some(most)) => Ok((None, Some(most))),
        (true, None, None) if may_be_empty => Ok((None, Some(0))),
        (true, _, _) => wrong("means data that comes in (from 0x80 on), so say how much with --in"),
        (false, Some(out), None) => Ok((Some(DeviceBytes::of(&out)), None)),
        (false, None, None) if may_be_empty => Ok((Some(DeviceBytes::default()), None)),
        (false, _, _) => wrong("means data that goes out (below 0x80), so say which with --hex or --file"),
    }
}

async fn transferred(named: &Named, act: DeviceAct, data: &UsbData) -> anyhow::Result<u8> {
    let within = Duration::from_millis(ms(data.timeout).into()) + SOON;
    match Desk::at(named, DeviceKind::Usb).await?.act(act, within).await? {
        DeviceResult::Received { data: bytes } => {
            let bytes = bytes.bytes().ok_or_else(odd_answer)?;
            if data.raw {
                out::bytes(&bytes)?;
            } else {
                out::line(&drawbridge_core::hex::encode(&bytes))?;
            }
        }
        DeviceResult::Written { bytes } => out::line(&format!("{bytes} bytes written"))?,
        DeviceResult::Done => {}
        DeviceResult::Read { .. }
        | DeviceResult::Lines { .. }
        | DeviceResult::Described { .. }
        | DeviceResult::Level { .. }
        | DeviceResult::Events { .. } => return Err(odd_answer()),
    }
    Ok(0)
}

fn in_words(usb: &UsbView) -> Vec<String> {
    let safe = |text: &Option<String>| text.as_deref().map(escape_outside_text).unwrap_or_default();
    let class = |class: [u8; 3]| format!("{:02x}/{:02x}/{:02x}", class[0], class[1], class[2]);
    let names = [safe(&usb.manufacturer), safe(&usb.product_name)];
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let (version, of) = (escape_outside_text(&usb.usb_version), class(usb.class));
    let mut lines = vec![format!("{}:{}  USB {version}, class {of}  {}", usb.vendor, usb.product, names.join("  "))];
    for interface in &usb.interfaces {
        let driver = if interface.driver_active { ", in use by a driver of the system" } else { "" };
        lines.push(format!("  interface {}: class {}{driver}", interface.number, class(interface.class)));
        for endpoint in &interface.endpoints {
            let way = if endpoint.address & 0x80 == 0 { "out" } else { "in" };
            lines.push(format!(
                "    end point 0x{:02x}: {} {way}, {} bytes a packet",
                endpoint.address,
                escape_outside_text(&endpoint.transfer),
                endpoint.max_packet
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::device_act::{UsbEndpointView, UsbInterfaceView};

    use super::*;
    use crate::args::Bytes;

    fn data(most: Option<u32>, hex: Option<&[u8]>) -> UsbData {
        UsbData { most, hex: hex.map(|hex| Bytes(hex.to_vec())), file: None, timeout: 1.0, raw: false }
    }

    #[test]
    fn the_direction_and_the_data_must_fit() {
        assert_eq!(carried(&data(Some(64), None), true, "--endpoint", false).unwrap(), (None, Some(64)));
        let out = carried(&data(None, Some(b"ab")), false, "--endpoint", false).unwrap();
        assert_eq!(out, (Some(DeviceBytes::of(b"ab")), None));
        assert_eq!(carried(&data(None, None), true, "--request-type", true).unwrap(), (None, Some(0)));
        for (wrong, comes_in) in
            [(data(Some(1), None), false), (data(None, Some(b"a")), true), (data(None, None), false)]
        {
            let fault = carried(&wrong, comes_in, "--endpoint", false).unwrap_err();
            assert_eq!(crate::coded::code_of(&fault), USAGE, "{fault}");
        }
    }

    #[test]
    fn a_description_is_told_in_lines() {
        let endpoint = UsbEndpointView { address: 0x81, transfer: "bulk".to_owned(), max_packet: 512 };
        let usb = UsbView {
            vendor: "2341".to_owned(),
            product: "0043".to_owned(),
            usb_version: "2.0".to_owned(),
            class: [2, 0, 0],
            manufacturer: Some("Maker".to_owned()),
            product_name: None,
            interfaces: vec![UsbInterfaceView {
                number: 1,
                class: [10, 0, 0],
                driver_active: true,
                endpoints: vec![endpoint],
            }],
        };
        assert_eq!(
            in_words(&usb),
            [
                "2341:0043  USB 2.0, class 02/00/00  Maker",
                "  interface 1: class 0a/00/00, in use by a driver of the system",
                "    end point 0x81: bulk in, 512 bytes a packet"
            ]
        );
    }
}
