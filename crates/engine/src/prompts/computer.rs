//! What a question about screen, pointer, keyboard, apps and clipboard shows.
//!
//! A text that would be typed is shown whole to the person, since they cannot know otherwise what they allow; what was in the
//! clipboard before is never shown.

use drawbridge_caps::computer::{LaunchTarget, Reached};
use drawbridge_core::SessionId;
use drawbridge_core::computer::{AppLaunchOp, ComputerOp, InputOp, Modifier, Point, ScreenArea, ScreenshotOp};
use drawbridge_policy::PolicyState;

use super::label::Label;
use super::{MAX_WORDS, PromptFacts, argv, push, tell_left_out};
use crate::view::PromptDetail;

/// Points of a drag shown one by one.
const MAX_POINTS: usize = 100;

/// What is there at this moment.
pub(super) struct At<'a> {
    /// Whose window the operation would reach.
    pub(super) reached: Option<&'a Reached>,
    /// The app that would be started.
    pub(super) launch: Option<&'a LaunchTarget>,
}

pub(super) fn facts(
    op: &ComputerOp,
    at: &At<'_>,
    policy: &PolicyState,
    session: Option<&SessionId>,
    facts: &mut PromptFacts,
) {
    let details = &mut facts.details;
    match op {
        ComputerOp::Screenshot(op) => screenshot(op, details),
        ComputerOp::Input(op) => input(op, at.reached, details),
        ComputerOp::WindowFocus { window_id, .. } => push(details, Label::Window, window_id),
        ComputerOp::AppLaunch(op) => {
            launch(op, at.launch, details);
            // Words of their own, as those of a command: what is not shown can only be denied.
            let words = words(op, at.launch);
            let left_out;
            (facts.argv, left_out) = argv(&words);
            tell_left_out(details, left_out);
            if words.len() > MAX_WORDS {
                push(details, Label::MoreArguments, &(words.len() - MAX_WORDS).to_string());
            }
        }
        ComputerOp::ClipboardRead => {
            let foreign = policy.clipboard_foreign && policy.offers_in(op.power(), session);
            push(details, Label::Clipboard, if foreign { "foreign" } else { "own" });
        }
        ComputerOp::ClipboardWrite { text } => typed(text, details),
        ComputerOp::CursorPosition
        | ComputerOp::DisplayInfo
        | ComputerOp::WindowList(_)
        | ComputerOp::AppList { .. }
        | ComputerOp::PermissionsCheck { .. } => {}
    }
}

fn screenshot(op: &ScreenshotOp, details: &mut Vec<PromptDetail>) {
    match &op.area {
        None if op.monitor < 0 => push(details, Label::Area, "all"),
        None => push(details, Label::Area, &op.monitor.to_string()),
        Some(ScreenArea::Region(rect)) => {
            let [x1, y1, x2, y2] = rect.edges();
            push(details, Label::Area, &format!("{x1}, {y1} – {x2}, {y2}"));
        }
        Some(ScreenArea::Window(window_id)) => push(details, Label::Window, window_id),
    }
}

fn input(op: &InputOp, reached: Option<&Reached>, details: &mut Vec<PromptDetail>) {
    push(details, Label::Action, op.action());
    match op {
        InputOp::Click { at, modifiers, .. } => {
            point(*at, details);
            held(modifiers, details);
        }
        InputOp::Move { at } => point(*at, details),
        InputOp::Down { at, button } | InputOp::Up { at, button } => {
            point(*at, details);
            push(details, Label::Button, button.name());
        }
        InputOp::Drag { path, button, duration } => {
            for at in path.iter().take(MAX_POINTS) {
                push(details, Label::Way, &place(*at));
            }
            if path.len() > MAX_POINTS {
                push(details, Label::MorePoints, &(path.len() - MAX_POINTS).to_string());
            }
            push(details, Label::Button, button.name());
            if let Some(duration) = duration {
                push(details, Label::Duration, &duration.as_millis().to_string());
            }
        }
        InputOp::Type { text, paste, .. } => {
            typed(text, details);
            if *paste {
                push(details, Label::Paste, "yes");
            }
        }
        InputOp::Key(chord) => push(details, Label::Keys, &chord.text),
        InputOp::HoldKey { chord, duration } => {
            push(details, Label::Keys, &chord.text);
            push(details, Label::Duration, &duration.as_millis().to_string());
        }
        InputOp::Scroll { at, direction, amount, modifiers } => {
            if let Some(at) = at {
                point(*at, details);
            }
            push(details, Label::Scroll, &format!("{} × {amount}", direction.name()));
            held(modifiers, details);
        }
        InputOp::Wait { duration } => push(details, Label::Duration, &duration.as_millis().to_string()),
    }
    if let Some(Reached { app, title }) = reached {
        push(details, Label::App, app);
        push(details, Label::WindowTitle, title);
    }
}

fn launch(op: &AppLaunchOp, target: Option<&LaunchTarget>, details: &mut Vec<PromptDetail>) {
    if let Some(id) = &op.bundle_id {
        push(details, Label::AppId, id);
    }
    let Some(target) = target else { return };
    if let Some(name) = &target.name {
        push(details, Label::AppName, name);
    }
    if let Some(program) = &target.program {
        push(details, Label::Program, &program.to_string_lossy());
        if let Some(real) = target.real.as_ref().filter(|real| *real != program) {
            push(details, Label::ProgramTarget, &real.to_string_lossy());
        }
    }
    if target.in_terminal {
        push(details, Label::InTerminal, "yes");
    }
}

/// The app and each of its words, as far as the desktop tells them.
fn words(op: &AppLaunchOp, target: Option<&LaunchTarget>) -> Vec<String> {
    let mut words = target.map(|target| target.words.clone()).unwrap_or_default();
    if words.is_empty() {
        words.extend(op.executable_path.clone().or_else(|| op.bundle_id.clone()));
    }
    words.extend(op.args.iter().cloned());
    words
}

fn typed(text: &str, details: &mut Vec<PromptDetail>) {
    push(details, Label::Text, text);
    push(details, Label::TextLength, &text.chars().count().to_string());
}

fn held(modifiers: &[Modifier], details: &mut Vec<PromptDetail>) {
    if !modifiers.is_empty() {
        let names: Vec<&str> = modifiers.iter().map(|modifier| modifier.name()).collect();
        push(details, Label::Keys, &names.join("+"));
    }
}

fn point(at: Point, details: &mut Vec<PromptDetail>) {
    push(details, Label::Point, &place(at));
}

fn place(at: Point) -> String {
    format!("{}, {}", at.x, at.y)
}

#[cfg(test)]
#[path = "computer_tests.rs"]
mod tests;
