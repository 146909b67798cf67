//! The names of the facts of a question. They are keys: the window has the words for them, in each of its languages.

/// Declares the labels once, so that the list of all of them cannot fall short.
macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)+) => {
        /// What a fact of a question is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Label {
            $($(#[$doc])* $name,)+
        }

        impl Label {
            /// Returns the key.
            pub(crate) const fn key(self) -> &'static str {
                match self {
                    $(Self::$name => $key,)+
                }
            }
        }

        /// The keys of all facts that a question can show. The window has words for each.
        pub const PROMPT_LABELS: &[&str] = &[$($key,)+];
    };
}

labels! {
    /// A text that a shell parses.
    Command = "command",
    /// The shell asked for.
    Shell = "shell",
    /// The program that would be started, as an absolute path.
    Program = "program",
    /// The file that the program's path leads to, where that is another one.
    ProgramTarget = "program_target",
    /// The program asked for, which is not here.
    ProgramNotFound = "program_not_found",
    /// So many words of the command are not shown.
    MoreArguments = "more_arguments",
    /// Where the command would run, as an absolute path.
    WorkingFolder = "working_folder",
    /// The name of a variable that the command gets.
    EnvironmentVariable = "environment_variable",
    /// What a command cannot reach; a key of `WALLS`.
    Walls = "walls",
    /// The path asked for.
    Path = "path",
    /// The absolute path that it stands for, where it is spelt otherwise.
    Target = "target",
    /// What is at a path; a key of `KINDS`.
    Kind = "kind",
    /// Bytes: of the new content of a write, else of what is there.
    Size = "size",
    /// Bytes of the content that a write replaces.
    SizeBefore = "size_before",
    /// "binary": the change cannot be shown line by line.
    Content = "content",
    /// So many folders would be made on the way.
    NewFolders = "new_folders",
    /// So many things are in a folder.
    Entries = "entries",
    /// At least so many things are in a folder; they were not counted to the end.
    EntriesAtLeast = "entries_at_least",
    /// "yes": a folder is deleted with everything inside.
    Recursive = "recursive",
    /// Where something would be moved to.
    To = "to",
    /// The absolute path that it stands for.
    ToTarget = "to_target",
    /// What a move would replace; a key of `KINDS`.
    Replaces = "replaces",
    /// The folder that would be attached.
    Folder = "folder",
    /// "yes": the person themselves picked the folder for the next chat.
    Offered = "offered",
    /// "yes": the person picked the folder in the place of the one that the platform asked for.
    Chosen = "chosen",
    /// What would be done with pointer or keyboard; a key of `ACTIONS`.
    Action = "action",
    /// A point on the screen, "across, down", in the units of the displays.
    Point = "point",
    /// The points of a drag, in their order.
    Way = "way",
    /// So many points of a drag are not shown.
    MorePoints = "more_points",
    /// A button of the pointer; a key of the buttons.
    Button = "button",
    /// Keys that are held around it, or a chord.
    Keys = "keys",
    /// How long something lasts, in milliseconds.
    Duration = "duration",
    /// The way the wheel turns, and how many steps.
    Scroll = "scroll",
    /// A text that would be typed or put into the clipboard.
    Text = "text",
    /// So many characters the text has.
    TextLength = "text_length",
    /// "yes": the text is pasted through the clipboard.
    Paste = "paste",
    /// The app whose window is there now.
    App = "app",
    /// The title of the window that is there now.
    WindowTitle = "window_title",
    /// A window, as the platform names it.
    Window = "window",
    /// What of the screen would be seen: "all", the number of a display (0 is the main one), or a region.
    Area = "area",
    /// The identifier of the app that would be started.
    AppId = "app_id",
    /// The name of the app that would be started.
    AppName = "app_name",
    /// "yes": the app runs in a terminal.
    InTerminal = "in_terminal",
    /// What of the clipboard would be given away: "own" or "foreign".
    Clipboard = "clipboard",
    /// What a device is called.
    Device = "device",
    /// Where a device is: a port, a bus, a chip.
    DevicePlace = "device_place",
    /// Settings of a serial port.
    PortSettings = "port_settings",
    /// Lines of a serial port beside the data.
    PortLines = "port_lines",
    /// A break on a serial port, in milliseconds.
    Break = "break",
    /// Bytes that would go out and are no text.
    Bytes = "bytes",
    /// Reading ends with this text.
    Until = "until",
    /// Reading ends with these bytes, which are no text.
    UntilBytes = "until_bytes",
    /// At most so many bytes come in.
    MostBytes = "most_bytes",
    /// The numbers of a USB request.
    UsbRequest = "usb_request",
    /// An end point of a USB device.
    UsbEndpoint = "usb_endpoint",
    /// A line of a GPIO chip.
    GpioLine = "gpio_line",
    /// The level of a line: "high" or "low".
    Level = "level",
    /// How a line is pulled: "as_is", "up", "down" or "none".
    Pull = "pull",
    /// The local model that would be asked.
    Model = "model",
    /// The address of the server that has it.
    ModelServer = "model_server",
    /// "yes": what is asked leaves this computer.
    ModelElsewhere = "model_elsewhere",
    /// So many messages the conversation has.
    Messages = "messages",
    /// So many characters all messages have.
    MessagesLength = "messages_length",
    /// The text of the last message.
    LastMessage = "last_message",
    /// The longest answer, in tokens.
    MaxTokens = "max_tokens",
    /// A file whose contents stay here.
    PrivateFile = "private_file",
    /// So many first bytes of the file would leave with its description.
    FirstBytes = "first_bytes",
    /// The name of a file that is not known any more.
    UnknownStub = "unknown_stub",
    /// What the model is told to do.
    Task = "task",
    /// What the model is told beside it.
    Context = "context",
    /// What the model answered.
    Answer = "answer",
    /// So many characters of the fact before are left out in its middle.
    LeftOut = "left_out",
}

/// The values of the fact "walls".
pub const PROMPT_WALLS: [&str; 4] = ["full", "confined_none", "confined_loopback", "confined_all"];
/// The values of the facts "kind" and "replaces".
pub const PROMPT_KINDS: [&str; 5] = ["file", "folder", "link", "other", "missing"];

/// The values of the fact "action".
pub const PROMPT_ACTIONS: [&str; 13] = [
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "mouse_move",
    "mouse_down",
    "mouse_up",
    "drag",
    "type",
    "key",
    "hold_key",
    "scroll",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_words_that_can_stand_in_the_name_of_a_text() {
        let all: Vec<&str> = [PROMPT_LABELS, &PROMPT_WALLS, &PROMPT_KINDS, &PROMPT_ACTIONS].concat();

        for key in &all {
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{key}");
        }
        let distinct: std::collections::BTreeSet<_> = PROMPT_LABELS.iter().collect();
        assert_eq!(distinct.len(), PROMPT_LABELS.len());
    }
}
