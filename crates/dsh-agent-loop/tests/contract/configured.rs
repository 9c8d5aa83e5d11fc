//! Agents of the configuration.

use dsh_agent::{Agent, AgentId, CREATED};
use dsh_agent_loop::{BadAgents, CONFIG_START_FAILED, Config, ConfiguredAgent};
use dsh_llm::testing::Answer;
use tempfile::TempDir;

use crate::fixture::{Fixture, MODEL, PROVIDER, said, texts};

fn configured(id: &str) -> ConfiguredAgent {
    let mut agent = ConfiguredAgent::new(id);
    (agent.provider, agent.model) = (Some(PROVIDER.into()), Some(MODEL.into()));
    agent
}

// spec: agent-loop/S30
#[tokio::test]
async fn an_agent_gets_a_session_of_its_own_unless_one_is_given() {
    let (mut exact, mut empty) = (configured("exact"), configured("fresh"));
    (exact.session_id, exact.cwd) = (Some("s-1".into()), Some("/src".into()));
    empty.session_id = Some(String::new());
    let fixture = Fixture::with(Config::with_agents(vec![exact, empty]), [Answer::text("ok")]).await;
    fixture.app.quiet().await;
    let agents = fixture.agents();
    let named = agents.get(&AgentId::from("s-1")).unwrap();
    assert_eq!(named.session().header().cwd.as_deref(), Some("/src"));
    let ids: Vec<String> = agents.list().iter().map(|agent| agent.id().to_string()).collect();
    let fresh = ids.iter().find(|id| *id != "s-1").unwrap();
    assert!(fresh.starts_with("fresh-session-") && fresh.len() == "fresh-session-".len() + 36, "{fresh}");
    named.followup(said("go")).unwrap();
    named.when_idle().await;
    assert_eq!(texts(named.session()), ["go", "ok"]);
    fixture.agent_loop.dispose().await;
    assert_eq!(fixture.agents().list(), []);
}

// spec: agent-loop/S30
#[tokio::test]
async fn a_configuration_that_cannot_be_starts_nothing() {
    let (mut both, mut one, mut two) = (configured("both"), configured("one"), configured("two"));
    (both.session_id, both.resume_session_id) = (Some("s".into()), Some("s".into()));
    (one.session_id, two.resume_session_id) = (Some("s".into()), Some("s".into()));
    let cases = [
        (vec![both], BadAgents::Both { id: "both".into() }),
        (vec![one, two], BadAgents::Twice { session: "s".into() }),
        (vec![configured("")], BadAgents::NoId),
    ];
    let fixture = Fixture::new([]).await;
    for (agents, expected) in cases {
        let config = Config::with_agents(agents);
        assert_eq!(config.check(), Err(expected.clone()));
        let refused = fixture.agent_loop.update(config).await.unwrap_err();
        assert!(cordis::chain(&refused).contains(&expected.to_string()), "{}", cordis::chain(&refused));
    }
    assert!(serde_json::from_str::<Config>(r#"{"maxParallelToolCalls":0}"#).is_err());
    assert!(serde_json::from_str::<Config>(r#"{"agents":[{"id":"a","maxTokens":0}]}"#).is_err());
    assert!(serde_json::from_str::<Config>(r#"{"agents":[{"id":"a","tools":[]}]}"#).is_err());
    let default = serde_json::to_value(Config::default()).unwrap();
    assert_eq!(default, serde_json::json!({ "agents": [], "maxParallelToolCalls": 10 }));
}

// spec: agent-loop/S30
#[tokio::test]
async fn one_that_does_not_start_is_told_and_the_others_start() {
    let mut missing = configured("missing");
    missing.resume_session_id = Some("nowhere".into());
    let folder = TempDir::new().unwrap();
    let fixture = Fixture::new([]).await;
    let stored = dsh_session_jsonl::Config::new(folder.path());
    fixture.app.plugin(dsh_session_jsonl::plugin(), stored).unwrap().ready().await.unwrap();
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    fixture
        .app
        .on(CONFIG_START_FAILED)
        .run(move |failed| told.send((failed.session_id.clone(), failed.error.to_string())).unwrap())
        .unwrap();
    fixture.agent_loop.update(Config::with_agents(vec![missing, configured("there")])).await.unwrap();
    let (session, error) = heard.recv().await.unwrap();
    assert_eq!(session, "nowhere");
    assert!(error.contains("nowhere"), "{error}");
    fixture.app.quiet().await;
    assert_eq!(fixture.agents().list().len(), 1);
}

// spec: agent-loop/S30
#[tokio::test]
async fn one_with_a_session_goes_on_where_it_is_stored() {
    let folder = TempDir::new().unwrap();
    let mut exact = configured("exact");
    exact.session_id = Some("s-1".into());
    let config = Config::with_agents(vec![exact]);
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let stored = dsh_session_jsonl::Config::new(folder.path());
    fixture.app.plugin(dsh_session_jsonl::plugin(), stored).unwrap().ready().await.unwrap();
    fixture.app.on(CONFIG_START_FAILED).run(|failed| panic!("{}", cordis::chain(&*failed.error))).unwrap();
    let (made, mut agents) = tokio::sync::mpsc::unbounded_channel();
    fixture.app.on(CREATED).run(move |agent: &Agent| Ok(made.send(agent.clone())?)).unwrap();
    fixture.agent_loop.update(config).await.unwrap();
    for expected in [vec!["go", "one"], vec!["go", "one", "go", "two"]] {
        let agent = agents.recv().await.unwrap();
        assert_eq!(agent.id(), &AgentId::from("s-1"));
        agent.followup(said("go")).unwrap();
        agent.when_idle().await;
        assert_eq!(texts(agent.session()), expected);
        // What is being made is waited for: the same session can be opened again at once.
        fixture.agent_loop.restart().await.unwrap();
    }
}
