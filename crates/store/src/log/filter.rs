//! What is let through: as the person wished for Drawbridge's own parts, and from `info` on alone for all others.
//!
//! Some libraries log whole messages at finer levels, and those hold contents and tokens. So no wish goes beneath that for them,
//! also when it names them.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// With this every part of Drawbridge begins its name.
const OURS: &str = "drawbridge";
/// Of the others, where the wish does not name them.
const OTHERS: LevelFilter = LevelFilter::WARN;
/// Of the others, where it does.
const NAMED: LevelFilter = LevelFilter::INFO;

/// Makes the filter for a wish. Also tells what is wrong with it; then it counts as `info`.
pub(super) fn of(wish: Option<&str>) -> (Targets, Option<String>) {
    match wish.unwrap_or("info").parse::<Targets>() {
        Ok(wished) => (capped(&wished), None),
        Err(fault) => (capped(&Targets::new().with_default(LevelFilter::INFO)), Some(fault.to_string())),
    }
}

fn capped(wished: &Targets) -> Targets {
    let default = wished.default_level().unwrap_or(LevelFilter::OFF);
    let capped = Targets::new().with_default(default.min(OTHERS)).with_target(OURS, default);
    wished.iter().fold(capped, |capped, (target, level)| {
        let level = if target.starts_with(OURS) { level } else { level.min(NAMED) };
        capped.with_target(target, level)
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_wish_holds_for_our_parts_and_nobody_elses_messages_are_logged() {
        let (filter, problem) = of(Some("trace"));
        assert!(problem.is_none());
        assert!(filter.would_enable("drawbridge_engine::link", &Level::TRACE));
        assert!(filter.would_enable("drawbridge::start", &Level::TRACE));
        for carrier in ["tungstenite::protocol", "hyper_util::client", "h2", "reqwest", "zbus", "rustls"] {
            assert!(!filter.would_enable(carrier, &Level::INFO), "{carrier}");
            assert!(filter.would_enable(carrier, &Level::WARN), "{carrier}");
        }

        let (filter, _) = of(Some("warn,drawbridge_engine::link=debug,tungstenite=trace"));
        assert!(filter.would_enable("drawbridge_engine::link::connection", &Level::DEBUG));
        assert!(!filter.would_enable("drawbridge_store", &Level::INFO));
        assert!(filter.would_enable("tungstenite", &Level::INFO));
        assert!(!filter.would_enable("tungstenite", &Level::DEBUG));

        let (filter, _) = of(Some("off"));
        assert!(!filter.would_enable("drawbridge", &Level::ERROR));
        assert!(!filter.would_enable("zbus", &Level::ERROR));
    }

    #[test]
    fn a_wish_that_cannot_be_understood_counts_as_info_and_is_told() {
        for wrong in ["drawbridge=loud", "a=b=c"] {
            let (filter, problem) = of(Some(wrong));
            assert!(problem.is_some(), "{wrong}");
            assert!(filter.would_enable("drawbridge_engine", &Level::INFO));
            assert!(!filter.would_enable("drawbridge_engine", &Level::DEBUG));
        }
        assert!(of(None).0.would_enable("drawbridge_engine", &Level::INFO));
    }
}
