//! Which servers are asked, and what HELLO says of them.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn hello_follows_servers_that_come_and_go_and_models_that_are_gained_and_lost() {
    let server = ollama(&["a:1b", "b:2b"]).await;
    let port = server.port();
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let hello = hello_of(&rig, &Scope::Data(chat.clone()));
    assert_eq!(hello["local_llm_models"], json!(["a:1b", "b:2b"]));
    assert!(offers_models(&hello));

    server.change(|script| *script = Script::ollama().with_models(&["a:1b", "b:2b", "c:3b"]));
    until_hello_says(&rig, &chat, &["a:1b", "b:2b", "c:3b"]).await;
    server.change(|script| *script = Script::ollama().with_models(&["c:3b"]));
    until_hello_says(&rig, &chat, &["c:3b"]).await;
    drop(server);
    until_hello_says(&rig, &chat, &[]).await;
    let refused = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("c:3b", false)).await;
    assert_eq!(refused["code"], "CAPABILITY_NOT_GRANTED", "{refused}");
    let down = rig.handle.snapshot();
    assert!(server_views(&down)[0].trouble.is_some() && !server_views(&down)[0].answers, "{down:?}");

    let _again = again_at(port, Script::ollama().with_models(&["d:4b"])).await;
    until_hello_says(&rig, &chat, &["d:4b"]).await;
    assert!(answered(&rig, &chat, ask_for("d:4b", false)).await.is_ok());
    rig.assert_no_faults();
}

