//! Holds the page's types to the engine's: `ui/src/generated/types.ts` is what the Rust types say, or this fails.
//!
//! `UPDATE_TYPES=1 cargo test -p drawbridge-engine --test types` writes the file anew.

use std::path::Path;

use drawbridge_engine::device_act::{
    DeviceAct, DeviceResult, LineEventView, UsbEndpointView, UsbInterfaceView, UsbView,
};
use drawbridge_engine::doctor::{Finding, FindingState};
use drawbridge_engine::prefs::Prefs;
use drawbridge_engine::view::{
    AccountRow, AccountState, AccountView, ActivityFilter, ActivityRow, AskedFileView, AuditView, CeilingView,
    ChangeCounts, ChatModeView, ChatPrivacyView, ChatView, DeviceView, DevicesView, DiffLine, DiffView, ExplainView,
    GateKind, GateView, LineNameView, LinkState, LinkView, ManagedView, MissingView, ModelServerView, ModelUseView,
    ModelView, ModelsView, Notice, PowerView, PromptAnswer, PromptDetail, PromptView, RaiseView, RecordView, RuleView,
    ScreenUseView, ScreenView, SecretsView, ShellCeilingView, ShellView, Snapshot, TrayState, TrialView, UndoView,
    VerifyView, WhyView,
};
use drawbridge_engine::{Command, CommandError, Reply};
use ts_rs::{Config, TS};

#[test]
fn the_pages_types_are_those_of_the_engine() {
    let config = Config::new();
    let mut wanted =
        String::from("// Generated from the engine's types by crates/engine/tests/types.rs. Do not edit.\n");
    macro_rules! declare {
        ($($name:ty),+ $(,)?) => { $(
            wanted.push_str("\nexport ");
            wanted.push_str(&<$name as TS>::decl(&config));
            wanted.push('\n');
        )+ };
    }
    declare!(
        Snapshot,
        Notice,
        AccountState,
        AccountView,
        LinkState,
        LinkView,
        ChatView,
        PowerView,
        CeilingView,
        ShellCeilingView,
        ShellView,
        PromptView,
        PromptDetail,
        PromptAnswer,
        ActivityRow,
        AuditView,
        UndoView,
        ExplainView,
        TrayState,
        RaiseView,
        RuleView,
        WhyView,
        ChangeCounts,
        ChatModeView,
        DiffView,
        DiffLine,
        ActivityFilter,
        RecordView,
        VerifyView,
        GateKind,
        GateView,
        AccountRow,
        SecretsView,
        ManagedView,
        MissingView,
        ScreenUseView,
        ScreenView,
        ModelsView,
        ModelServerView,
        ModelView,
        ModelUseView,
        TrialView,
        ChatPrivacyView,
        AskedFileView,
        DevicesView,
        DeviceView,
        LineNameView,
        DeviceAct,
        DeviceResult,
        UsbView,
        UsbInterfaceView,
        UsbEndpointView,
        LineEventView,
        FindingState,
        Finding,
        Prefs,
        Command,
        Reply,
        CommandError,
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/generated/types.ts");

    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }

    let committed = std::fs::read_to_string(&file).unwrap();
    assert_eq!(committed, wanted, "the page's types are stale: run this test with UPDATE_TYPES=1 and commit the file");
}
