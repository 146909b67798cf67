use std::path::PathBuf;

use super::*;

const KEY: &str = include_str!("../../../crates/engine/tests/updates/key.pub");
/// Nobody listens there.
const NOWHERE: &str = "https://127.0.0.1:1/latest.json";

fn desk(source: Source, kind: Kind, policy: Option<Managed>) -> UpdateDesk {
    let read = move || Ok(Setting { net: NetSettings::default(), policy: policy.clone() });
    UpdateDesk::with(source, "0.1.0", Arc::new(read), Some(kind))
}

fn image() -> Kind {
    Kind::AppImage(PathBuf::from("/x.AppImage"))
}

fn source() -> Source {
    Source::new(KEY, NOWHERE, "https://x.example/releases")
}

async fn view(desk: &UpdateDesk) -> UpdateView {
    desk.view("beta").await.unwrap()
}

#[tokio::test]
async fn each_kind_of_installation_has_its_way() {
    for (kind, source, way) in [
        (image(), source(), "own"),
        (Kind::Nsis, source(), "own"),
        (Kind::Deb, source(), "link"),
        (Kind::Rpm, source(), "link"),
        (Kind::Other, source(), "link"),
        // Without a key nothing can be taken, whatever the kind.
        (image(), Source::new("", NOWHERE, "https://x.example"), "link"),
        (image(), Source::default(), "link"),
    ] {
        let name = kind.name();
        let seen = view(&desk(source, kind, None)).await;
        assert_eq!((seen.way, seen.installed_as, seen.state, seen.channel.as_str()), (way, name, "idle", "beta"));
    }
    let empty = view(&desk(Source::default(), image(), None)).await;
    assert!(!empty.can_check && !empty.has_page);
}

#[tokio::test]
async fn an_organisation_can_take_updates_over_or_fix_the_channel() {
    let off = Managed { organisation: Some("Example".to_owned()), updates_enabled: Some(false), ..Managed::default() };
    let desk_off = desk(source(), image(), Some(off));
    assert_eq!(view(&desk_off).await.way, "managed");
    for refused in
        [desk_off.look("stable").await, desk_off.take().await.map(drop), desk_off.look_quietly("stable").await]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, "managed");
        assert!(refused.message.contains("Example"), "{}", refused.message);
    }
    assert_eq!(view(&desk_off).await.state, "idle");

    let stable = Managed { update_channel: Some("stable".to_owned()), ..Managed::default() };
    assert_eq!(view(&desk(source(), image(), Some(stable))).await.channel, "stable");
}

#[tokio::test]
async fn a_look_that_fails_is_told_to_whoever_asked_and_to_nobody_else() {
    let desk = desk(source(), image(), None);

    assert_eq!(desk.look_quietly("stable").await.unwrap_err().code, "unreachable");
    assert_eq!(view(&desk).await.state, "idle");

    desk.look("stable").await.unwrap();
    let seen = view(&desk).await;
    assert_eq!((seen.state, seen.problem_code.as_deref()), ("failed", Some("unreachable")));
    let problem = seen.problem.unwrap();
    assert!(
        problem.starts_with("The list of versions could not be read") && problem.ends_with("goes on."),
        "{problem}"
    );
    assert_eq!(desk.take().await.unwrap_err().code, "no_update");
}

#[tokio::test]
async fn one_thing_is_done_at_a_time() {
    let desk = desk(source(), image(), None);
    desk.begin(Stand::Downloading(Some(7))).unwrap();

    assert_eq!(desk.look("stable").await.unwrap_err().code, "update_busy");
    desk.look_quietly("stable").await.unwrap();

    let seen = view(&desk).await;
    assert_eq!((seen.state, seen.percent), ("downloading", Some(7)));
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_told() {
    let read = || Err("config.toml, line 3: a\u{202e}b".to_owned());
    let desk = UpdateDesk::with(source(), "0.1.0", Arc::new(read), Some(image()));

    let fault = desk.view("stable").await.unwrap_err();

    assert_eq!((fault.code.as_str(), fault.message.contains('\u{202e}')), ("configuration", false));
}
