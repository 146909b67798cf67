//! Computer-use messages (spec 10), as plain data. What a payload means, and which of its fields count, is decided in
//! [`crate::executor::map`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number;

/// SCREENSHOT_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScreenshotRequest {
    /// 0 is the primary display, −1 all stitched. Default 0.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub monitor: Option<i64>,
    /// JPEG quality, default 75.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub quality: Option<i64>,
    /// `[x1, y1, x2, y2]`.
    #[serde(default, deserialize_with = "number::units", skip_serializing_if = "Option::is_none")]
    pub region: Option<[i32; 4]>,
    /// A window instead of a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_id: Option<String>,
    /// "jpeg" (default) or "png".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ImageFormat>,
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_cursor: Option<bool>,
}

/// Picture formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
}

/// SCREENSHOT_RESPONSE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScreenshotResponse {
    /// The picture.
    pub image_base64: String,
    /// Its type.
    pub mime_type: String,
    /// In picture pixels.
    pub width: u32,
    /// In picture pixels.
    pub height: u32,
    /// The display.
    pub monitor: i32,
    /// The region asked for.
    pub region: Option<[i32; 4]>,
    /// Picture pixels per wire unit.
    pub display_scale: f64,
    /// Size of the display in its own units.
    pub logical_size: [u32; 2],
    /// Where the picture lies.
    pub meta: ScreenshotMeta,
}

/// Where a picture lies in the one coordinate space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenshotMeta {
    /// Its top-left corner.
    pub origin: [i32; 2],
    /// Index of the display, −1 when stitched.
    pub display_id: i32,
    /// The picture has one single colour: nothing is shown there, or it cannot be seen. An addition of ours, absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_colour: Option<bool>,
}

/// What INPUT_ACTION does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is the action it names")]
pub enum InputKind {
    #[default]
    LeftClick,
    RightClick,
    DoubleClick,
    MiddleClick,
    TripleClick,
    MouseMove,
    MouseDown,
    MouseUp,
    Drag,
    Type,
    Key,
    HoldKey,
    Scroll,
    Wait,
}

/// INPUT_ACTION. Which fields count depends on the action (spec 10.4).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InputAction {
    /// The action.
    pub action: InputKind,
    /// The point.
    #[serde(default, deserialize_with = "number::units", skip_serializing_if = "Option::is_none")]
    pub coordinate: Option<[i32; 2]>,
    /// Text to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Key or chord.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Direction to scroll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Amount to scroll.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub clicks: Option<i64>,
    /// "left", "middle" or "right".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub button: Option<String>,
    /// Keys held around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modifiers: Option<Vec<String>>,
    /// Stands before `clicks`.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub scroll_amount: Option<i64>,
    /// Stands before `direction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scroll_direction: Option<String>,
    /// For `hold_key`, `wait` and `drag`.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Points of a drag.
    #[serde(default, deserialize_with = "number::points", skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<[i32; 2]>>,
    /// Paste instead of typing, default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<bool>,
    /// Put the clipboard back, default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_clipboard: Option<bool>,
}

/// CURSOR_POSITION_RESPONSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorPosition {
    /// Across.
    pub x: i32,
    /// Down.
    pub y: i32,
    /// The display, 0 when none contains it.
    pub monitor: i32,
}

/// DISPLAY_INFO_RESPONSE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisplayInfo {
    /// Primary first.
    pub monitors: Vec<Monitor>,
}

/// One display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    /// Its index.
    pub index: i32,
    /// It is the primary one.
    pub primary: bool,
    /// In hardware pixels.
    pub physical_size: [u32; 2],
    /// In its own units.
    pub logical_size: [u32; 2],
    /// Hardware pixels per unit.
    pub scale: f64,
    /// Its top-left corner.
    pub origin: [i32; 2],
}

/// WINDOW_LIST_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WindowListRequest {
    /// Only windows of this app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_bundle_id: Option<String>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_minimized: Option<bool>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_offscreen: Option<bool>,
}

/// WINDOW_LIST_RESPONSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowList {
    /// The windows.
    pub windows: Vec<Window>,
    /// Some were left out.
    pub truncated: bool,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// `win_` and a UUID, never used again.
    pub window_id: String,
    /// Its process.
    pub pid: u32,
    /// Its app.
    pub app_name: String,
    /// Its app's identifier.
    pub app_bundle_id: Option<String>,
    /// Its title.
    pub title: String,
    /// `[x1, y1, x2, y2]`.
    pub bounds: [i32; 4],
    /// The display.
    pub monitor: i32,
    /// It has the keyboard.
    pub is_focused: bool,
    /// It is minimised.
    pub is_minimized: bool,
    /// It fills the screen.
    pub is_fullscreen: bool,
}

/// WINDOW_FOCUS.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WindowFocus {
    /// The window.
    pub window_id: String,
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raise: Option<bool>,
}

/// APP_LIST_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AppListRequest {
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_background: Option<bool>,
}

/// APP_LIST_RESPONSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppList {
    /// The apps.
    pub apps: Vec<App>,
}

/// One app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its identifier.
    pub bundle_id: Option<String>,
    /// Its program.
    pub executable_path: Option<String>,
    /// It has the screen.
    pub is_frontmost: bool,
    /// Its windows.
    pub window_count: u32,
}

/// APP_LAUNCH.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AppLaunch {
    /// By identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle_id: Option<String>,
    /// By program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable_path: Option<String>,
    /// Arguments, default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activate: Option<bool>,
}

/// CLIPBOARD_READ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClipboardRead {
    /// "text".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// CLIPBOARD_READ_RESPONSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClipboardContent {
    /// "text".
    pub format: String,
    /// The text.
    pub content: String,
    /// Its size as UTF-8.
    pub size_bytes: u64,
}

/// CLIPBOARD_WRITE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClipboardWrite {
    /// "text".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The text.
    pub content: String,
}

/// PERMISSIONS_CHECK_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PermissionsCheckRequest {
    /// Names of permissions.
    pub permissions: Vec<String>,
}

/// PERMISSIONS_CHECK_RESPONSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionsCheck {
    /// State of each.
    pub permissions: BTreeMap<String, PermissionState>,
}

/// State of a permission of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// Given.
    Granted,
    /// Refused.
    Denied,
    /// Cannot be told.
    Unknown,
    /// This system has no such permission.
    NotApplicable,
}
