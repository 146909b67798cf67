//! What may be asked for (spec 10.3 to 10.9).

use std::time::Duration;

use super::facts::PictureFormat;
use super::geometry::{Point, Rect};
use super::keys::{Chord, Modifier};
use crate::Power;

/// One thing asked of the computer's own screen and input.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ComputerOp {
    /// Takes a picture.
    Screenshot(ScreenshotOp),
    /// Uses pointer or keyboard.
    Input(InputOp),
    /// Tells where the pointer is.
    CursorPosition,
    /// Tells which displays there are.
    DisplayInfo,
    /// Lists windows.
    WindowList(WindowListOp),
    /// Gives a window the keyboard.
    WindowFocus {
        /// `win_` and a UUID of an earlier list.
        window_id: String,
        /// Brings it to the front.
        raise: bool,
    },
    /// Lists apps that run.
    AppList {
        /// Also those without a window.
        include_background: bool,
    },
    /// Starts an app.
    AppLaunch(AppLaunchOp),
    /// Reads the clipboard's text.
    ClipboardRead,
    /// Puts a text into the clipboard.
    ClipboardWrite {
        /// The text; never in a log.
        text: String,
    },
    /// Tells which permissions of the system there are. Never asks the person.
    PermissionsCheck {
        /// Names as the peer wrote them, in its order.
        names: Vec<String>,
    },
}

impl ComputerOp {
    /// Returns the power that covers it.
    #[must_use]
    pub const fn power(&self) -> Power {
        match self {
            Self::ClipboardRead | Self::ClipboardWrite { .. } => Power::Clipboard,
            Self::Screenshot(_)
            | Self::Input(_)
            | Self::CursorPosition
            | Self::DisplayInfo
            | Self::WindowList(_)
            | Self::WindowFocus { .. }
            | Self::AppList { .. }
            | Self::AppLaunch(_)
            | Self::PermissionsCheck { .. } => Power::ComputerUse,
        }
    }

    /// Returns the name for the audit log, which is the message type (spec 3.3).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Screenshot(_) => "SCREENSHOT_REQUEST",
            Self::Input(_) => "INPUT_ACTION",
            Self::CursorPosition => "CURSOR_POSITION_REQUEST",
            Self::DisplayInfo => "DISPLAY_INFO_REQUEST",
            Self::WindowList(_) => "WINDOW_LIST_REQUEST",
            Self::WindowFocus { .. } => "WINDOW_FOCUS",
            Self::AppList { .. } => "APP_LIST_REQUEST",
            Self::AppLaunch(_) => "APP_LAUNCH",
            Self::ClipboardRead => "CLIPBOARD_READ",
            Self::ClipboardWrite { .. } => "CLIPBOARD_WRITE",
            Self::PermissionsCheck { .. } => "PERMISSIONS_CHECK_REQUEST",
        }
    }

    /// Returns the fine feature that stands for it in HELLO (spec 10.1). `type` and `key` have none of their own: they come
    /// with the coarse `input`.
    #[must_use]
    pub const fn feature(&self) -> &'static str {
        match self {
            Self::Screenshot(op) => match op.area {
                None => "screenshot.capture",
                Some(ScreenArea::Region(_)) => "screenshot.region",
                Some(ScreenArea::Window(_)) => "screenshot.window",
            },
            Self::Input(op) => op.feature(),
            Self::CursorPosition => "cursor.position",
            Self::DisplayInfo => "display.info",
            Self::WindowList(_) => "window.list",
            Self::WindowFocus { .. } => "window.focus",
            Self::AppList { .. } => "app.list",
            Self::AppLaunch(_) => "app.launch",
            Self::ClipboardRead => "clipboard.read",
            Self::ClipboardWrite { .. } => "clipboard.write",
            Self::PermissionsCheck { .. } => "permissions.check",
        }
    }
}

/// A picture to take (spec 10.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScreenshotOp {
    /// Index of the display, 0 the primary one; −1 all of them stitched.
    pub monitor: i32,
    /// JPEG quality, 1 to 100.
    pub quality: u8,
    /// Only a part.
    pub area: Option<ScreenArea>,
    /// Format of the picture.
    pub format: PictureFormat,
    /// Draws the pointer.
    pub include_cursor: bool,
}

/// A part of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ScreenArea {
    /// A rectangle, never empty.
    Region(Rect),
    /// A window of an earlier list.
    Window(String),
}

/// A button of the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Button {
    /// The first one.
    Left,
    /// The wheel.
    Middle,
    /// The one for menus.
    Right,
}

