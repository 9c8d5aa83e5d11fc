//! What a model is asked, and that the log says so.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{AgentOptions, AgentRequest, CreateAgent, MaxTokens, REQUEST, Requested};
use dsh_llm::testing::{Answer, ScriptedModel, plain};
use dsh_llm::{CallConfig, LLM, Message, ModelCall, ModelInfo, Outcome, STREAM};
use dsh_prompt::{PromptSection, SYSTEM_PROMPT};
use dsh_session::{
    Event, HeaderReason, NewEvent, RequestContext, RequestHeader, Seed, Session, TurnEndReason,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, calls, endings, options, said, texts};

type Requesting<'a> = Next<'a, AgentRequest, Requested>;

fn headers(session: &Session) -> Vec<RequestHeader> {
    session.events().iter().filter_map(|event| event.payload().unwrap()).collect()
}

fn contexts(session: &Session) -> Vec<RequestContext> {
    session.events().iter().filter_map(|event| event.payload().unwrap()).collect()
}

async fn turn(agent: &dsh_agent::Agent) {
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
}

// spec: agent-loop/S63, agent-loop/S5
#[tokio::test]
async fn the_first_request_asks_for_what_the_agent_is_set_to() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let max_tokens = Some(MaxTokens::try_from(100).unwrap());
    let request = CreateAgent::new("a").options(AgentOptions { max_tokens, ..options() });
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    turn(&agent).await;
    let asked = &fixture.requests()[0];
    let expected = CallConfig { max_tokens: Some(100), ..CallConfig::new("scripted", "m") };
    assert_eq!(asked.config, expected);
    assert_eq!(headers(agent.session())[0].header.config, expected);
    assert_eq!(headers(agent.session())[0].header.adapter_defaults, None);
    for bad in [0, 1 << 53] {
        assert!(MaxTokens::try_from(bad).is_err());
    }
}

// spec: agent-loop/S63, agent-loop/S65, agent-loop/S67
#[tokio::test]
async fn what_the_adapter_chose_is_logged_and_asked_for_anew() {
    let info = |provider: &str, model: &str| ModelInfo {
        default_max_tokens: Some(if model == "m" { 50 } else { 60 }),
        context_window: Some(if model == "m" { 1_000 } else { 2_000 }),
        ..plain(provider, model)
    };
    let model = ScriptedModel::new((0..4).map(|_| Answer::text("ok"))).with_info(info);
    let fixture = Fixture::new([]).await;
    let llm = fixture.app.get(LLM).unwrap();
    let _ = llm.get().unwrap().register(&fixture.app, ["other"], model.adapter()).unwrap();
    let other = AgentOptions { provider: Some("other".into()), ..options() };
    let agent = fixture.agents().create(&fixture.app, CreateAgent::new("a").options(other)).await.unwrap();
    turn(&agent).await;
    turn(&agent).await;
    assert_eq!(headers(agent.session()).len(), 1);
    let header = &headers(agent.session())[0].header;
    assert_eq!(header.config.max_tokens, Some(50));
    assert_eq!(header.adapter_defaults.unwrap().max_tokens, Some(true));
    // What the adapter chose for one model is not what another one is asked for.
    let switches = async |_: &(), request: &mut AgentRequest, next: Requesting<'_>| {
        let config = next.run(request).await?;
        assert_eq!(config.max_tokens, None);
        Ok(CallConfig { model: "n".into(), ..config })
    };
    let switching = fixture.app.on(REQUEST).with(()).run(switches).unwrap();
    turn(&agent).await;
    assert_eq!(headers(agent.session())[1].header.config.max_tokens, Some(60));
    assert_eq!(headers(agent.session())[1].reason, HeaderReason::Change);
    let windows: Vec<_> = contexts(agent.session()).iter().map(|context| context.context_window).collect();
    assert_eq!(windows, [Some(1_000), Some(2_000)]);
    switching.dispose().await;
    // The switch stays: it is what was asked last.
    turn(&agent).await;
    assert_eq!(headers(agent.session()).len(), 2);
    assert_eq!(model.requests()[3].config.model, "n");
}

