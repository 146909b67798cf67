//! Takes names and places out of a text: those that are known, and every path that could hold one.

use drawbridge_os::about;
use drawbridge_store::config::Config;
use drawbridge_store::settings::Settings;

use super::Input;
use crate::accounts::open_book;
use crate::net::is_loopback;

/// Below these lies what the system and its packages bring; nothing there is named by a person.
const SYSTEM: [&str; 9] = ["/usr", "/etc", "/proc", "/sys", "/dev", "/lib", "/bin", "/sbin", "/var/lib/dpkg"];
const PATH: &str = "<path>";
const ID: &str = "<id>";
const SERVER: &str = "<model server>";

/// Knows what to take out.
pub(super) struct Scrub {
    /// What to look for, the longest first, and what to write for it.
    known: Vec<(String, &'static str)>,
}

impl Scrub {
    pub(super) fn new(input: &Input) -> Self {
        let mut known = Vec::new();
        let mut add = |text: &str, instead| {
            if text.chars().count() > 1 {
                known.push((text.to_owned(), instead));
            }
        };
        for (folder, name) in [
            (&input.folders.state, "<state folder>"),
            (&input.folders.config, "<configuration folder>"),
            (&input.folders.logs, "<folder of logs>"),
        ] {
            let path = folder.to_string_lossy();
            add(&path, name);
            // The log writes the home folder short.
            add(&drawbridge_store::log::redacted(&path), name);
        }
        about::names().iter().for_each(|name| add(name, "<name>"));
        if let Some(picture) = &input.snapshot {
            let usual = Config::default();
            for account in &picture.accounts {
                add(&account.name, "<account>");
                if account.id != "default" {
                    add(&account.id, "<account>");
                }
                if account.client_id != usual.oauth_client_id {
                    add(&account.client_id, "<client>");
                }
            }
            let platforms = picture.accounts.iter().map(|account| &account.platform_url);
            for platform in platforms.chain([&picture.account.platform_url]) {
                if *platform != usual.platform_url {
                    hosts_of(platform).for_each(|host| add(host, "<platform>"));
                }
            }
            let managed = picture.managed.as_ref().and_then(|managed| managed.organisation.as_deref());
            managed.iter().for_each(|name| add(name, "<organisation>"));
            let offered = picture.offered_folder.iter();
            let folders = picture.chats.iter().map(|chat| &chat.folder).chain(&picture.browse_roots).chain(offered);
            for folder in folders {
                add(folder, "<folder>");
                add(&drawbridge_store::log::redacted(folder), "<folder>");
                add(last_part(folder), "<folder>");
            }
            picture.chats.iter().for_each(|chat| add(&chat.session_id, "<chat>"));
            let servers = picture.models.servers.iter();
            servers.for_each(|server| hosts_of(&server.url).for_each(|host| add(host, SERVER)));
        } else {
            for account in open_book(&input.folders.state).list() {
                add(&account.name, "<account>");
                add(&account.id, "<account>");
                add(&account.client_id, "<client>");
                hosts_of(&account.platform_url).for_each(|host| add(host, "<platform>"));
            }
            let servers = Settings::peek(&input.folders.state).model_servers;
            servers.iter().for_each(|server| hosts_of(&server.url).for_each(|host| add(host, SERVER)));
        }
        // Last, so that what is known better keeps its better word.
        for name in &input.names {
            if name.contains("://") {
                hosts_of(name).for_each(|host| add(host, "<host>"));
            } else {
                add(name, "<name>");
            }
        }
        known.sort_by(|one, other| other.0.len().cmp(&one.0.len()).then_with(|| one.0.cmp(&other.0)));
        known.dedup_by(|one, other| one.0 == other.0);
        Self { known }
    }

    pub(super) fn clear(&self, line: &str) -> String {
        without_ids(&without_paths(&self.without_known(line)))
    }

    fn without_known(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let found = self.known.iter().find(|(text, _)| starts_with_whole(rest, text, before));
            match found {
                Some((text, instead)) => {
                    out.push_str(instead);
                    rest = &rest[text.len()..];
                    before = text.chars().next_back().unwrap_or(' ');
                }
                None => {
                    out.push(c);
                    rest = &rest[c.len_utf8()..];
                    before = c;
                }
            }
        }
        out
    }
}

