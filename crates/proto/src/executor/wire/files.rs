//! File messages (spec 8). Missing optional fields stay `None` here; `map` puts the defaults in.

use serde::{Deserialize, Serialize};

/// How content travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Encoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As bytes.
    #[serde(rename = "base64")]
    Base64,
}

/// The second spelling of the same choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As text.
    Text,
    /// As bytes.
    Bytes,
}

/// FILE_READ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileRead {
    /// The path.
    pub path: String,
    /// Default `utf-8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Default `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// First byte, default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Number of bytes; default: up to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// `content` (default), or `stub` in privacy mode (spec 13).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Privacy mode (spec 13): so many first bytes are wanted with a stub; default: none. As many are told as the person lets leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_preview_bytes: Option<u64>,
}

/// FILE_CONTENTS: content, or in privacy mode a stub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileContents {
    /// Content.
    Content(FileContent),
    /// A stub (spec 13).
    Stub(FileStub),
}

/// The content of a file or of a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileContent {
    /// In the encoding named.
    pub content: String,
    /// The encoding used.
    pub encoding: Encoding,
    /// Bytes returned, before base64.
    pub size_bytes: u64,
    /// Bytes remain after the range.
    pub truncated: bool,
    /// Invalid text was replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// A file described but not read out (spec 13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStub {
    /// "stub".
    pub mode: String,
    /// The file.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its type.
    pub mime_type: Option<String>,
    /// Hex digest of its content.
    pub sha256: String,
    /// Its first bytes in base64, as many as the person lets leave; usually none.
    pub schema_preview: String,
    /// Names the stub.
    pub stub_id: String,
}

/// FILE_WRITE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileWrite {
    /// The path.
    pub path: String,
    /// In the encoding named.
    pub content: String,
    /// Default `utf-8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_parents: Option<bool>,
}

/// FILE_STAT.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileStat {
    /// The path.
    pub path: String,
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_symlinks: Option<bool>,
}

/// FILE_STAT_RESPONSE.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileStatResponse {
    /// False: every other field but `path` is null.
    pub exists: bool,
    /// A regular file.
    pub is_file: Option<bool>,
    /// A folder.
    pub is_dir: Option<bool>,
    /// The named entry is a link.
    pub is_symlink: Option<bool>,
    /// Size.
    pub size_bytes: Option<u64>,
    /// Unix seconds.
    pub mtime: Option<f64>,
    /// Unix seconds.
    pub ctime: Option<f64>,
    /// Four octal digits.
    pub mode: Option<String>,
    /// Null on Windows.
    pub owner_uid: Option<u32>,
    /// Null on Windows.
    pub owner_gid: Option<u32>,
    /// By extension.
    pub mime_type: Option<String>,
    /// Canonical, or the path it would have.
    pub path: Option<String>,
}

/// FILE_LIST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileList {
    /// The folder.
    pub path: String,
    /// Pattern for base names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_hidden: Option<bool>,
    /// Default 1000; above 10 000 counts as 10 000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_entries: Option<i64>,
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Base name.
    pub name: String,
    /// Absolute path.
    pub path: String,
    /// A regular file.
    pub is_file: bool,
    /// A folder.
    pub is_dir: bool,
    /// A link.
    pub is_symlink: bool,
    /// Size.
    pub size_bytes: u64,
    /// Unix seconds.
    pub mtime: f64,
}

/// FILE_LIST_RESPONSE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileListResponse {
    /// The entries.
    pub entries: Vec<FileEntry>,
    /// At least one more would have matched.
    pub truncated: bool,
}

/// FILE_DELETE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileDelete {
    /// The path.
    pub path: String,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_ok: Option<bool>,
}

/// FILE_MOVE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileMove {
    /// From here.
    pub src: String,
    /// To here.
    pub dst: String,
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
}
