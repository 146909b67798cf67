//! Tests of rest.

use super::*;
