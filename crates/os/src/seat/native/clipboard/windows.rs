//! What Windows says of its clipboard.

use std::sync::Arc;

use clipboard_win::{Clipboard, EnumFormats, raw};

use crate::seat::SeatFault;
use crate::seat::clipboard::{KeptFormat, Look};

const CF_BITMAP: u32 = 2;
const CF_METAFILEPICT: u32 = 3;
const CF_PALETTE: u32 = 9;
const CF_ENHMETAFILE: u32 = 14;
const CF_DIB: u32 = 8;
const CF_UNICODETEXT: u32 = 13;
/// Formats that mean something to their owner alone.
const PRIVATE: std::ops::RangeInclusive<u32> = 0x0200..=0x02ff;
/// So often another program may be found with the clipboard open.
const TRIES: usize = 10;

fn failed(fault: clipboard_win::ErrorCode) -> SeatFault {
    SeatFault::Other(fault.to_string())
}

fn open() -> Result<Clipboard, SeatFault> {
    Clipboard::new_attempts(TRIES).map_err(|_| SeatFault::NoAnswer("the program that uses the clipboard"))
}

fn counter() -> Option<u64> {
    raw::seq_num().map(|number| u64::from(number.get()))
}

fn named(format: u32) -> String {
    raw::format_name_big(format).unwrap_or_else(|| format.to_string())
}

fn mark(format: u32, name: &str) -> Option<&'static str> {
    if PRIVATE.contains(&format) {
        return Some("CF_PRIVATE");
    }
    match name {
        "ExcludeClipboardContentFromMonitorProcessing" => Some("ExcludeClipboardContentFromMonitorProcessing"),
        "CanIncludeInClipboardHistory" => {
            let mut value = Vec::new();
            let read = raw::get_vec(format, &mut value);
            // One that cannot be read is taken for a no.
            let allowed = read.is_ok() && value.iter().any(|byte| *byte != 0);
            (!allowed).then_some("CanIncludeInClipboardHistory")
        }
        _ => None,
    }
}

pub(super) fn look() -> Result<Look, SeatFault> {
    let _open = open()?;
    let found: Vec<(u32, String)> = EnumFormats::new().map(|format| (format, named(format))).collect();
    Ok(Look {
        has_text: found.iter().any(|(format, _)| *format == CF_UNICODETEXT),
        concealed: found.iter().find_map(|(format, name)| mark(*format, name)),
        formats: found.into_iter().map(|(_, name)| name).collect(),
        counter: counter(),
        ours: false,
    })
}

/// Refuses a text of which even the shortest UTF-8 is too long.
pub(super) fn text_fits(max_bytes: u64) -> Result<(), SeatFault> {
    let _open = open()?;
    let units = raw::size(CF_UNICODETEXT).map_or(0, |size| size.get() as u64 / 2).saturating_sub(1);
    if units > max_bytes { Err(SeatFault::TooLarge(units)) } else { Ok(()) }
}

pub(super) fn keep(max_bytes: u64) -> Result<Vec<KeptFormat>, SeatFault> {
    let _open = open()?;
    let formats: Vec<u32> = EnumFormats::new().collect();
    let mut room = max_bytes;
    let mut kept = Vec::new();
    for format in &formats {
        match *format {
            // The system makes these out of the other form of the same picture.
            CF_BITMAP | CF_PALETTE if formats.contains(&CF_DIB) => continue,
            CF_BITMAP | CF_PALETTE | CF_METAFILEPICT | CF_ENHMETAFILE => {
                return Err(SeatFault::Unsupported("it holds a drawing that cannot be put back".to_owned()));
            }
            _ => {}
        }
        let size = raw::size(*format).map_or(0, |size| size.get() as u64);
        room = room.checked_sub(size).ok_or(SeatFault::TooLarge(max_bytes.saturating_add(size)))?;
        let mut bytes = Vec::new();
        raw::get_vec(*format, &mut bytes).map_err(failed)?;
        kept.push(KeptFormat { name: format.to_string(), kind: named(*format), unit_bits: 8, bytes: Arc::from(bytes) });
    }
    Ok(kept)
}

pub(super) fn put_back(formats: &[KeptFormat]) -> Result<(), SeatFault> {
    let _open = open()?;
    raw::empty().map_err(failed)?;
    for format in formats {
        let Ok(number) = format.name.parse() else { continue };
        raw::set_without_clear(number, &format.bytes).map_err(failed)?;
    }
    Ok(())
}
