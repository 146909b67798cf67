//! Puts what an organisation has fixed over every other layer.

use std::collections::BTreeMap;

use drawbridge_core::{Power, PowerMode};
use drawbridge_policy::ShellMode;

use super::{Config, Origin, Overruled};
use crate::managed::Managed;

/// Applies a policy to the configuration. Returns what somebody had set otherwise.
pub(super) fn apply(managed: &Managed, config: &mut Config, origins: &mut BTreeMap<String, Origin>) -> Vec<Overruled> {
    let mut over = Over { origins, overruled: Vec::new() };
    over.fix("platform_url", &mut config.platform_url, managed.platform_url.as_ref());
    over.fix("oauth_client_id", &mut config.oauth_client_id, managed.oauth_client_id.as_ref());
    for (key, value, power) in [
        ("enable_shell", &mut config.enable_shell, Power::Shell),
        ("enable_computer_use", &mut config.enable_computer_use, Power::ComputerUse),
        ("enable_clipboard", &mut config.enable_clipboard, Power::Clipboard),
        ("enable_clipboard_read_foreign", &mut config.enable_clipboard_read_foreign, Power::Clipboard),
        ("enable_local_llm", &mut config.enable_local_llm, Power::LocalModel),
        ("enable_hardware", &mut config.enable_hardware, Power::Hardware),
    ] {
        if managed.powers.get(&power) == Some(&PowerMode::Off) {
            over.fix(key, value, Some(&false));
        }
    }
    if managed.own_clipboard {
        over.fix("enable_clipboard_read_foreign", &mut config.enable_clipboard_read_foreign, Some(&false));
    }
    if managed.private {
        over.fix("privacy.all", &mut config.privacy.all, Some(&true));
    }
    if managed.no_preview {
        over.fix("privacy.preview_bytes", &mut config.privacy.preview_bytes, Some(&0));
    }
    if managed.near_models {
        over.fix("models.far", &mut config.models.far, Some(&Vec::new()));
    }
    if managed.powers.contains_key(&Power::Attach) && config.consent.attach == Some(PowerMode::Allowed) {
        over.fix("consent.attach", &mut config.consent.attach, Some(&Some(PowerMode::AskEachTime)));
    }
    if managed.shell_confined {
        over.fix("shell.mode", &mut config.shell.mode, Some(&Some(ShellMode::Confined)));
    }
    if let (Some(most), Some(set)) = (managed.shell_network, config.shell.network)
        && set > most
    {
        over.fix("shell.network", &mut config.shell.network, Some(&Some(most)));
    }
    over.fix("browse.roots", &mut config.browse.roots, managed.browse_roots.clone().map(Some).as_ref());
    over.fix("proxy.url", &mut config.proxy.url, managed.proxy.url.clone().map(Some).as_ref());
    over.fix("proxy.no_proxy", &mut config.proxy.no_proxy, managed.proxy.no_proxy.clone().map(Some).as_ref());
    over.fix("tls.extra_roots", &mut config.tls.extra_roots, managed.tls.extra_roots.clone().map(Some).as_ref());
    let most = &managed.limits;
    over.cap("max_concurrent", &mut config.max_concurrent, most.max_concurrent);
    over.cap("max_concurrent_commands", &mut config.max_concurrent_commands, most.max_concurrent_commands);
    over.cap("max_commands_per_minute", &mut config.max_commands_per_minute, most.max_commands_per_minute);
    over.cap("max_screenshots_per_minute", &mut config.max_screenshots_per_minute, most.max_screenshots_per_minute);
    over.cap("max_file_size_bytes", &mut config.max_file_size_bytes, most.max_file_size_bytes);
    over.cap("command_timeout_seconds", &mut config.command_timeout_seconds, most.command_timeout_seconds);
    over.overruled
}

struct Over<'a> {
    origins: &'a mut BTreeMap<String, Origin>,
    overruled: Vec<Overruled>,
}

impl Over<'_> {
    fn fix<T: Clone + PartialEq>(&mut self, key: &str, value: &mut T, fixed: Option<&T>) {
        let Some(fixed) = fixed else { return };
        let layer = self.origins.insert(key.to_owned(), Origin::Managed).unwrap_or(Origin::Default);
        if value != fixed {
            if layer != Origin::Default {
                self.overruled.push(Overruled { key: key.to_owned(), layer });
            }
            value.clone_from(fixed);
        }
    }

    fn cap<T: Copy + PartialOrd>(&mut self, key: &str, value: &mut T, most: Option<T>) {
        if let Some(most) = most.filter(|most| *value > *most) {
            self.fix(key, value, Some(&most));
        }
    }
}
