//! The tray's menu as a value: what it says and does for a snapshot. The adapter only draws it.
//!
//! Everything works from the menu alone, since on many desktops a click on the icon never reaches the program. Two things
//! are left out on purpose: a question can be denied here but not allowed, since a menu shows too little of it, and
//! commands can be confined but not let loose.
//!
//! Its lines are drawn and clicked in the desktop's own panel, which no agent is kept from. So while one could use the screen, what
//! gives agents more is done in the window, which they can neither see nor use.
//!
//! A line never changes from one act to its opposite in its place: a click on a menu that is just changing must not do
//! the reverse of what was read. That is why Raise and Lower are two lines and chats are in the order of their folders.

use drawbridge_core::{escape_outside_text, shorten_middle};
use drawbridge_engine::view::{AccountState, ChatView, LinkState, PowerView, PromptView, Snapshot};

use super::icon::{Icon, icon};
use crate::window::pill::counts;
use crate::words::{Language, Word, count, say};

/// What a menu line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Opens the window.
    Open,
    /// Brings a question to the person.
    ShowQuestion,
    /// Answers one state of a question with no.
    Deny {
        /// Its number.
        id: u64,
        /// Which state of it.
        revision: u64,
    },
    /// Answers every question with no.
    DenyAll,
    /// Stops an agent that uses the screen, as raising does. A line of its own, so an action of its own.
    StopScreen,
    /// Raises or lowers the bridge.
    SetRaised(bool),
    /// Starts a sign-in and opens its page.
    SignIn,
    /// Dials now.
    Connect,
    /// Opens the folder of a chat in the desktop's own program.
    OpenFolder(String),
    /// Detaches a chat.
    Detach(String),
    /// Sets the mode of a power.
    SetPower(String, String),
    /// Confines commands, with this network.
    Confine(String),
    /// Lets the person pick a folder for the next chat.
    OfferFolder,
    /// Takes the offered folder back.
    TakeBackOffer,
    /// No longer lets agents look for folders there.
    StopLooking(String),
    /// Ends the program.
    Quit,
}

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Only tells something.
    Status(String),
    /// Does something.
    Item(String, Action),
    /// Does something, and shows whether that is so already.
    Check(String, bool, Action),
    /// Opens more lines.
    Submenu(String, Vec<Line>),
    /// A thin line.
    Separator,
}

/// The whole tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The icon.
    pub(crate) icon: Icon,
    /// What the icon's bubble says.
    pub(crate) status: String,
    /// The lines, from the top.
    pub(crate) lines: Vec<Line>,
}

/// What is around a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// The language of the texts.
    pub(crate) language: Language,
    /// The key that raises, if one does.
    pub(crate) hot_key: Option<String>,
    /// Notifications are wanted and the desktop shows none.
    pub(crate) notifications_broken: bool,
}

/// Most chats that the menu lists; the window has them all.
const CHATS_MAX: usize = 20;
/// Most questions that the menu lists.
const QUESTIONS_MAX: usize = 5;
/// Longest text from outside, in characters: a menu is as wide as its widest line.
const OUTSIDE_MAX: usize = 56;
/// Modes of a power, with their words.
const MODES: [(&str, Word); 4] = [
    ("off", Word::ModeOff),
    ("ask_each_time", Word::ModeAskEachTime),
    ("ask_once_per_chat", Word::ModeAskOncePerChat),
    ("allowed", Word::ModeAllowed),
];

/// Says what the tray shows for a snapshot.
pub(crate) fn tray_menu(snapshot: &Snapshot, around: &Around) -> Menu {
    let language = around.language;
    if snapshot.gate.is_some() {
        return gate_menu(snapshot, around);
    }
    let status = status(snapshot, language);
    let mut lines = vec![Line::Status(status.clone())];
    screen(snapshot, language, &status, &mut lines);
    if around.notifications_broken {
        lines.push(told(language, Word::NotificationsBroken));
    }
    questions(snapshot, language, &mut lines);
    lines.push(Line::Separator);
    stop(snapshot, around, &mut lines);
    account(snapshot, language, &mut lines);
    lines.push(Line::Separator);
    lines.push(chats(snapshot, language));
    lines.push(powers(snapshot, language));
    lines.push(folders(snapshot, language));
    if let Some(row) = snapshot.activity.first() {
        let word = if row.ok { Word::Last } else { Word::LastRefused };
        let subject = outside(&row.subject);
        lines.push(Line::Status(
            say(language, word, &[("operation", &outside(&row.operation)), ("subject", &subject)])
                .replace("  ", " ")
                .trim()
                .to_owned(),
        ));
    }
    lines.push(Line::Separator);
    lines.push(item(language, Word::Open, Action::Open));
    lines.push(Line::Item(quit(snapshot, language), Action::Quit));
    Menu { icon: icon(snapshot), status, lines }
}