impl Button {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
        }
    }
}

/// A direction of scrolling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the direction it names")]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
}

impl Direction {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// One use of pointer or keyboard (spec 10.4).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum InputOp {
    /// Presses and releases a button, `count` times (1 to 3).
    Click {
        /// Where.
        at: Point,
        /// Which button.
        button: Button,
        /// How often.
        count: u8,
        /// Held around it.
        modifiers: Vec<Modifier>,
    },
    /// Moves the pointer.
    Move {
        /// To here.
        at: Point,
    },
    /// Presses a button and leaves it down.
    Down {
        /// Where.
        at: Point,
        /// Which button.
        button: Button,
    },
    /// Releases a button.
    Up {
        /// Where.
        at: Point,
        /// Which button.
        button: Button,
    },
    /// Presses at the first point, moves through all, releases at the last.
    Drag {
        /// At least 2 points.
        path: Vec<Point>,
        /// Which button.
        button: Button,
        /// Spreads the movement over this time.
        duration: Option<Duration>,
    },
    /// Types a text.
    Type {
        /// The text; never in a log.
        text: String,
        /// May be pasted when it is long.
        paste: bool,
        /// Puts the clipboard back after a paste.
        preserve_clipboard: bool,
    },
    /// Presses and releases a chord.
    Key(Chord),
    /// Holds a chord.
    HoldKey {
        /// The chord.
        chord: Chord,
        /// At most 5 seconds.
        duration: Duration,
    },
    /// Turns the wheel.
    Scroll {
        /// Where; none means where the pointer is.
        at: Option<Point>,
        /// Which way.
        direction: Direction,
        /// How many steps.
        amount: u32,
        /// Held around it.
        modifiers: Vec<Modifier>,
    },
    /// Does nothing for a while. Needs no permission of the system.
    Wait {
        /// At most 5 seconds.
        duration: Duration,
    },
}

impl InputOp {
    /// Returns the name of the action on the wire.
    #[must_use]
    pub const fn action(&self) -> &'static str {
        match self {
            Self::Click { count: 2, .. } => "double_click",
            Self::Click { count: 3, .. } => "triple_click",
            Self::Click { button: Button::Right, .. } => "right_click",
            Self::Click { button: Button::Middle, .. } => "middle_click",
            Self::Click { .. } => "left_click",
            Self::Move { .. } => "mouse_move",
            Self::Down { .. } => "mouse_down",
            Self::Up { .. } => "mouse_up",
            Self::Drag { .. } => "drag",
            Self::Type { .. } => "type",
            Self::Key(_) => "key",
            Self::HoldKey { .. } => "hold_key",
            Self::Scroll { .. } => "scroll",
            Self::Wait { .. } => "wait",
        }
    }

    /// Returns the fine feature that stands for it in HELLO; see [`ComputerOp::feature`].
    #[must_use]
    pub const fn feature(&self) -> &'static str {
        match self {
            Self::Click { .. } | Self::Move { .. } => "input.click",
            Self::Down { .. } | Self::Up { .. } => "input.mouse.down_up",
            Self::Drag { .. } => "input.drag.path",
            Self::Type { .. } | Self::Key(_) => "input",
            Self::HoldKey { .. } => "input.key.hold",
            Self::Scroll { .. } => "input.scroll.amount",
            Self::Wait { .. } => "input.wait",
        }
    }

    /// Returns every point that must lie on a display.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        match self {
            Self::Click { at, .. } | Self::Move { at } | Self::Down { at, .. } | Self::Up { at, .. } => vec![*at],
            Self::Drag { path, .. } => path.clone(),
            Self::Scroll { at, .. } => at.iter().copied().collect(),
            Self::Type { .. } | Self::Key(_) | Self::HoldKey { .. } | Self::Wait { .. } => Vec::new(),
        }
    }
}

/// Which windows to list (spec 10.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct WindowListOp {
    /// Only windows of this app.
    pub app: Option<String>,
    /// Also minimised ones.
    pub include_minimized: bool,
    /// Also those of which nothing can be seen.
    pub include_offscreen: bool,
}

/// An app to start (spec 10.7).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AppLaunchOp {
    /// By identifier: a desktop entry, a bundle.
    pub bundle_id: Option<String>,
    /// By program; counts when there is no identifier. Absolute.
    pub executable_path: Option<String>,
    /// Arguments, each passed as it is.
    pub args: Vec<String>,
    /// Gives its window the keyboard.
    pub activate: bool,
}