/// Starts a server at a port that one has just left.
async fn again_at(port: u16, script: Script) -> ModelServer {
    for _ in 0..500 {
        if let Ok(server) = ModelServer::start_at(port, script.clone()).await {
            return server;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("port {port} is never free")
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_added_once_kept_and_taken_away_and_far_ones_only_by_a_word() {
    let server = ModelServer::start(Script::openai().with_models(&["m"])).await.unwrap();
    let mut rig = rig_of(Wish::headless().with(Power::LocalModel, PowerMode::Allowed)).await;
    let add = |url: &str, far: bool| Command::AddModelServer {
        url: url.to_owned(),
        api: "auto".to_owned(),
        far,
        parallel: 2,
    };
    let refused = async |command: Command| rig.handle.send(command).await.unwrap_err().code;
    assert_eq!(refused(add("http://192.0.2.9:8080", false)).await, "far_server");
    assert_eq!(refused(add("http://me:secret@127.0.0.1:1", false)).await, "bad_server");
    assert_eq!(
        refused(Command::RemoveModelServer { url: "http://127.0.0.1:1".to_owned() }).await,
        "server_from_config"
    );
    assert_eq!(refused(Command::RemoveModelServer { url: "http://127.0.0.1:2".to_owned() }).await, "unknown_server");

    rig.handle.send(add(&format!("{}/v1/", server.url()), false)).await.unwrap();
    rig.handle.send(add(&server.url(), false)).await.unwrap();
    rig.handle.send(add("http://192.0.2.9:8080", true)).await.unwrap();
    let picture = rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;
    let seen: Vec<_> = server_views(&picture).iter().map(|one| (one.url.as_str(), one.from_config, one.far)).collect();
    let own = server.url();
    assert_eq!(
        seen,
        [("http://127.0.0.1:1", true, false), (own.as_str(), false, false), ("http://192.0.2.9:8080", false, true)]
    );
    assert_eq!((server_views(&picture)[1].api.as_str(), server_views(&picture)[1].parallel), ("openai", 2));
    let told: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    let far = json!({ "url": "http://192.0.2.9:8080", "far": true });
    assert!(told.iter().any(|record| record["details"]["model_server"] == far), "{told:?}");

    rig.handle.send(Command::RemoveModelServer { url: "http://192.0.2.9:8080/".to_owned() }).await.unwrap();
    rig.stop().await;
    rig.start_again().await;
    let again = rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;
    assert_eq!(server_views(&again).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_a_window_names_servers_in_its_configuration() {
    let (near, other) = (ollama(&["a:1b", "shared"]).await, ollama(&["shared", "b:2b"]).await);
    let models = ConfiguredModels {
        ollama_url: "http://192.0.2.9:11434".to_owned(),
        servers: vec![near.url(), format!("{}/", near.url())],
        far: vec![other.url()],
        ..ConfiguredModels::default()
    };
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = models;
    let rig = rig_of(wish).await;
    let (chat, _) = rig.chat_in("project").await;

    assert_eq!(hello_of(&rig, &Scope::Data(chat.clone()))["local_llm_models"], json!(["a:1b", "shared", "b:2b"]));
    let picture = rig.until(|picture| server_views(picture).iter().filter(|one| one.answers).count() == 2).await;
    let [far, first, second] = server_views(&picture) else { panic!("{:?}", picture.models) };
    assert!(far.far && !far.answers && far.trouble.as_ref().unwrap().contains("not on this computer"), "{far:?}");
    assert!(first.from_config && second.from_config);
    let offered: Vec<_> = second.models.iter().map(|model| (model.name.as_str(), model.offered)).collect();
    assert_eq!(offered, [("shared", false), ("b:2b", true)]);
    answered(&rig, &chat, ask_for("shared", false)).await.unwrap();
    assert!(near.requests().iter().any(|asked| asked.path == "/api/chat"));
    assert!(!other.requests().iter().any(|asked| asked.path == "/api/chat"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organisation_keeps_models_near() {
    use drawbridge_engine::managed::ManagedOptions;
    use drawbridge_store::managed::Managed;

    let server = ollama(&["a:1b"]).await;
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed).at_models(&server.url());
    let policy = Managed { organisation: Some("Example".to_owned()), near_models: true, ..Managed::default() };
    wish.managed = ManagedOptions { policy: Some(policy), ..ManagedOptions::default() };
    wish.models.far = vec!["http://192.0.2.9:8080".to_owned()];
    let rig = rig_of(wish).await;

    let picture = rig.until(|picture| server_views(picture)[0].answers).await;
    let kept_out = server_views(&picture)[1].trouble.as_ref().unwrap();
    assert!(kept_out.contains("Example"), "{kept_out}");
    let add = Command::AddModelServer {
        url: "http://192.0.2.10:8080".to_owned(),
        api: "auto".to_owned(),
        far: true,
        parallel: 1,
    };
    let refused = rig.handle.send(add).await.unwrap_err();
    assert!(refused.code == "managed" && refused.message.contains("Example"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_a_server_here_passes_on_is_offered_only_where_questions_may_leave() {
    let server = ollama(&["a:1b"]).await;
    server.change(|script| script.models.push(ScriptModel::passed_on("mine")));
    let wish = Wish::headless().with_window().with(Power::LocalModel, PowerMode::AskEachTime).at_models(&server.url());
    let rig = rig_of(wish).await;
    let picture = rig.until(|picture| server_views(picture)[0].answers).await;
    let (chat, _) = rig.chat_in("project").await;
    assert_eq!(hello_of(&rig, &Scope::Data(chat.clone()))["local_llm_models"], json!(["a:1b"]));
    let shown: Vec<_> = server_views(&picture)[0].models.iter().map(|one| (one.elsewhere, one.offered)).collect();
    assert_eq!(shown, [(false, true), (true, false)]);
    let refused = answered(&rig, &chat, ask_for("mine", true)).await.unwrap_err();
    assert_eq!(refused["code"], "MODEL_NOT_AVAILABLE", "{refused}");

    let far = Command::AddModelServer { url: server.url(), api: "auto".to_owned(), far: true, parallel: 1 };
    rig.handle.send(far).await.unwrap();
    until_hello_says(&rig, &chat, &["a:1b", "mine"]).await;
    let (script, scope) = (rig.script.clone(), Scope::Data(chat.clone()));
    let asking =
        tokio::spawn(async move { script.request(&scope, "LOCAL_LLM_COMPLETION", ask_for("mine", true), None).await });
    let prompt = rig.until(|picture| !picture.prompts.is_empty()).await.prompts[0].clone();
    let elsewhere = prompt.details.iter().find(|detail| detail.label == "model_elsewhere");
    assert!(elsewhere.is_some_and(|detail| detail.value == "yes"), "{prompt:?}");
    asking.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn found_servers_are_told_and_not_asked_before_somebody_adds_them() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;

    let Reply::ModelServers { servers } = rig.handle.send(Command::FindModelServers).await.unwrap() else {
        panic!("no servers")
    };

    // What runs at the usual ports of this machine is not the test's; the one in use is never among them.
    assert!(servers.iter().all(|one| one.url != server.url() && !one.from_config), "{servers:?}");
    assert_eq!(server_views(&rig.handle.snapshot()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_elsewhere_speaks_tls_and_is_asked_only_where_it_is_trusted() {
    use drawbridge_engine::net::NetSettings;
    use drawbridge_testkit::tls::TlsFront;

    let pem = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name);
    let server = ollama(&["a:1b"]).await;
    let waiting = TlsFront::bind().await.unwrap();
    let url = format!("https://localhost:{}", waiting.port().unwrap());
    let _front = waiting.lead_to(server.port(), &pem("platform.pem"), &pem("platform.key")).unwrap();
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = ConfiguredModels { far: vec![url.clone()], ..ConfiguredModels::default() };
    let mut rig = rig_of(wish).await;

    let distrusted = rig.until(|picture| server_views(picture)[0].trouble.is_some()).await;
    assert!(server_views(&distrusted)[0].trouble.as_ref().unwrap().contains("unknown issuer"), "{distrusted:?}");
    assert_eq!(server.requests(), []);

    rig.stop().await;
    rig.options_mut().net = NetSettings { extra_roots: Some(pem("root.pem")), ..NetSettings::default() };
    rig.start_again().await;
    let trusted = rig.until(|picture| server_views(picture)[0].answers).await;
    assert_eq!(server_views(&trusted)[0].models[0].name, "a:1b");
    let id = try_model(&rig, "a:1b", "hello").await.unwrap();
    assert_eq!(until_trial(&rig, id, |now| now.state != "running").await.state, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_holds_up_neither_the_start_nor_the_others() {
    let mut script = Script::ollama();
    script.listing = Answers::Silent;
    let (hung, good) = (ModelServer::start(script).await.unwrap(), ollama(&["a:1b"]).await);
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = ConfiguredModels { ollama_url: hung.url(), servers: vec![good.url()], ..ConfiguredModels::default() };

    // The rig waits for the link, which a look of two seconds must not hold up.
    let rig = rig_of(wish).await;
    let first = rig.script.frame(0, |frame| frame.kind == "HELLO").await;
    assert!(matches!(first.scope, Scope::Control(_)), "{:?}", first.scope);
    let (chat, _) = rig.chat_in("project").await;
    rig.handle.send(Command::LookAtModels).await.unwrap();
    assert!(answered_in_time(&rig, &chat).await);
    let picture = rig.handle.snapshot();
    assert!(!server_views(&picture)[0].answers && server_views(&picture)[1].answers, "{picture:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_went_without_a_word_is_noticed_by_the_next_question() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    assert!(offers_models(&hello_of(&rig, &scope)));
    // A look that is younger than two seconds is not repeated for one failure; the real clock decides here.
    let after = rig.script.frames(0).last().unwrap().n;
    drop(server);

    let gone = |frame: &FrameRecord| {
        frame.kind == "HELLO" && frame.scope == scope && frame.text.contains("\"local_llm_models\":[]")
    };
    let noticed = rig.script.frame(after, gone);
    let asking = async {
        loop {
            match rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await {
                Err(Failure::Refused { reply }) if reply.payload["code"] == "LOCAL_LLM_FAILED" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                other => break other,
            }
        }
    };
    let (hello, _) = tokio::join!(noticed, asking);
    assert!(!hello.text.contains("\"local_llm\""), "{}", hello.text);
}
