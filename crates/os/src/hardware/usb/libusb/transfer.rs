//! One transfer, which another thread can end at any time.
//!
//! libusb's plain calls cannot be ended before their timeout, and a control transfer cannot be cut into short ones: so this submits
//! a transfer, waits for it in short steps and cancels it when it is stopped, as libusb's own plain calls do inside.

use std::ffi::c_int;
use std::mem;
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::UsbData;
use rusb::constants::{
    LIBUSB_CONTROL_SETUP_SIZE, LIBUSB_ERROR_BUSY, LIBUSB_ERROR_INTERRUPTED, LIBUSB_ERROR_NO_DEVICE,
    LIBUSB_TRANSFER_CANCELLED, LIBUSB_TRANSFER_COMPLETED, LIBUSB_TRANSFER_NO_DEVICE, LIBUSB_TRANSFER_OVERFLOW,
    LIBUSB_TRANSFER_STALL, LIBUSB_TRANSFER_TIMED_OUT,
};
use rusb::{Context, DeviceHandle, UsbContext as _, ffi};

use super::{HardwareFault, Moved, Setup, Stop};

pub(super) const OVERFLOW: &str =
    "the device sent more than was asked for, which is lost; ask for a multiple of the end point's packet size";

/// How often it is looked whether to stop, in microseconds.
const STEP_US: i64 = 50_000;
/// After so many failed waits in a row nobody believes that an answer comes.
const FAILED_WAITS: u32 = 100;

/// Which pipe.
pub(super) enum Kind {
    /// The default pipe.
    Control(Setup),
    /// A bulk end point.
    Bulk(u8),
    /// An interrupt end point.
    Interrupt(u8),
}

pub(super) struct Transfer<'a> {
    pub(super) kind: Kind,
    pub(super) data: &'a UsbData,
    pub(super) timeout: Duration,
    pub(super) stop: &'a Stop,
}

/// What libusb and its callback write into while a transfer is under way. On the heap, since it stays if the transfer never ends.
struct Flight {
    buffer: Vec<u8>,
    ended: c_int,
}

/// How a transfer ended.
struct End {
    status: c_int,
    moved: usize,
    buffer: Vec<u8>,
}

