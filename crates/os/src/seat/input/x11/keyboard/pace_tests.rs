//! Tests of pace.

use super::*;
