//! Whether this user may open a device, told without opening it, and what to do about it.

use std::path::Path;

/// Tells why this user cannot open a device for reading and writing, and what gives it; none when they can, when nothing is there,
/// and on systems whose devices belong to no group.
#[must_use]
pub fn denied(path: &Path) -> Option<String> {
    system::denied(path)
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use rustix::fs::{Access, AtFlags, CWD, accessat};
    use rustix::io::Errno;
    use rustix::process::{geteuid, getgid, getgroups};

    const GROUP_READ_WRITE: u32 = 0o060;

    pub(super) fn denied(path: &Path) -> Option<String> {
        match accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS) {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {}
            // Whatever else stands in the way, opening it says so.
            Ok(()) | Err(_) => return None,
        }
        let facts = fs::metadata(path).ok()?;
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (groups, users) = (read("/etc/group"), read("/etc/passwd"));
        let mine: Vec<u32> =
            getgroups().unwrap_or_default().iter().map(|gid| gid.as_raw()).chain([getgid().as_raw()]).collect();
        let who = super::Who {
            gid: facts.gid(),
            group_may: facts.mode() & GROUP_READ_WRITE == GROUP_READ_WRITE,
            uid: geteuid().as_raw(),
            mine: &mine,
        };
        Some(super::advice(&path.to_string_lossy(), &who, &groups, &users))
    }
}

#[cfg(not(unix))]
mod system {
    use std::path::Path;

    pub(super) const fn denied(_: &Path) -> Option<String> {
        None
    }
}

/// A device that says no, and who asks.
struct Who<'a> {
    /// The device's group.
    gid: u32,
    /// That group may read and write it.
    group_may: bool,
    /// The user.
    uid: u32,
    /// The groups of this process.
    mine: &'a [u32],
}

/// Says what helps. `groups` and `users` are what stands in `/etc/group` and `/etc/passwd`.
fn advice(path: &str, who: &Who<'_>, groups: &str, users: &str) -> String {
    let Some((group, members)) = group_of(groups, who.gid) else {
        return format!(
            "this user may not open {path}: it belongs to the group with number {}, which has no name here; \
             ask whoever looks after this computer",
            who.gid
        );
    };
    // The superuser's own group is never the answer: it gives far more than a device.
    if !who.group_may || who.gid == 0 || who.mine.contains(&who.gid) {
        return format!(
            "this user may not open {path}, and no group gives it (its group is {group}); \
             ask whoever looks after this computer, or add a udev rule for the device"
        );
    }
    let name = user_of(users, who.uid);
    if name.is_some_and(|name| members.split(',').any(|member| member == name)) {
        return format!(
            "this user may not open {path} yet: you are in the group {group}, but not since you signed in; \
             sign out and in again"
        );
    }
    format!(
        "this user may not open {path}: it belongs to the group {group}. Add yourself with \
         `sudo usermod -aG {group} $USER`, then sign out and in again"
    )
}

fn group_of(groups: &str, gid: u32) -> Option<(&str, &str)> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, number, members) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(gid)).then_some((name, members))
    })
}

fn user_of(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\ndialout:x:20:kim,sam\nbroken line\nplugdev:x:46:\n";
    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nkim:x:1000:1000::/home/kim:/bin/sh\n";

    fn said(gid: u32, group_may: bool, uid: u32, mine: &[u32]) -> String {
        advice("/dev/ttyUSB0", &Who { gid, group_may, uid, mine }, GROUPS, USERS)
    }

    #[test]
    fn the_group_that_gives_it_is_named_with_the_command() {
        let text = said(20, true, 1001, &[1001]);
        assert!(text.contains("the group dialout") && text.contains("sudo usermod -aG dialout $USER"), "{text}");
    }

    #[test]
    fn who_joined_it_only_now_is_told_to_sign_in_again() {
        let text = said(20, true, 1000, &[1000]);
        assert!(text.contains("sign out and in again") && !text.contains("usermod"), "{text}");
    }

    #[test]
    fn a_group_that_would_not_help_is_not_advised() {
        for text in [said(0, true, 1000, &[1000]), said(20, false, 1000, &[1000]), said(20, true, 1000, &[20])] {
            assert!(text.contains("no group gives it") && !text.contains("usermod"), "{text}");
        }
        assert!(said(4711, true, 1000, &[1000]).contains("number 4711"));
    }
}