/// The menu while no engine runs: what is wrong is in the window, and the stop can be stored.
fn gate_menu(snapshot: &Snapshot, around: &Around) -> Menu {
    let language = around.language;
    let status = Word::NotStarted.text(language).to_owned();
    let mut lines = vec![Line::Status(status.clone()), item(language, Word::OpenToMend, Action::Open), Line::Separator];
    if snapshot.raised {
        lines.push(told(language, Word::Raised));
    } else {
        lines.push(item(language, Word::Raise, Action::SetRaised(true)));
    }
    lines.push(Line::Separator);
    lines.push(item(language, Word::Quit, Action::Quit));
    Menu { icon: icon(snapshot), status, lines }
}

fn item(language: Language, word: Word, action: Action) -> Line {
    Line::Item(word.text(language).to_owned(), action)
}

fn told(language: Language, word: Word) -> Line {
    Line::Status(word.text(language).to_owned())
}

/// Text from outside, safe and short. The engine made it safe already; here it costs nothing to be sure.
fn outside(text: &str) -> String {
    shorten_middle(&escape_outside_text(text), OUTSIDE_MAX)
}

/// Who uses the screen and the way to stop that, before all else. The status may tell of something more urgent.
fn screen(snapshot: &Snapshot, language: Language, status: &str, lines: &mut Vec<Line>) {
    if snapshot.raised {
        return;
    }
    let Some(told) = screen_use(snapshot, language) else { return };
    if told != status {
        lines.push(Line::Status(told));
    }
    lines.push(item(language, Word::StopScreen, Action::StopScreen));
}

/// What an agent does on the screen, if one is at it.
fn screen_use(snapshot: &Snapshot, language: Language) -> Option<String> {
    let used = snapshot.screen.in_use.as_ref()?;
    Some(if used.person_active {
        Word::ScreenWaits.text(language).to_owned()
    } else {
        say(language, Word::ScreenShared, &[("counts", &counts(language, used.pictures, used.acts))])
    })
}

fn running(snapshot: &Snapshot) -> u64 {
    snapshot.chats.iter().map(|chat| u64::from(chat.in_flight)).sum()
}

fn status(snapshot: &Snapshot, language: Language) -> String {
    let waiting = snapshot.prompts.len() as u64;
    if waiting > 0 {
        return count(language, Word::OneQuestion, Word::Questions, waiting);
    }
    let word = if snapshot.raised {
        Word::Raised
    } else if snapshot.audit.unavailable {
        Word::LogBroken
    } else if snapshot.trouble.is_some() {
        Word::Trouble
    } else if let Some(told) = screen_use(snapshot, language) {
        return told;
    } else {
        match (&snapshot.account.state, snapshot.link.state) {
            (AccountState::SignedOut, _) => Word::SignedOut,
            (AccountState::SigningIn, _) => Word::SigningIn,
            (AccountState::Refused | AccountState::Expired, _) => Word::Refused,
            (AccountState::SignedIn, _) if running(snapshot) > 0 => {
                return count(language, Word::OneRunning, Word::Running, running(snapshot));
            }
            (AccountState::SignedIn, LinkState::Connected) => Word::Connected,
            (AccountState::SignedIn, LinkState::Halted) => Word::Halted,
            (AccountState::SignedIn, LinkState::Connecting | LinkState::Waiting) => Word::Connecting,
            (AccountState::SignedIn, LinkState::Off) => Word::NotConnected,
        }
    };
    word.text(language).to_owned()
}

fn questions(snapshot: &Snapshot, language: Language, lines: &mut Vec<Line>) {
    let prompts = &snapshot.prompts;
    lines.extend(prompts.iter().take(QUESTIONS_MAX).map(|prompt| question(snapshot, prompt, language)));
    if prompts.len() > QUESTIONS_MAX {
        let more = (prompts.len() - QUESTIONS_MAX).to_string();
        lines.push(Line::Item(say(language, Word::MoreQuestions, &[("n", &more)]), Action::ShowQuestion));
    }
    if prompts.len() > 1 {
        let all = prompts.len().to_string();
        lines.push(Line::Item(say(language, Word::DenyAll, &[("n", &all)]), Action::DenyAll));
    }
}

