//! Tests of entries.

use super::*;