// spec: agent-loop/S63
#[tokio::test]
async fn a_limit_that_the_agent_is_set_to_is_kept_from_request_to_request() {
    let fixture = Fixture::new((0..2).map(|_| Answer::text("ok"))).await;
    let max_tokens = Some(MaxTokens::try_from(7).unwrap());
    let request = CreateAgent::new("a").options(AgentOptions { max_tokens, ..options() });
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    turn(&agent).await;
    turn(&agent).await;
    assert!(fixture.requests().iter().all(|request| request.config.max_tokens == Some(7)));
    assert_eq!(headers(agent.session()).len(), 1);
}

// spec: agent-loop/S64
#[tokio::test]
async fn listeners_see_where_the_request_is_and_cannot_change_the_seed() {
    let fixture = Fixture::new([calls(&[("c1", "echo", json!({}))]), Answer::text("ok")]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let looks =
        async |seen: &Arc<Mutex<Vec<(u64, u64)>>>, request: &mut AgentRequest, next: Requesting<'_>| {
            seen.lock().push((request.turn, request.step));
            // Said now, it is for the next request.
            request.agent.inject(said("note"))?;
            let mut config = next.clone().run(request).await?;
            config.temperature = Some(2.0);
            drop(config);
            next.run(request).await
        };
    fixture.app.on(REQUEST).with(seen.clone()).run(looks).unwrap();
    turn(&agent).await;
    assert_eq!(*seen.lock(), [(1, 1), (1, 2), (1, 3)]);
    let requests = fixture.requests();
    assert_eq!(requests[0].config.temperature, None);
    let asked: Vec<String> = requests[0].messages.iter().map(|message| message.text()).collect();
    assert_eq!(asked, ["go"]);
    assert!(requests[1].messages.iter().any(|message| message.text() == "note"));
}

// spec: agent-loop/S64
#[tokio::test]
async fn without_a_model_nothing_is_asked() {
    let fixture = Fixture::new([]).await;
    let cases = [
        (AgentOptions::default(), "provider"),
        (AgentOptions { provider: Some("scripted".into()), ..AgentOptions::default() }, "model"),
    ];
    for (id, (options, missing)) in cases.into_iter().enumerate() {
        let request = CreateAgent::new(format!("a{id}")).options(options);
        let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
        turn(&agent).await;
        let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
        assert_eq!(error.code, "UNKNOWN");
        assert!(error.message.contains(missing), "{}", error.message);
        assert_eq!(headers(agent.session()), []);
    }
}

// spec: agent-loop/S65
#[tokio::test]
async fn a_provider_without_an_adapter_may_be_served_by_a_listener() {
    let fixture = Fixture::new([]).await;
    let nowhere = AgentOptions { provider: Some("nowhere".into()), ..options() };
    let agent = fixture.agents().create(&fixture.app, CreateAgent::new("a").options(nowhere)).await.unwrap();
    turn(&agent).await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert_eq!(error.code, "NO_ADAPTER");
    fixture.model.push(Answer::text("served"));
    let serves = async |call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
        call.request.config.provider = "scripted".into();
        next.run(call).await
    };
    fixture.app.on(STREAM).run(serves).unwrap();
    turn(&agent).await;
    assert_eq!(texts(agent.session()), ["go", "go", "served"]);
    assert_eq!(
        contexts(agent.session()),
        [RequestContext { provider: "nowhere".into(), model: "m".into(), context_window: None }]
    );
}

// spec: agent-loop/S66
#[tokio::test]
async fn the_header_is_logged_first_and_when_it_changes() {
    let fixture = Fixture::new((0..5).map(|_| Answer::text("ok"))).await;
    let agent = fixture.agent("a").await;
    turn(&agent).await;
    turn(&agent).await;
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    let section =
        prompt.get().unwrap().section(&fixture.app, PromptSection::new("more", 1, "More.")).unwrap();
    turn(&agent).await;
    fixture.echo(&fixture.app, "echo");
    turn(&agent).await;
    let reasons: Vec<HeaderReason> = headers(agent.session()).iter().map(|header| header.reason).collect();
    assert_eq!(reasons, [HeaderReason::Initial, HeaderReason::Change, HeaderReason::Change]);
    let header = agent.session().request_header().unwrap();
    let request = &fixture.requests()[3];
    assert_eq!(header.system.as_deref(), request.system.as_deref());
    assert_eq!(header.tools.as_deref(), Some(&*request.tools));
    assert_eq!(request.session_id.as_deref(), Some("a"));
    section.dispose().await;
    // Another loop that goes on with the log says so once.
    let seed = Seed::from(agent.session().events());
    let mut request = CreateAgent::new("b").options(options());
    request.session.seed = Some(seed);
    let next = fixture.agents().create(&fixture.app, request).await.unwrap();
    turn(&next).await;
    assert_eq!(headers(next.session()).last().unwrap().reason, HeaderReason::Resume);
}

