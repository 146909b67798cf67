//! What of computer use is offered on one link, and why the rest is not (spec 10.1). Fixed by a HELLO until the next.

use drawbridge_caps::computer::Features;
use drawbridge_core::OpError;
use drawbridge_core::computer::{ComputerOp, InputOp};

use super::SAYS_NOTHING;

/// What is offered. Nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Fine features, in the order in which they were found.
    pub(crate) fine: Vec<&'static str>,
    /// Coarse buckets.
    pub(crate) coarse: Vec<&'static str>,
    /// Why what is missing is missing.
    pub(crate) missing: Vec<(&'static str, String)>,
    /// Size of the primary display, where the screen may be seen.
    pub(crate) resolution: Option<(u32, u32)>,
}

impl Offer {
    /// Keeps of what was found what two powers cover. A seat of which nothing can be used is offered as nothing.
    pub(super) fn of(found: &Features, screen: bool, clipboard: bool) -> Self {
        let on = |name: &str| if name.starts_with("clipboard") { clipboard } else { screen };
        let kept = |names: &[&'static str]| names.iter().copied().filter(|name| on(name)).collect();
        let (fine, coarse): (Vec<_>, Vec<_>) = (kept(&found.fine), kept(&found.coarse));
        let missing = found.missing.iter().filter(|(name, _)| on(name)).cloned().collect();
        if fine.iter().chain(&coarse).all(|name| SAYS_NOTHING.contains(name)) {
            return Self { missing, ..Self::default() };
        }
        Self { fine, coarse, missing, resolution: found.screen_resolution.filter(|_| screen) }
    }

    /// Tells whether there is anything to offer.
    pub(crate) fn is_empty(&self) -> bool {
        self.fine.is_empty() && self.coarse.is_empty()
    }

    /// Refuses an operation that was not offered.
    ///
    /// # Errors
    /// [`OpError::Unsupported`] with the reason that was found.
    pub(crate) fn check(&self, op: &ComputerOp) -> Result<(), OpError> {
        if matches!(op, ComputerOp::Input(InputOp::Wait { .. })) {
            return Ok(());
        }
        let feature = op.feature();
        let bucket = bucket_of(op);
        if self.fine.contains(&feature) || bucket.is_some_and(|bucket| self.coarse.contains(&bucket)) {
            return Ok(());
        }
        let why_of = |name: &str| self.missing.iter().find(|(missing, _)| *missing == name).map(|(_, why)| why.clone());
        let why = why_of(feature).or_else(|| bucket.and_then(why_of)).unwrap_or_else(|| {
            "it was not offered on this connection, since this computer could not do it or did not allow it then"
                .to_owned()
        });
        Err(OpError::Unsupported { feature: feature.to_owned(), why })
    }
}

/// The coarse bucket that promises an operation (spec 10.1). What a bucket does not promise has a fine feature alone.
const fn bucket_of(op: &ComputerOp) -> Option<&'static str> {
    match op {
        ComputerOp::Screenshot(op) if op.area.is_none() => Some("screenshot"),
        ComputerOp::Screenshot(_) => None,
        ComputerOp::Input(op) => match op {
            InputOp::Click { .. }
            | InputOp::Move { .. }
            | InputOp::Type { .. }
            | InputOp::Key(_)
            | InputOp::Scroll { .. } => Some("input"),
            InputOp::Down { .. }
            | InputOp::Up { .. }
            | InputOp::Drag { .. }
            | InputOp::HoldKey { .. }
            | InputOp::Wait { .. } => None,
        },
        ComputerOp::CursorPosition => Some("input"),
        ComputerOp::DisplayInfo => None,
        ComputerOp::WindowList(_) | ComputerOp::WindowFocus { .. } => Some("windows"),
        ComputerOp::AppList { .. } | ComputerOp::AppLaunch(_) => Some("apps"),
        ComputerOp::ClipboardRead | ComputerOp::ClipboardWrite { .. } => Some("clipboard"),
        ComputerOp::PermissionsCheck { .. } => Some("permissions"),
    }
}