impl Transfer<'_> {
    /// Does it.
    pub(super) fn run(self, handle: &DeviceHandle<Context>) -> Result<Moved, HardwareFault> {
        let head = if matches!(self.kind, Kind::Control(_)) { LIBUSB_CONTROL_SETUP_SIZE } else { 0 };
        let mut buffer = vec![0; head];
        match self.data {
            UsbData::Out(bytes) => buffer.extend_from_slice(bytes),
            UsbData::In(most) => buffer.resize(head + usize::try_from(*most).unwrap_or(usize::MAX), 0),
        }
        let End { status, moved, mut buffer } = self.fly(handle, buffer)?;
        // What moved before the end is told, so that nobody sends it twice or loses it.
        let partly = moved > 0 && head == 0 && matches!(status, LIBUSB_TRANSFER_TIMED_OUT | LIBUSB_TRANSFER_CANCELLED);
        if status != LIBUSB_TRANSFER_COMPLETED && !partly {
            return Err(not_completed(status));
        }
        Ok(match self.data {
            UsbData::Out(_) => Moved::Out(moved),
            UsbData::In(_) => {
                buffer.truncate(head + moved);
                Moved::In(buffer.split_off(head))
            }
        })
    }

    #[expect(unsafe_code, reason = "the safe wrapper has no transfers that can be ended")]
    fn fly(&self, handle: &DeviceHandle<Context>, buffer: Vec<u8>) -> Result<End, HardwareFault> {
        let timeout_ms = u32::try_from(self.timeout.as_millis()).unwrap_or(u32::MAX).max(1);
        let mut flight = Box::new(Flight { buffer, ended: 0 });
        let length = c_int::try_from(flight.buffer.len()).map_err(|_| io("the transfer is too long"))?;
        let (raw, start) = (handle.as_raw(), flight.buffer.as_mut_ptr());
        let ended = &raw mut flight.ended;
        // SAFETY: no isochronous packets are asked for; the result is checked, and freed below on every path where it has ended.
        let transfer = unsafe { ffi::libusb_alloc_transfer(0) };
        if transfer.is_null() {
            return Err(io("there is no memory for a transfer"));
        }
        // SAFETY: `transfer` is a fresh transfer; `raw` is open as long as `handle` lives; `start` points to `length` bytes, for
        // control transfers with room for the setup in front; `ended` outlives the transfer, as below.
        unsafe {
            match &self.kind {
                Kind::Control(setup) => {
                    let wanted = u16::try_from(flight.buffer.len() - LIBUSB_CONTROL_SETUP_SIZE).unwrap_or(u16::MAX);
                    ffi::libusb_fill_control_setup(
                        start,
                        setup.request_type,
                        setup.request,
                        setup.value,
                        setup.index,
                        wanted,
                    );
                    ffi::libusb_fill_control_transfer(transfer, raw, start, on_end, ended.cast(), timeout_ms);
                }
                Kind::Bulk(endpoint) => {
                    let endpoint = *endpoint;
                    ffi::libusb_fill_bulk_transfer(
                        transfer,
                        raw,
                        endpoint,
                        start,
                        length,
                        on_end,
                        ended.cast(),
                        timeout_ms,
                    );
                }
                Kind::Interrupt(endpoint) => {
                    let endpoint = *endpoint;
                    ffi::libusb_fill_interrupt_transfer(
                        transfer,
                        raw,
                        endpoint,
                        start,
                        length,
                        on_end,
                        ended.cast(),
                        timeout_ms,
                    );
                }
            }
        }
        // SAFETY: the transfer is filled in.
        let submitted = unsafe { ffi::libusb_submit_transfer(transfer) };
        if submitted != 0 {
            // SAFETY: it was not taken, so nothing else uses it.
            unsafe { ffi::libusb_free_transfer(transfer) };
            return Err(not_submitted(submitted));
        }
        if !self.wait(handle, transfer, ended) {
            // libusb may still write there: the memory is given up rather than used by two.
            mem::forget(flight);
            return Err(io("libusb reports no end of the transfer; unplug the device and plug it in again"));
        }
        // SAFETY: its callback has run, so libusb is done with it.
        let (status, moved) = unsafe {
            let told = ((*transfer).status, (*transfer).actual_length);
            ffi::libusb_free_transfer(transfer);
            told
        };
        let Flight { buffer, .. } = *flight;
        Ok(End { status, moved: usize::try_from(moved).unwrap_or(0), buffer })
    }

    /// Waits for the end, and cancels when it is stopped. False: no end comes.
    #[expect(unsafe_code, reason = "the safe wrapper has no transfers that can be ended")]
    fn wait(&self, handle: &DeviceHandle<Context>, transfer: *mut ffi::libusb_transfer, ended: *mut c_int) -> bool {
        let (mut stopped, mut failed) = (false, 0);
        // SAFETY: only the callback writes there, and it runs inside the call below, on this thread: the context is this
        // connection's own, and the connection is used by one thread at a time.
        while unsafe { ended.read() } == 0 {
            if !stopped && self.stop.is_said() {
                stopped = true;
                // SAFETY: the transfer has not ended. Cancelling one that ends at this moment is a fault without effect.
                unsafe { ffi::libusb_cancel_transfer(transfer) };
            }
            let step = libc::timeval { tv_sec: 0, tv_usec: STEP_US as _ };
            // SAFETY: the context lives as long as `handle`; both pointers are good for the call.
            let told = unsafe {
                ffi::libusb_handle_events_timeout_completed(handle.context().as_raw(), &raw const step, ended)
            };
            if told == 0 || told == LIBUSB_ERROR_INTERRUPTED {
                failed = 0;
                continue;
            }
            failed += 1;
            if failed >= FAILED_WAITS {
                return false;
            }
            // SAFETY: as above.
            unsafe { ffi::libusb_cancel_transfer(transfer) };
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

#[expect(unsafe_code, reason = "libusb calls back in C")]
extern "system" fn on_end(transfer: *mut ffi::libusb_transfer) {
    // SAFETY: libusb passes the transfer that ended; its user data is the flag, which lives until this was seen.
    unsafe { (*transfer).user_data.cast::<c_int>().write(1) };
}

fn not_completed(status: c_int) -> HardwareFault {
    let (kind, message) = match status {
        LIBUSB_TRANSFER_TIMED_OUT => (DeviceFault::Timeout, "the device did not answer in time"),
        LIBUSB_TRANSFER_CANCELLED => (DeviceFault::NotOpen, "it was ended from here before the device answered"),
        LIBUSB_TRANSFER_STALL => (DeviceFault::Refused, "the device refused the request (a stall)"),
        LIBUSB_TRANSFER_NO_DEVICE => (DeviceFault::Unplugged, "it was unplugged"),
        LIBUSB_TRANSFER_OVERFLOW => (DeviceFault::Overrun, OVERFLOW),
        _ => (DeviceFault::Io, "the transfer failed; check the cable"),
    };
    HardwareFault::new(kind, message)
}

fn not_submitted(fault: c_int) -> HardwareFault {
    match fault {
        LIBUSB_ERROR_NO_DEVICE => HardwareFault::new(DeviceFault::Unplugged, "it was unplugged"),
        LIBUSB_ERROR_BUSY => HardwareFault::new(DeviceFault::Busy, "another program uses it; close it and try again"),
        other => io(&format!("the system does not take the transfer (libusb {other})")),
    }
}

fn io(why: &str) -> HardwareFault {
    HardwareFault::new(DeviceFault::Io, why)
}