// spec: agent-loop/S53
#[tokio::test]
async fn an_empty_prompt_is_none() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let empty = async |assembling: &mut dsh_prompt::Assembling,
                       next: Next<
        '_,
        dsh_prompt::Assembling,
        Result<dsh_prompt::PromptAssembly, cordis::BoxError>,
    >| {
        let mut assembly = next.run(assembling).await?;
        assembly.sections.clear();
        Ok(assembly)
    };
    fixture.app.on(dsh_prompt::ASSEMBLE).run(empty).unwrap();
    turn(&agent).await;
    assert_eq!(fixture.requests()[0].system, None);
    assert_eq!(agent.session().request_header().unwrap().system, None);
}

// spec: agent-loop/S31
#[tokio::test]
async fn prompts_can_name_the_model_and_the_folder() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
    let where_ = PromptSection::new("where", 1, "{{provider}}/{{model}} in {{cwd}}");
    prompt.get().unwrap().section(&fixture.app, where_).unwrap();
    let request = CreateAgent::new("a").options(options()).in_folder("/src");
    let agent = fixture.agents().create(&fixture.app, request).await.unwrap();
    turn(&agent).await;
    assert!(fixture.requests()[0].system.as_deref().unwrap().ends_with("scripted/m in /src"));
}

/// What a request would be by the log up to its `request/context`, or header, or step: the messages, the header and nothing else.
fn rebuilt(events: &[Arc<Event>]) -> (Vec<Arc<Message>>, Option<RequestHeader>) {
    let session =
        Session::new(dsh_session::SessionHeader::new("again", 0), Some(Seed::new(events.iter().cloned())))
            .unwrap();
    (session.messages().iter().cloned().collect(), headers(&session).pop())
}

// spec: agent-loop/S68, agent-loop/S70, design/P8
#[tokio::test]
async fn every_request_can_be_made_again_from_the_log_alone() {
    let answers = [
        calls(&[("c1", "echo", json!({ "text": "x" })), ("c2", "nope", json!({}))]),
        Answer::text("one"),
        calls(&[("c3", "echo", json!({ "text": "y" }))]),
        Answer::text("two"),
    ];
    let fixture = Fixture::new(answers).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    turn(&agent).await;
    let nodes = agent.session().surface().nodes().to_vec();
    let summary =
        NewEvent::user(said("summed up")).unwrap().replacing(nodes[0], nodes[0]).made_from([nodes[0]]);
    agent.session().append(summary).unwrap();
    turn(&agent).await;
    let events: Vec<Arc<Event>> = agent.session().events().to_vec();
    // An answer begins right behind its request.
    let firsts = events.iter().enumerate().filter(|(place, event)| {
        event.kind() == "assistant/chunk" && events[*place - 1].kind() != "assistant/chunk"
    });
    let requests = fixture.requests();
    let rebuilt: Vec<_> = firsts.map(|(place, _)| rebuilt(&events[..place])).collect();
    assert_eq!(rebuilt.len(), requests.len());
    for ((messages, header), request) in rebuilt.iter().zip(&requests) {
        assert_eq!(messages[..], request.messages[..]);
        let header = &header.as_ref().unwrap().header;
        assert_eq!(header.config, request.config);
        assert_eq!(header.system.as_deref(), request.system.as_deref());
        assert_eq!(header.tools.as_deref(), Some(&*request.tools));
    }
    // Each one goes on where the one before ended, unless something was replaced.
    assert_eq!(requests[1].messages[..requests[0].messages.len()], requests[0].messages[..]);
    assert_eq!(requests[3].messages[..requests[2].messages.len()], requests[2].messages[..]);
    assert_ne!(requests[2].messages[0], requests[1].messages[0]);
}
