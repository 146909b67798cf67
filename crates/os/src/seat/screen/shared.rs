//! Memory that the X server writes pictures into: one piece, used for one picture after the other.

use std::os::fd::{AsFd, AsRawFd as _};
use std::ptr::NonNull;

use drawbridge_core::computer::Rect;
use rustix::fs::{MemfdFlags, SealFlags};
use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::protocol::shm::ConnectionExt as _;
use x11rb::protocol::xproto::{Drawable, ImageFormat};

use crate::seat::SeatFault;
use crate::seat::x11::Connection;

/// Pieces grow by this many bytes, so that regions of similar size share one.
const UNIT: usize = 1 << 20;

/// A piece of memory that this program and the server share. Its handle is closed once both have it: the mapping alone is left.
pub(super) struct Shared {
    /// The server's number for it.
    segment: u32,
    mapping: Mapping,
}

impl Shared {
    /// Makes a piece of at least this many bytes that the server can write into.
    pub(super) fn attach(connection: &Connection, bytes: usize) -> Result<Self, SeatFault> {
        let failed = |fault: rustix::io::Errno| SeatFault::Other(format!("no memory can be shared: {fault}"));
        let len = bytes.max(1).next_multiple_of(UNIT);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = rustix::fs::memfd_create("drawbridge-screen", flags).map_err(failed)?;
        rustix::fs::ftruncate(&memory, len as u64).map_err(failed)?;
        // Nobody can make it smaller, so that reading what is mapped cannot fail.
        rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(failed)?;
        let mapping = Mapping::of(&memory, len)?;
        let segment = connection.generate_id()?;
        connection.shm_attach_fd(segment, memory, false)?.check()?;
        Ok(Self { segment, mapping })
    }

    /// Tells whether so many bytes fit.
    pub(super) fn holds(&self, bytes: usize) -> bool {
        bytes <= self.mapping.len
    }

    /// Lets the server write a rectangle of a drawable and returns a copy of its first `bytes`, fewer if they do not fit.
    pub(super) fn take(
        &mut self,
        connection: &Connection,
        drawable: Drawable,
        area: Area,
        bytes: usize,
    ) -> Result<Vec<u8>, ReplyError> {
        let Area { x, y, width, height } = area;
        let format = ImageFormat::Z_PIXMAP.into();
        connection.shm_get_image(drawable, x, y, width, height, u32::MAX, format, self.segment, 0)?.reply()?;
        Ok(self.mapping.copy(bytes))
    }

    /// Takes the piece from the server. A server that is gone has let it go already.
    pub(super) fn detach(self, connection: &Connection) {
        let _ = connection.shm_detach(self.segment).and_then(|_| connection.flush());
    }
}

/// A rectangle in the numbers of the X protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x: i16,
    pub(super) y: i16,
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Area {
    /// Returns nothing for what no X server can have.
    pub(super) fn of(rect: Rect) -> Option<Self> {
        let area = Self {
            x: rect.x1.try_into().ok()?,
            y: rect.y1.try_into().ok()?,
            width: rect.width().try_into().ok()?,
            height: rect.height().try_into().ok()?,
        };
        (!rect.is_empty()).then_some(area)
    }
}

/// Mapped memory. Another process writes into it, so nothing here ever refers to its bytes: they are copied out.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

#[expect(unsafe_code, reason = "memory is mapped")]
// SAFETY: a mapping belongs to no thread; it is read through `&mut self` alone and freed once, by its owner.
unsafe impl Send for Mapping {}

#[expect(unsafe_code, reason = "memory is mapped")]
impl Mapping {
    fn of(memory: &impl AsFd, len: usize) -> Result<Self, SeatFault> {
        let (access, handle) = (libc::PROT_READ, memory.as_fd().as_raw_fd());
        // SAFETY: a new mapping at a place that the system chooses; nothing else is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, handle, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, len }),
            _ => {
                let fault = std::io::Error::last_os_error();
                Err(SeatFault::Other(format!("no memory can be shared: {fault}")))
            }
        }
    }

    fn copy(&mut self, bytes: usize) -> Vec<u8> {
        let bytes = bytes.min(self.len);
        let mut copied: Vec<u8> = Vec::with_capacity(bytes);
        // SAFETY: `bytes` bytes are mapped and cannot be unmapped meanwhile; the new vector has room for them and lies elsewhere.
        // Every value is a valid byte, also when the server writes at the same time.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr(), copied.as_mut_ptr(), bytes);
            copied.set_len(bytes);
        }
        copied
    }
}

#[expect(unsafe_code, reason = "memory is mapped")]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length by `of`, and nothing refers to it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
