//! Start at login (spec 16.2): writes the file, prints the command, never runs it. Only systemd user units so far.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::out;

const UNIT: &str = "drawbridge.service";

pub(crate) fn install(print: bool) -> anyhow::Result<u8> {
    let path = unit_path()?;
    let unit = unit_text(&std::env::current_exe()?)?;
    if print {
        out::line(&format!("# {}\n{}", path.display(), unit.trim_end()))?;
        return Ok(0);
    }
    let folder = path.parent().context("the unit has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::write(&path, unit).with_context(|| format!("{} cannot be written", path.display()))?;
    out::line(&format!("wrote {}; switch it on with:", path.display()))?;
    out::line(&format!("systemctl --user daemon-reload && systemctl --user enable --now {UNIT}"))?;
    Ok(0)
}

pub(crate) fn uninstall(print: bool) -> anyhow::Result<u8> {
    let path = unit_path()?;
    let switch_off = format!("systemctl --user disable --now {UNIT}");
    if print {
        out::line(&format!("{switch_off}\nrm {}", path.display()))?;
        return Ok(0);
    }
    match fs::remove_file(&path) {
        Ok(()) => out::line(&format!("removed {}; switch it off with:\n{switch_off}", path.display()))?,
        Err(err) if err.kind() == io::ErrorKind::NotFound => out::line("Drawbridge does not start at login")?,
        Err(err) => return Err(err).with_context(|| format!("{} cannot be removed", path.display())),
    }
    Ok(0)
}

pub(crate) fn unit_path() -> anyhow::Result<PathBuf> {
    if std::env::consts::OS != "linux" {
        bail!("start at login is not built for this system yet");
    }
    let named = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")));
    Ok(config.context("this user has no home folder")?.join("systemd/user").join(UNIT))
}

fn unit_text(program: &Path) -> anyhow::Result<String> {
    let program = program.to_str().context("the path of this program is not valid text")?;
    Ok(format!(
        "[Unit]\nDescription=Drawbridge: lets an AI agent work on this computer, on your terms\n\
         Wants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\nType=simple\nExecStart={} start --headless --service\nRestart=on-failure\nRestartSec=5\n\
         RestartPreventExitStatus=76 77\n\n[Install]\nWantedBy=default.target\n",
        quoted(program)?
    ))
}

/// Writes one word for systemd: in quotes, with its own escapes, `%` and `$` doubled.
fn quoted(word: &str) -> anyhow::Result<String> {
    if word.chars().any(char::is_control) {
        bail!("the path of this program holds a control character, which a systemd unit cannot hold");
    }
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' | '$' => out.extend([c, c]),
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_signs_stays_one_word() {
        let unit = unit_text(Path::new("/opt/my apps/50%$\"x\"/drawbridge")).unwrap();

        assert!(unit.contains("ExecStart=\"/opt/my apps/50%%$$\\\"x\\\"/drawbridge\" start --headless --service\n"));
        assert!(unit_text(Path::new("/opt/a\nb")).is_err());
    }
}
