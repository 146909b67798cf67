//! Linux: apps are desktop entries, in the folders that the desktop names and in those of Flatpak and Snap.
//!
//! An entry that only a D-Bus name can start is not started. A single-instance app may hand over to the process that it has.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::entry::{self, Entry, MAX_ENTRY_BYTES};
use super::start;
use super::{Apps, Installed, Process, Target};
use crate::desktop;
use crate::seat::window::Owner;
use crate::seat::window::process::parent;
use crate::seat::{Seat, SeatFault};

/// More entries are not looked at.
const MAX_ENTRIES: usize = 5_000;

/// Folders in folders of entries.
const MAX_DEPTH: usize = 3;

/// Generations of processes that are followed upwards.
const MAX_GENERATIONS: usize = 64;

/// What runs a program in a terminal, with the word before that program.
const TERMINAL_STARTERS: [(&str, Option<&str>); 3] =
    [("xdg-terminal-exec", None), ("x-terminal-emulator", Some("-e")), ("xterm", Some("-e"))];

/// An installed app with what starting it needs.
struct Known {
    installed: Installed,
    entry: Entry,
}

#[derive(Default)]
struct Index {
    apps: Vec<Known>,
    by_id: HashMap<String, usize>,
    by_program: HashMap<PathBuf, usize>,
    by_class: HashMap<String, usize>,
    /// The folders read, each with the time of its last change.
    read: Vec<(PathBuf, Option<SystemTime>)>,
}

/// The apps of one desktop.
pub(super) struct DesktopApps {
    environment: Vec<(OsString, OsString)>,
    display: Option<OsString>,
    index: Mutex<Arc<Index>>,
}

impl DesktopApps {
    pub(super) fn new(seat: &Seat, environment: Vec<(OsString, OsString)>) -> Self {
        Self { environment, display: seat.display.clone(), index: Mutex::default() }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    /// Folders with entries; the first one that has an identifier decides.
    fn folders(&self) -> Vec<PathBuf> {
        let home = self.home();
        let own = self.variable("XDG_DATA_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(home.as_ref()?.join(".local/share")));
        let shared = self.variable("XDG_DATA_DIRS").unwrap_or(OsStr::new("/usr/local/share:/usr/share"));
        let exported = home.map(|home| home.join(".local/share/flatpak/exports/share"));
        let system = ["/var/lib/flatpak/exports/share", "/var/lib/snapd/desktop"].map(PathBuf::from);
        let all = own.into_iter().chain(std::env::split_paths(shared)).chain(exported).chain(system);
        let mut seen = HashSet::new();
        all.filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("applications"))
            .filter(|folder| seen.insert(folder.clone()))
            .collect()
    }

    fn index(&self) -> Arc<Index> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = !index.read.is_empty() && index.read.iter().all(|(folder, then)| *then == changed(folder));
        if !fresh {
            *index = Arc::new(self.read());
        }
        index.clone()
    }

    fn read(&self) -> Index {
        let mut index = Index::default();
        let mut taken = HashSet::new();
        for base in self.folders() {
            let mut files = Vec::new();
            collect(&base, 0, &mut files, &mut index.read);
            for file in files {
                let Some(id) = file.strip_prefix(&base).ok().and_then(id_of) else { continue };
                if taken.len() >= MAX_ENTRIES || !taken.insert(id.clone()) {
                    continue;
                }
                if let Some(known) = self.known(id, &file) {
                    index.add(known);
                }
            }
        }
        index
    }

    fn known(&self, id: String, file: &Path) -> Option<Known> {
        let entry = entry::read(&text_of(file)?)?;
        if entry.try_exec.as_deref().is_some_and(|program| self.find_program(program).is_none()) {
            return None;
        }
        let words = entry::command(&entry, file, &[]);
        let program = effective(&words).and_then(|word| self.find_program(word));
        let installed = Installed {
            id,
            name: entry.name.clone(),
            program,
            words,
            in_terminal: entry.in_terminal,
            listed: !entry.hidden,
            window_class: entry.window_class.clone(),
            file: Some(file.to_path_buf()),
        };
        Some(Known { installed, entry })
    }

