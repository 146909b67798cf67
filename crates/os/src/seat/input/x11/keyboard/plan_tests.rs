//! Tests of plan.

use super::*;
