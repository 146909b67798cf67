//! Dragging: from the first point through all to the last.
//!
//! A path is thinned out where it has more points than a display can follow, and filled up where it has few, since many programs begin
//! a drag only after a first short move, and drop only where a move was seen before. Points in between lie on the straight line.

use std::time::{Duration, Instant};

use drawbridge_core::OpError;
use drawbridge_core::computer::{Button, Point};

use super::hands::Hands;
use crate::computer::guard;

/// The most points of a movement (spec 10.4).
const MOST: usize = 100;
/// Longest step of a movement that is filled up, in wire units.
const STEP: u32 = 25;
/// Time of a step where no duration is given.
const STEP_TIME: Duration = Duration::from_millis(8);
/// The button rests at both ends, so that a program has seen the press before the first move and the last move before the
/// release.
const REST: Duration = Duration::from_millis(40);

impl Hands<'_> {
    pub(super) fn drag(&self, path: &[Point], button: Button, duration: Option<Duration>) -> Result<(), OpError> {
        let (Some(first), Some(last)) = (path.first().copied(), path.last().copied()) else { return Ok(()) };
        self.is_up(button)?;
        guard::may_touch(self.inner, self.job, first)?;
        guard::may_touch(self.inner, self.job, last)?;
        self.apart(first, button)?;
        let way = way(path);
        self.input.move_to(first).map_err(|fault| self.told(fault))?;
        self.press(first, button)?;
        self.wait(REST, &mut || Ok(()))?;
        self.follow(&way, duration)?;
        self.wait(REST, &mut || Ok(()))?;
        guard::may_touch(self.inner, self.job, last)?;
        self.still_down(button)?;
        self.release(button)
    }

    /// Moves through all points but the first, spread evenly over the time.
    fn follow(&self, way: &[Point], duration: Option<Duration>) -> Result<(), OpError> {
        let steps = u32::try_from(way.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let whole = duration.unwrap_or(STEP_TIME * steps);
        let began = Instant::now();
        for (point, number) in way.iter().skip(1).zip(1_u32..) {
            let due = whole.mul_f64(f64::from(number) / f64::from(steps.max(1)));
            self.wait(due.saturating_sub(began.elapsed()), &mut || Ok(()))?;
            self.move_to(*point)?;
        }
        Ok(())
    }

    /// The person's own move lets go of the button by itself.
    fn still_down(&self, button: Button) -> Result<(), OpError> {
        self.go_on()?;
        if self.input.held().buttons.contains(&button) {
            return Ok(());
        }
        Err(self.refused("the button was let go in the middle of the drag".to_owned()))
    }
}

/// Returns the points to go through, at most [`MOST`], with the first and the last as they are.
fn way(path: &[Point]) -> Vec<Point> {
    if path.len() >= MOST {
        return thinned(path);
    }
    let spare = MOST - path.len();
    let hops: Vec<u32> = path.windows(2).map(|hop| length(hop) / STEP).collect();
    let wished: u64 = hops.iter().map(|steps| u64::from(*steps)).sum();
    let share = |steps: u32| {
        let all = u64::from(steps);
        // All that is wished for, or each hop its part of what there is.
        if wished <= spare as u64 { all } else { all * spare as u64 / wished }
    };
    let mut way = Vec::with_capacity(MOST);
    way.extend(path.first());
    for (hop, steps) in path.windows(2).zip(hops) {
        let [from, to] = hop else { continue };
        let between = share(steps);
        way.extend((1..=between).map(|number| along(*from, *to, number, between + 1)));
        way.push(*to);
    }
    way
}

fn thinned(path: &[Point]) -> Vec<Point> {
    let last = path.len().saturating_sub(1);
    (0..MOST).filter_map(|number| path.get(number * last / (MOST - 1))).copied().collect()
}

fn length(hop: &[Point]) -> u32 {
    match hop {
        [from, to] => from.x.abs_diff(to.x).max(from.y.abs_diff(to.y)),
        _ => 0,
    }
}

fn along(from: Point, to: Point, number: u64, of: u64) -> Point {
    let part = |from: i32, to: i32| {
        let way = i64::from(to) - i64::from(from);
        let part = way * i64::try_from(number).unwrap_or(0) / i64::try_from(of).unwrap_or(1).max(1);
        i32::try_from(i64::from(from) + part).unwrap_or(to)
    };
    Point::new(part(from.x, to.x), part(from.y, to.y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(pairs: &[(i32, i32)]) -> Vec<Point> {
        pairs.iter().map(|(x, y)| Point::new(*x, *y)).collect()
    }

    #[test]
    fn a_long_hop_is_filled_up_on_its_line_and_short_ones_are_not() {
        assert_eq!(way(&points(&[(0, 0), (10, 20)])), points(&[(0, 0), (10, 20)]));
        assert_eq!(
            way(&points(&[(0, 0), (100, -50), (101, -50)])),
            points(&[(0, 0), (20, -10), (40, -20), (60, -30), (80, -40), (100, -50), (101, -50)])
        );
    }

    #[test]
    fn a_movement_never_has_more_than_its_most_points_and_keeps_its_ends() {
        let wide = way(&points(&[(-30_000, 0), (30_000, 0), (0, 30_000)]));
        let long: Vec<Point> = (0..10_000).map(|number| Point::new(number, number % 7)).collect();
        let thin = way(&long);
        let exact = way(long.get(..MOST).unwrap());

        assert!(wide.len() <= MOST && wide.len() > MOST - 5, "{}", wide.len());
        assert!(wide.contains(&Point::new(30_000, 0)) && wide.last() == Some(&Point::new(0, 30_000)));
        assert_eq!((thin.len(), thin.first(), thin.last()), (MOST, long.first(), long.last()));
        assert!(thin.windows(2).all(|pair| pair[0].x < pair[1].x));
        assert_eq!(exact, long.get(..MOST).unwrap());
    }
}