    fn find_program(&self, word: &str) -> Option<PathBuf> {
        let path = Path::new(word);
        if path.is_absolute() {
            return crate::process::is_program(path).then(|| path.to_path_buf());
        }
        if word.contains('/') {
            return None;
        }
        desktop::program(word, self.variable("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin")))
    }

    fn start(&self, app: &str, words: &[String], folder: Option<&Path>) -> Result<Option<u32>, SeatFault> {
        let (first, args) = words.split_first().ok_or(SeatFault::Gone)?;
        let program = self.find_program(first).ok_or(SeatFault::Gone)?;
        let environment = start::environment(&self.environment, self.display.as_deref());
        let folder = folder.filter(|folder| folder.is_dir()).map(Path::to_path_buf);
        let folder = folder.or_else(|| self.home().filter(|home| home.is_dir())).unwrap_or_else(|| "/".into());
        match start::start(app, &program, args, &environment, &folder) {
            Ok(pid) => Ok(Some(pid)),
            Err(fault) => Err(SeatFault::Other(format!("it could not be started: {fault}"))),
        }
    }

    fn in_terminal(&self, words: Vec<String>) -> Result<Vec<String>, SeatFault> {
        let starter = TERMINAL_STARTERS.iter().find_map(|(name, flag)| Some((self.find_program(name)?, flag)));
        let Some((starter, flag)) = starter else {
            return Err(SeatFault::Unsupported("it runs in a terminal, and no terminal is installed".to_owned()));
        };
        let starter = starter.to_string_lossy().into_owned();
        Ok([starter].into_iter().chain(flag.map(str::to_owned)).chain(words).collect())
    }
}

impl Apps for DesktopApps {
    fn find(&self, id: &str) -> Result<Installed, SeatFault> {
        self.index().get(id).map(|known| known.installed.clone()).ok_or(SeatFault::Gone)
    }

    fn of_program(&self, program: &Path) -> Option<Installed> {
        let index = self.index();
        let program = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
        Some(index.apps.get(*index.by_program.get(&program)?)?.installed.clone())
    }

    fn of_window(&self, owner: &Owner) -> Option<Installed> {
        let index = self.index();
        let by_class = [&owner.class, &owner.instance].into_iter().find_map(|name| {
            let number = index.by_class.get(&name.to_lowercase()).filter(|_| !name.is_empty())?;
            Some(index.apps.get(*number)?.installed.clone())
        });
        // An interpreter tells nothing about what it runs.
        by_class.or_else(|| self.of_program(owner.program.as_deref()?).filter(|app| !app.in_terminal))
    }

    fn running(&self) -> Vec<Process> {
        let user = rustix::process::geteuid().as_raw();
        let index = self.index();
        let mut found: HashMap<u32, (PathBuf, u32)> = HashMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let ours = entry.metadata().is_ok_and(|facts| facts.uid() == user);
            let program = std::fs::read_link(entry.path().join("exe")).ok().filter(|_| ours);
            if let Some(program) = program.filter(|program| index.by_program.contains_key(program)) {
                found.insert(pid, (program, parent(pid).unwrap_or_default()));
            }
        }
        let first = |program: &PathBuf, parent: &u32| found.get(parent).is_none_or(|(other, _)| other != program);
        let mut running: Vec<Process> = found
            .iter()
            .filter(|(_, (program, parent))| first(program, parent))
            .map(|(pid, (program, _))| Process { pid: *pid, program: program.clone() })
            .collect();
        running.sort_by_key(|process| process.pid);
        running
    }

    fn came_out_of(&self, pid: u32, ancestor: u32) -> bool {
        let mut generation = Some(pid);
        for _ in 0..MAX_GENERATIONS {
            match generation {
                Some(pid) if pid == ancestor => return true,
                Some(pid) if pid > 1 => generation = parent(pid),
                _ => return false,
            }
        }
        false
    }

    fn launch(&self, target: &Target, args: &[String]) -> Result<Option<u32>, SeatFault> {
        if args.iter().any(|arg| arg.contains('\0')) {
            return Err(SeatFault::Unsupported("an argument holds a NUL".to_owned()));
        }
        match target {
            Target::Program(program) => {
                let program = program.to_str().ok_or(SeatFault::Gone)?;
                let words: Vec<String> = [program.to_owned()].into_iter().chain(args.iter().cloned()).collect();
                self.start(program.rsplit('/').next().unwrap_or(program), &words, None)
            }
            Target::Id(_) | Target::Found(_) => {
                let index = self.index();
                let known = match target {
                    Target::Found(found) => index.get(&found.id).filter(|known| known.installed == **found),
                    Target::Id(id) => index.get(id),
                    Target::Program(_) => None,
                };
                let known = known.ok_or(SeatFault::Gone)?;
                let file = known.installed.file.as_deref().unwrap_or(Path::new(""));
                let words = entry::command(&known.entry, file, args);
                if known.entry.exec.is_empty() {
                    return Err(SeatFault::Unsupported("its desktop entry names no program".to_owned()));
                }
                let words = if known.entry.in_terminal { self.in_terminal(words)? } else { words };
                self.start(&known.installed.id, &words, known.entry.folder.as_deref())
            }
        }
    }
}

