//! macOS: what the system lists, and windows of other programs as the trial. Only with the permission to record the screen
//! does the system tell the titles of windows that are not ours.

use std::ffi::c_void;

use super::{Permission, Permissions, Trial};

pub(super) struct OfSystem;

impl Permissions for OfSystem {
    #[expect(unsafe_code, reason = "the system is asked in C")]
    fn listed(&self, permission: Permission) -> Option<bool> {
        Some(match permission {
            // SAFETY: takes nothing, returns a truth value and never asks the person.
            Permission::ScreenRecording => unsafe { CGPreflightScreenCaptureAccess() },
            // SAFETY: as above; the system's byte is zero for no.
            Permission::Accessibility => unsafe { AXIsProcessTrusted() != 0 },
        })
    }

    fn tried(&self, permission: Permission) -> Trial {
        match permission {
            Permission::ScreenRecording => titles(),
            Permission::Accessibility => Trial::Undecided,
        }
    }
}

type Ref = *const c_void;

/// Windows on the screen, without what belongs to the desktop itself.
const ON_SCREEN_WITHOUT_DESKTOP: u32 = 1 | 1 << 4;
const ALL_WINDOWS: u32 = 0;
/// A 64-bit signed number, as the system's numbers name it.
const NUMBER_OF_64_BITS: isize = 4;

#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {
    fn CGPreflightScreenCaptureAccess() -> bool;
    fn CGWindowListCopyWindowInfo(option: u32, window: u32) -> Ref;
    static kCGWindowName: Ref;
    static kCGWindowOwnerPID: Ref;
    static kCGWindowLayer: Ref;
}

#[link(name = "ApplicationServices", kind = "framework")]
unsafe extern "C" {
    fn AXIsProcessTrusted() -> u8;
}

#[link(name = "CoreFoundation", kind = "framework")]
unsafe extern "C" {
    fn CFArrayGetCount(array: Ref) -> isize;
    fn CFArrayGetValueAtIndex(array: Ref, index: isize) -> Ref;
    fn CFDictionaryGetValue(dictionary: Ref, key: Ref) -> Ref;
    fn CFNumberGetValue(number: Ref, kind: isize, value: *mut c_void) -> u8;
    fn CFRelease(object: Ref);
}

/// Holds when any ordinary window of another program tells its title; hollow when there are such windows and none does.
#[expect(unsafe_code, reason = "the system is asked in C")]
fn titles() -> Trial {
    // SAFETY: returns null or an array of dictionaries that is ours until it is released below.
    let windows = unsafe { CGWindowListCopyWindowInfo(ON_SCREEN_WITHOUT_DESKTOP, ALL_WINDOWS) };
    if windows.is_null() {
        return Trial::Undecided;
    }
    let own = i64::from(std::process::id());
    let mut trial = Trial::Undecided;
    // SAFETY: the array is alive; each value in it is a dictionary that lives as long as the array, and the keys are the
    // system's own constants. A missing value is null, which `number` takes.
    unsafe {
        for index in 0..CFArrayGetCount(windows) {
            let window = CFArrayGetValueAtIndex(windows, index);
            let of_another = number(CFDictionaryGetValue(window, kCGWindowOwnerPID)).is_some_and(|pid| pid != own);
            let ordinary = number(CFDictionaryGetValue(window, kCGWindowLayer)) == Some(0);
            if of_another && ordinary {
                if !CFDictionaryGetValue(window, kCGWindowName).is_null() {
                    trial = Trial::Holds;
                    break;
                }
                trial = Trial::Hollow;
            }
        }
        CFRelease(windows);
    }
    trial
}

/// Reads one of the system's numbers; none for null.
///
/// # Safety
/// `value` must be null or a `CFNumber` that is alive.
#[expect(unsafe_code, reason = "the system is asked in C")]
unsafe fn number(value: Ref) -> Option<i64> {
    let mut number = 0_i64;
    // SAFETY: by the caller's promise a number, and the place is as large as the kind says.
    let read = !value.is_null()
        && unsafe { CFNumberGetValue(value, NUMBER_OF_64_BITS, std::ptr::from_mut(&mut number).cast()) } != 0;
    read.then_some(number)
}
