//! Giving memory back to the system.
//!
//! The allocator of GNU systems keeps an arena for every few threads and gives freed memory back late; a program that
//! waits in the tray all day must not hold what its window needed. Other systems' allocators need no such word.

/// Makes the allocator keep little: two arenas instead of eight a core. For the very start of a program that waits most of
/// the time; costs a little speed where many threads allocate at once. The size from which blocks go back at once is left
/// to the allocator, which learns it: fixed, every large file would be paid for page by page.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator has no other door")]
pub fn keep_little() {
    // SAFETY: mallopt takes two numbers and touches nothing of ours. No other thread runs yet; even if one did, the
    // allocator locks its own settings. A setting that it does not know is refused and changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Makes the allocator keep little: here it does by itself.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn keep_little() {}

/// Gives back what is free now, for after something large is gone. Takes some milliseconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator has no other door")]
pub fn give_back() {
    // SAFETY: malloc_trim takes the allocator's own locks and moves no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives back what is free now: here the allocator does by itself.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn give_back() {}
