//! Whole numbers as models and JSON libraries write them: `500`, and `500.0` too.
//!
//! A number beyond 64 bits counts as the nearest that fits, so that what clamps may clamp; a point on the screen is refused
//! when it does not fit. A fraction is refused, never rounded: half a pixel is a mistake somewhere.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A whole number in either spelling.
#[derive(Clone, Copy)]
struct Whole(i64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNumber)
    }
}

struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
        Ok(Whole(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast takes the nearest number that fits, as is wanted here"
    )]
    fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
        if value.fract() == 0.0 {
            Ok(Whole(value as i64))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }
}

/// A number of one coordinate.
#[derive(Clone, Copy)]
pub(super) struct Unit(i32);

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Whole(value) = Whole::deserialize(deserializer)?;
        let far = |_| D::Error::invalid_value(Unexpected::Signed(value), &"a coordinate of 32 bits");
        i32::try_from(value).map(Self).map_err(far)
    }
}

pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|Whole(value)| value))
}

/// `[x, y]` or `[x1, y1, x2, y2]`.
pub(super) fn units<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<Option<[i32; N]>, D::Error>
where
    [Unit; N]: Deserialize<'de>,
{
    Ok(Option::<[Unit; N]>::deserialize(deserializer)?.map(|units| units.map(|Unit(value)| value)))
}

/// A list of `[x, y]`.
pub(super) fn points<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<[i32; 2]>>, D::Error> {
    let points = Option::<Vec<[Unit; 2]>>::deserialize(deserializer)?;
    Ok(points.map(|points| points.into_iter().map(|point| point.map(|Unit(value)| value)).collect()))
}
