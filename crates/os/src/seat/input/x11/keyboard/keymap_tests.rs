//! Tests of keymap.

use super::*;
