//! `config.toml`.