impl Index {
    fn add(&mut self, known: Known) {
        let number = self.apps.len();
        let app = &known.installed;
        self.by_id.insert(app.id.clone(), number);
        // A hidden entry, for example for one kind of file, must not stand for the app that menus show.
        if let Some(program) = app.program.as_ref().and_then(|program| program.canonicalize().ok()) {
            prefer(&mut self.by_program, program, number, app, &self.apps);
        }
        let last = app.id.rsplit('.').next().unwrap_or_default();
        let stem = app.program.as_ref().and_then(|program| program.file_name()).and_then(OsStr::to_str);
        let interpreter = app.in_terminal;
        let names = [app.window_class.as_deref(), Some(&app.id), Some(last), stem];
        for name in names.into_iter().flatten().filter(|name| !name.is_empty() && !interpreter) {
            prefer(&mut self.by_class, name.to_lowercase(), number, app, &self.apps);
        }
        self.apps.push(known);
    }

    fn get(&self, id: &str) -> Option<&Known> {
        let id = id.strip_suffix(".desktop").unwrap_or(id);
        self.apps.get(*self.by_id.get(id)?)
    }
}

/// Enters an app under a name, unless one has it that tells more: one that only the administrator can change comes first, so that a
/// file of the person's folders takes no program and no window away from it, and then one that menus show.
fn prefer<K: Eq + std::hash::Hash>(
    map: &mut HashMap<K, usize>,
    name: K,
    number: usize,
    app: &Installed,
    apps: &[Known],
) {
    let rank = |app: &Installed| (app.file.as_deref().is_some_and(|file| !start::user_can_change(file)), app.listed);
    let other = map.get(&name).and_then(|other| apps.get(*other)).map(|other| rank(&other.installed));
    if other.is_none_or(|other| rank(app) > other) {
        map.insert(name, number);
    }
}

/// When a folder last changed; none when it is not there.
fn changed(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).and_then(|facts| facts.modified()).ok()
}

/// Finds the entries beneath a folder, and notes the folders that were looked into.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, read: &mut Vec<(PathBuf, Option<SystemTime>)>) {
    // Before its entries are read: a change meanwhile is seen at the next look.
    read.push((folder.to_path_buf(), changed(folder)));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < MAX_DEPTH {
                collect(&path, depth + 1, files, read);
            }
        } else if path.extension().is_some_and(|ending| ending == "desktop") {
            files.push(path);
        }
    }
    files.sort();
}

/// The identifier of an entry: its path beneath the folder, with dashes, without the ending.
fn id_of(path: &Path) -> Option<String> {
    let path = path.to_str()?.strip_suffix(".desktop")?;
    Some(path.replace('/', "-"))
}

fn text_of(file: &Path) -> Option<String> {
    let facts = std::fs::metadata(file).ok()?;
    if !facts.is_file() || facts.len() > MAX_ENTRY_BYTES {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(MAX_ENTRY_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The word that names the program: `env` only sets variables for it.
fn effective(words: &[String]) -> Option<&str> {
    let first = words.first()?;
    if Path::new(first).file_name() != Some(OsStr::new("env")) {
        return Some(first);
    }
    let word = words.iter().skip(1).find(|word| !word.contains('='));
    // With options it can do anything.
    word.map(String::as_str).filter(|word| !word.starts_with('-')).or(Some(first))
}
