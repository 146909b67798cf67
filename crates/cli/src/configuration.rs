//! The configuration in force (`cli.md`).

use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides, Loaded};

use crate::args::ConfigVerb;
use crate::coded::{CONFIGURATION, coded};
use crate::out;
use crate::place::Place;

pub(crate) fn run(verb: &ConfigVerb) -> anyhow::Result<u8> {
    let ConfigVerb::Show { origin } = verb;
    let loaded = load(&Place::from_env()?, FlagOverrides::default())?;
    for line in loaded.shown(*origin) {
        out::line(&line)?;
    }
    Ok(0)
}

/// Reads every layer of the configuration.
///
/// # Errors
/// What is wrong with it; ends the program with 78.
pub(crate) fn load(place: &Place, flags: FlagOverrides) -> anyhow::Result<Loaded> {
    Config::load(&ConfigLayers::of_process(&place.folders.config, flags)).map_err(|fault| coded(CONFIGURATION, fault))
}
