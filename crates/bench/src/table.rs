//! The table that is printed: what was measured, beside its budget and beside what this machine can do at best.

use std::time::Duration;

/// How a figure compares with its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within the budget.
    Ok,
    /// Over the budget.
    Over,
    /// There is no budget for it.
    None,
    /// It could not be measured here.
    NotHere,
}

impl Verdict {
    /// Within the budget, or not.
    pub(crate) fn of(within: bool) -> Self {
        if within { Self::Ok } else { Self::Over }
    }

    /// The verdict of this word.
    pub(crate) fn named(word: &str) -> Self {
        [Self::Ok, Self::Over, Self::NotHere].into_iter().find(|verdict| verdict.word() == word).unwrap_or(Self::None)
    }

    /// Its word in the table.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Over => "OVER",
            Self::None => "-",
            Self::NotHere => "not here",
        }
    }
}

/// One figure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) figure: String,
    pub(crate) budget: String,
    pub(crate) measured: String,
    pub(crate) limit: String,
    pub(crate) verdict: Verdict,
}

/// All figures.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a figure.
    pub(crate) fn add(
        &mut self,
        figure: impl Into<String>,
        budget: impl Into<String>,
        measured: impl Into<String>,
        limit: impl Into<String>,
        verdict: Verdict,
    ) {
        let row = Row {
            figure: figure.into(),
            budget: budget.into(),
            measured: measured.into(),
            limit: limit.into(),
            verdict,
        };
        eprintln!("  {}: {} [{}] {}", row.figure, row.measured, row.limit, row.verdict.word());
        self.rows.push(row);
    }

    /// Adds a figure that cannot be taken on this machine, with the reason.
    pub(crate) fn missing(&mut self, figure: &str, budget: &str, why: &str) {
        self.add(figure, budget, why, "", Verdict::NotHere);
    }

    /// Tells whether any figure is over its budget.
    pub(crate) fn any_over(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Verdict::Over)
    }

    /// Prints it, columns in line.
    pub(crate) fn print(&self) {
        let head = ["figure", "budget", "measured", "physical limit, same run", ""].map(str::to_owned);
        let mut lines = vec![head];
        lines.extend(
            self.rows
                .iter()
                .cloned()
                .map(|row| [row.figure, row.budget, row.measured, row.limit, row.verdict.word().to_owned()]),
        );
        let mut widths = [0; 5];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for (number, line) in lines.iter().enumerate() {
            let cells: Vec<String> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            println!("| {} |", cells.join(" | "));
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                println!("| {} |", rules.join(" | "));
            }
        }
    }
}

/// Many measurements of one thing.
#[derive(Debug, Default, Clone)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The value below which this part of all measurements lies.
    pub(crate) fn at(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place within the list")]
        let place = (part * last as f64).round() as usize;
        sorted.get(place).copied().unwrap_or_default()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.at(0.5)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.at(0.99)
    }
}

/// A duration in the unit that reads best.
pub(crate) fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        ..1_000.0 => format!("{us:.0} µs"),
        ..100_000.0 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.0} ms", us / 1e3),
    }
}

/// How many times the one takes as long as the other.
pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-9)
}

/// Megabytes a second.
pub(crate) fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
}
