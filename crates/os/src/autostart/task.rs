//! Windows: the Run key for the application, a task of the Task Scheduler for the engine without a window.

use std::path::PathBuf;

use super::Parsed;
use super::launchd::{escaped, unescaped};

/// Where the task stands in the scheduler.
const TASK: &str = "\\Drawbridge\\Agent";
/// The name of the value under the Run key.
pub(super) const RUN_VALUE: &str = "Drawbridge";

/// Makes the value under the Run key: the program in quotes, or Windows cuts it at the first blank. The path has no quotation
/// mark, which Windows allows in no name.
pub(super) fn run_value(program: &str) -> String {
    format!("\"{program}\" --hidden")
}

/// Reads a value under the Run key.
pub(super) fn parse_run_value(text: &str) -> Parsed {
    let text = text.trim();
    let program = match text.strip_prefix('"') {
        Some(rest) => rest.split('"').next(),
        None => text.split_whitespace().next(),
    };
    let program = program.filter(|program| !program.is_empty()).map(PathBuf::from);
    // The value has our name, and there is no other sign by which to know it.
    Parsed { ours: program.is_some(), program, disabled: false }
}

/// Makes the task: at logon, with the person's own rights, once, also on battery, without an end, three tries after a crash.
pub(super) fn render(program: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\n\
         \x20 <RegistrationInfo>\n    <URI>{TASK}</URI>\n\
         \x20   <Description>Drawbridge: lets an AI agent work on this computer, on your terms</Description>\n  </RegistrationInfo>\n\
         \x20 <Triggers>\n    <LogonTrigger>\n      <Enabled>true</Enabled>\n    </LogonTrigger>\n  </Triggers>\n\
         \x20 <Principals>\n    <Principal id=\"Author\">\n      <LogonType>InteractiveToken</LogonType>\n\
         \x20     <RunLevel>LeastPrivilege</RunLevel>\n    </Principal>\n  </Principals>\n\
         \x20 <Settings>\n    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n\
         \x20   <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n\
         \x20   <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n\
         \x20   <RunOnlyIfNetworkAvailable>true</RunOnlyIfNetworkAvailable>\n\
         \x20   <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>\n    <Priority>7</Priority>\n\
         \x20   <RestartOnFailure>\n      <Interval>PT1M</Interval>\n      <Count>3</Count>\n    </RestartOnFailure>\n\
         \x20   <Enabled>true</Enabled>\n  </Settings>\n\
         \x20 <Actions Context=\"Author\">\n    <Exec>\n      <Command>\"{}\"</Command>\n\
         \x20     <Arguments>start --headless --service</Arguments>\n    </Exec>\n  </Actions>\n</Task>\n",
        escaped(program)
    )
}

/// What switches it on or off.
pub(super) fn commands(place: &str, on: bool) -> Vec<String> {
    if on {
        vec![format!("schtasks /Create /F /TN \"{TASK}\" /XML \"{place}\"")]
    } else {
        vec![format!("schtasks /Delete /F /TN \"{TASK}\"")]
    }
}

/// Reads what matters of a task that is written as ours is.
pub(super) fn parse(text: &str) -> Parsed {
    let command = text.split_once("<Command>").and_then(|(_, rest)| rest.split_once("</Command>"));
    Parsed {
        program: command.map(|(value, _)| PathBuf::from(unescaped(value).trim_matches('"'))),
        ours: text.contains(&format!("<URI>{TASK}</URI>")),
        disabled: false,
    }
}
