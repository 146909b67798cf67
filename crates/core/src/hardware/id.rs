//! Names of devices for sharing. How a name comes from what a device is, `os` knows.

use std::fmt;

use super::DeviceKind;

/// Names a device for sharing. Stable over unplugging and restarts, and bound to what the device is: another device in the same
/// place has another name. Lower-case letters, digits and `-`, `.`, `:`; never a serial number in clear.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(String);

/// Why a text names no device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a device has 1 to 128 characters: lower-case letters, digits, `-`, `.`, `:`")]
pub struct BadDeviceId;

impl DeviceId {
    /// Longest name, in characters.
    pub const MAX: usize = 128;

    /// Checks and takes a name.
    ///
    /// # Errors
    /// [`BadDeviceId`].
    pub fn parse(text: &str) -> Result<Self, BadDeviceId> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
        if text.is_empty() || text.len() > Self::MAX || !text.bytes().all(fits) {
            return Err(BadDeviceId);
        }
        Ok(Self(text.to_owned()))
    }

    /// Names a device by the beginning of a digest over what it is: `serial-0a1b2c3d4e5f`.
    #[must_use]
    pub fn of_digest(kind: DeviceKind, digest: [u8; 6]) -> Self {
        Self(format!("{}-{}", kind.name(), crate::hex::encode(digest)))
    }

    /// Names a device by what it is called. Letters become lower case, what does not fit becomes `-`, and a long name is cut.
    #[must_use]
    pub fn plain(kind: DeviceKind, called: &str) -> Self {
        let fit = |c: char| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '.' | ':') => c,
            _ => '-',
        };
        Self(format!("{}-", kind.name()).chars().chain(called.chars().map(fit)).take(Self::MAX).collect())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_plain() {
        for good in ["serial-0a1b2c3d4e5f", "usb-2341:0043-1.4", "gpio-gpiochip0"] {
            assert_eq!(DeviceId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "Serial", "a b", "a/b", "ü", "a\n", &"x".repeat(129)] {
            assert_eq!(DeviceId::parse(bad), Err(BadDeviceId), "{bad:?}");
        }
    }

    #[test]
    fn names_that_are_made_here_are_names() {
        let made = [
            DeviceId::of_digest(DeviceKind::Serial, [0, 1, 0xfe, 0xff, 0x10, 0xa0]),
            DeviceId::plain(DeviceKind::Gpio, "Pinctrl BCM/2711 ü"),
            DeviceId::plain(DeviceKind::Gpio, &"x".repeat(500)),
            DeviceId::plain(DeviceKind::Gpio, ""),
        ];
        assert_eq!(made[0].as_str(), "serial-0001feff10a0");
        assert_eq!(made[1].as_str(), "gpio-pinctrl-bcm-2711--");
        for name in made {
            assert_eq!(DeviceId::parse(name.as_str()), Ok(name));
        }
    }
}