fn question(snapshot: &Snapshot, prompt: &PromptView, language: Language) -> Line {
    let mut lines = Vec::new();
    let chat = prompt.session_id.as_ref().and_then(|id| snapshot.chats.iter().find(|chat| chat.session_id == *id));
    if let Some(chat) = chat {
        lines.push(Line::Status(say(language, Word::QuestionAbout, &[("folder", &outside(&chat.folder))])));
    }
    lines.push(item(language, Word::ShowQuestion, Action::ShowQuestion));
    lines.push(item(language, Word::Deny, Action::Deny { id: prompt.id, revision: prompt.revision }));
    Line::Submenu(say(language, Word::Question, &[("summary", &outside(&prompt.summary))]), lines)
}

fn stop(snapshot: &Snapshot, around: &Around, lines: &mut Vec<Line>) {
    let raise = around.hot_key.as_ref().map_or_else(
        || Word::Raise.text(around.language).to_owned(),
        |key| say(around.language, Word::RaiseKey, &[("key", key)]),
    );
    let lower = Word::Lower.text(around.language).to_owned();
    if snapshot.raised {
        lines.extend([Line::Status(raise), Line::Item(lower, Action::SetRaised(false))]);
    } else {
        lines.extend([Line::Item(raise, Action::SetRaised(true)), Line::Status(lower)]);
    }
}

fn account(snapshot: &Snapshot, language: Language, lines: &mut Vec<Line>) {
    if snapshot.raised {
        return;
    }
    match (&snapshot.account.state, snapshot.link.state) {
        (AccountState::SignedOut | AccountState::Expired | AccountState::Refused | AccountState::SigningIn, _) => {
            lines.push(item(language, Word::SignIn, Action::SignIn));
        }
        (AccountState::SignedIn, LinkState::Halted | LinkState::Waiting) => {
            lines.push(item(language, Word::ConnectNow, Action::Connect));
        }
        (AccountState::SignedIn, LinkState::Off | LinkState::Connecting | LinkState::Connected) => {}
    }
}

fn chats(snapshot: &Snapshot, language: Language) -> Line {
    // Closed ones, which the platform may open again, are in the window.
    let mut chats: Vec<&ChatView> = snapshot.chats.iter().filter(|chat| chat.attached || chat.active).collect();
    // Those with a link first, so that what can act is never among those left out.
    chats.sort_by_key(|chat| (!chat.active, &chat.folder, &chat.session_id));
    let mut lines: Vec<Line> = chats.iter().take(CHATS_MAX).map(|chat| self::chat(chat, language)).collect();
    if chats.len() > CHATS_MAX {
        let more = (chats.len() - CHATS_MAX).to_string();
        lines.push(Line::Item(say(language, Word::MoreChats, &[("n", &more)]), Action::Open));
    }
    if chats.is_empty() {
        lines.push(told(language, Word::NoChats));
    }
    let count = chats.len().to_string();
    Line::Submenu(say(language, Word::Chats, &[("n", &count)]), lines)
}

fn chat(chat: &ChatView, language: Language) -> Line {
    let state = if chat.revoked {
        Word::ChatRevoked.text(language).to_owned()
    } else if !chat.active {
        Word::ChatAway.text(language).to_owned()
    } else if chat.in_flight > 0 {
        count(language, Word::OneRunning, Word::Running, u64::from(chat.in_flight))
    } else {
        Word::ChatActive.text(language).to_owned()
    };
    let mut lines =
        vec![Line::Status(state), item(language, Word::OpenFolder, Action::OpenFolder(chat.session_id.clone()))];
    if chat.active {
        lines.push(item(language, Word::Detach, Action::Detach(chat.session_id.clone())));
    }
    Line::Submenu(outside(&chat.folder), lines)
}

fn powers(snapshot: &Snapshot, language: Language) -> Line {
    let built = snapshot.powers.iter().filter(|power| power.built);
    Line::Submenu(
        Word::Powers.text(language).to_owned(),
        built.map(|power| self::power(snapshot, power, language)).collect(),
    )
}