/// Tells whether a text begins with another that is a word, or several, of its own there.
fn starts_with_whole(rest: &str, text: &str, before: char) -> bool {
    let Some(after) = rest.strip_prefix(text) else { return false };
    let first = text.chars().next().is_some_and(char::is_alphanumeric);
    let last = text.chars().next_back().is_some_and(char::is_alphanumeric);
    !(first && is_word(before) || last && after.chars().next().is_some_and(is_word))
}

/// Takes out every path but those of the system and our own folders, whose names stand there already.
fn without_paths(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let begins = !(is_word(before) || matches!(before, '/' | ':' | '~' | '.' | '>' | '<' | ')'));
        let end = path_end(rest);
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if begins && end > 1 && (c == '/' || rest.starts_with("~/")) && !is_of_the_system(&rest[..word.min(end)]) {
            out.push_str(PATH);
            (before, rest) = ('>', &rest[end..]);
        } else {
            out.push(c);
            (before, rest) = (c, &rest[c.len_utf8()..]);
        }
    }
    out
}

/// Where a path ends. One that is quoted may hold blanks, and so may what follows a blank and still has a `/` behind it.
fn path_end(text: &str) -> usize {
    let end = text.find(['"', '\'', '`', ',', ';', ')', '<', '>', '=']).unwrap_or(text.len());
    let whole = &text[..end];
    let words = whole.rfind('/').map_or(end, |slash| {
        let tail = &whole[slash..];
        slash + tail.find(char::is_whitespace).unwrap_or(tail.len())
    });
    whole[..words].trim_end_matches(['.', ':']).len()
}

fn is_of_the_system(path: &str) -> bool {
    SYSTEM.iter().any(|top| path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Takes out what has the form of a UUID: ids of the machine, of chats and of requests.
fn without_ids(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if !before.is_ascii_alphanumeric() && starts_with_uuid(rest) {
            out.push_str(ID);
            (before, rest) = ('>', &rest[36..]);
        } else {
            out.push(c);
            (before, rest) = (c, &rest[c.len_utf8()..]);
        }
    }
    out
}

fn starts_with_uuid(text: &str) -> bool {
    text.get(..36).is_some_and(|id| {
        id.bytes().enumerate().all(
            |(at, byte)| {
                if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() }
            },
        )
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The host of an address as it is told: with its port, and alone. This computer's own name tells nobody anything.
fn hosts_of(url: &str) -> impl Iterator<Item = &str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let whole = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let alone = whole.rsplit_once(':').filter(|_| !whole.ends_with(']')).map_or(whole, |(host, _)| host);
    [whole, alone].into_iter().filter(|host| !is_loopback(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_person_named_go_and_those_of_the_system_stay() {
        for (line, cleared) in [
            ("it is at /mnt/Clients/ACME today", "it is at <path> today"),
            ("file=\"/media/a b/Secret plans/x.txt\" gone", "file=\"<path>\" gone"),
            ("~/Secret project/notes.txt: not there", "<path>: not there"),
            ("/usr/bin/bwrap and /etc/xdg/autostart are there", "/usr/bin/bwrap and /etc/xdg/autostart are there"),
            ("<state folder>/audit.log is fine", "<state folder>/audit.log is fine"),
            ("wss://<platform>/ws/local-executor", "wss://<platform>/ws/local-executor"),
            ("https://example.org/a/b", "https://example.org/a/b"),
            ("at crates/engine/src/link.rs:310:9", "at crates/engine/src/link.rs:310:9"),
            ("and/or 3/4", "and/or 3/4"),
            ("chat 5b0c2f6e-1111-4222-8333-444455556666.", "chat <id>."),
        ] {
            assert_eq!(without_ids(&without_paths(line)), cleared);
        }
    }

    #[test]
    fn a_name_goes_where_it_is_a_word_and_the_longest_first() {
        let known = [("anna", "<name>"), ("anna's laptop", "<name>"), ("root", "<name>")];
        let mut known: Vec<_> = known.map(|(text, instead)| (text.to_owned(), instead)).to_vec();
        known.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let scrub = Scrub { known };

        assert_eq!(scrub.clear("anna on anna's laptop, not annabel"), "<name> on <name>, not annabel");
        assert_eq!(scrub.clear("allowed_root of root"), "allowed_root of <name>");
    }
}