fn power(snapshot: &Snapshot, power: &PowerView, language: Language) -> Line {
    let mut lines = Vec::new();
    if power.power == "shell" && power.mode != "off" {
        if snapshot.shell.mode == "full" {
            lines.push(told(language, Word::ShellFull));
            lines.push(item(language, Word::Confine, Action::Confine(snapshot.shell.network.clone())));
        } else {
            lines.push(told(language, Word::ShellConfined));
        }
        lines.push(Line::Separator);
    }
    if let Some(who) = &power.locked_by {
        lines.push(Line::Status(say(language, Word::Locked, &[("who", &outside(who))])));
    } else {
        // What the organisation does not allow is not offered.
        let most = power.ceiling.as_ref().map(|ceiling| ceiling.mode.as_str());
        let beyond = most.and_then(|most| MODES.iter().position(|(mode, _)| *mode == most));
        lines.extend(MODES.iter().take(beyond.map_or(MODES.len(), |last| last + 1)).map(|(mode, word)| {
            let action = Action::SetPower(power.power.clone(), (*mode).to_owned());
            let mode_name = word.text(language);
            if only_in_window(snapshot, &action) {
                return Line::Check(say(language, Word::ModeInWindow, &[("mode", mode_name)]), false, Action::Open);
            }
            Line::Check(mode_name.to_owned(), power.mode == *mode, action)
        }));
    }
    let mode =
        MODES.iter().find(|(mode, _)| power.mode == *mode).map_or(power.mode.as_str(), |(_, word)| word.text(language));
    Line::Submenu(
        say(language, Word::PowerLine, &[("power", power_name(&power.power, language)), ("mode", mode)]),
        lines,
    )
}

/// Tells whether an action would give agents more while one of them could have clicked it by itself.
pub(super) fn only_in_window(snapshot: &Snapshot, action: &Action) -> bool {
    const SCREEN: &str = "computer_use";
    let place = |wanted: &str| MODES.iter().position(|(mode, _)| *mode == wanted);
    let uses = |power: &str, mode: &str| power == SCREEN && mode != "off";
    let by_all = snapshot.powers.iter().any(|power| uses(&power.power, &power.mode));
    let by_one = snapshot.chats.iter().flat_map(|chat| &chat.modes).any(|own| uses(&own.power, &own.mode));
    let Action::SetPower(name, mode) = action else { return false };
    let now = snapshot.powers.iter().find(|power| power.power == *name).and_then(|power| place(&power.mode));
    (by_all || by_one) && place(mode) > now
}

fn power_name(power: &str, language: Language) -> &str {
    let word = match power {
        "files" => Word::PowerFiles,
        "attach" => Word::PowerAttach,
        "shell" => Word::PowerShell,
        "computer_use" => Word::PowerComputerUse,
        "clipboard" => Word::PowerClipboard,
        "local_model" => Word::PowerLocalModel,
        "hardware" => Word::PowerHardware,
        other => return other,
    };
    word.text(language)
}

fn folders(snapshot: &Snapshot, language: Language) -> Line {
    let mut lines = Vec::new();
    if let Some(folder) = &snapshot.offered_folder {
        lines.push(Line::Status(say(language, Word::NextFolder, &[("folder", &outside(folder))])));
        lines.push(item(language, Word::TakeBack, Action::TakeBackOffer));
    }
    lines.push(item(language, Word::OfferFolder, Action::OfferFolder));
    lines.push(Line::Separator);
    lines.push(told(language, Word::LookIn));
    if snapshot.browse_roots.is_empty() {
        lines.push(told(language, Word::HomeFolder));
    }
    lines.extend(snapshot.browse_roots.iter().map(|folder| {
        Line::Item(
            say(language, Word::StopLooking, &[("folder", &outside(folder))]),
            Action::StopLooking(folder.clone()),
        )
    }));
    Line::Submenu(Word::Folders.text(language).to_owned(), lines)
}

/// Says what quitting stops.
fn quit(snapshot: &Snapshot, language: Language) -> String {
    let active = snapshot.chats.iter().filter(|chat| chat.active).count() as u64;
    let commands: u64 =
        snapshot.powers.iter().filter(|power| power.power == "shell").map(|power| u64::from(power.running)).sum();
    let others = running(snapshot).saturating_sub(commands);
    let parts: Vec<String> = [
        (active, Word::OneChat, Word::ManyChats),
        (commands, Word::OneCommand, Word::ManyCommands),
        (others, Word::OneRequest, Word::ManyRequests),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, many)| count(language, one, many, number))
    .collect();
    let what = match parts.as_slice() {
        [] => return Word::Quit.text(language).to_owned(),
        [only] => only.clone(),
        [first, second] => say(language, Word::And, &[("first", first), ("second", second)]),
        [first, second, third, ..] => {
            say(language, Word::And, &[("first", &format!("{first}, {second}")), ("second", third)])
        }
    };
    say(language, Word::QuitEnds, &[("what", &what)])
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
