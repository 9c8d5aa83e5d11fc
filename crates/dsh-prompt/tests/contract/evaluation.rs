//! In which order an assembly asks, how often, and what it does with the answers.

use dsh_prompt::{AssembleContext, PromptContext, PromptSection, PromptText};

use crate::fixture::{Fixture, Log, pairs, sections, tools, variables};

// spec: system-prompt/S16
#[tokio::test]
async fn variables_are_asked_first_then_tools_sections_and_contexts() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let log = Log::default();
    let prompt = fixture.prompt();
    // Registered the other way round, so that the order of registration explains nothing.
    for (ctx, [context, section, tool, value]) in [
        (agent.context(), ["near context", "near section", "near_tool", "near value"]),
        (&**fixture.app, ["far context", "far section", "far_tool", "far value"]),
    ] {
        prompt.context(ctx, PromptContext::new(context, 1, log.text(context))).unwrap();
        prompt.section(ctx, PromptSection::new(section, 1, log.text(section))).unwrap();
        prompt.tools(ctx, log.offer(tool)).unwrap();
        prompt.variable(ctx, "v", log.value(value)).unwrap();
    }
    let assembly = fixture.assemble_at(&agent).await;
    assert_eq!(
        log.take(),
        [
            "far value",
            "near value",
            "far_tool",
            "near_tool",
            "far section",
            "near section",
            "far context",
            "near context"
        ]
    );
    assert_eq!(variables(&assembly), [("v", Some("near value"))]);
}

// spec: system-prompt/S16
#[tokio::test]
async fn a_shadowing_entry_takes_the_place_of_the_first_of_its_name_and_the_shadowed_one_is_not_asked() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let log = Log::default();
    let prompt = fixture.prompt();
    for name in ["a", "b"] {
        prompt.section(&fixture.app, PromptSection::new(name, 1, log.text("global"))).unwrap();
        prompt.context(&fixture.app, PromptContext::new(name, 1, log.text("global"))).unwrap();
    }
    prompt.section(agent.context(), PromptSection::new("c", 1, "own")).unwrap();
    prompt.context(agent.context(), PromptContext::new("c", 1, "own")).unwrap();
    prompt.section(agent.context(), PromptSection::new("a", 1, log.text("near"))).unwrap();
    prompt.context(agent.context(), PromptContext::new("a", 1, log.text("near"))).unwrap();
    let assembly = fixture.assemble_at(&agent).await;
    let expected = [("a", "near"), ("b", "global"), ("c", "own")];
    assert_eq!(sections(&assembly), expected);
    assert_eq!(pairs(&assembly.contexts), expected);
    assert_eq!(log.take(), ["near", "global", "near", "global"]);
}

// spec: system-prompt/S16
#[tokio::test]
async fn what_a_variable_provider_registers_elsewhere_is_in_the_same_assembly() {
    let fixture = Fixture::new().await;
    let app = fixture.app.root();
    let provider = move |_: &AssembleContext| {
        let prompt = app.get(dsh_prompt::SYSTEM_PROMPT)?;
        let prompt = prompt.get().ok()?;
        prompt.section(&app, PromptSection::new("late", 1, "late")).ok()?;
        prompt.tools(&app, crate::fixture::offers(&["late"])).ok()?;
        None
    };
    fixture.prompt().variable(&fixture.app, "v", provider).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(sections(&assembly), [("late", "late")]);
    assert_eq!(tools(&assembly), ["late"]);
}

// spec: system-prompt/S47, S4
#[tokio::test]
async fn sections_and_contexts_are_sorted_by_order_and_ties_stay_as_they_were_registered() {
    let fixture = Fixture::new().await;
    let orders = [
        ("guidance", 150.0),
        ("minus zero", -0.0),
        ("half", 0.5),
        ("zero", 0.0),
        ("identity", -100.0),
        ("minus zero again", -0.0),
        ("below", -0.5),
    ];
    for (name, order) in orders {
        fixture.prompt().section(&fixture.app, PromptSection::new(name, order, "text")).unwrap();
        fixture.prompt().context(&fixture.app, PromptContext::new(name, order, "text")).unwrap();
    }
    let expected = ["identity", "below", "minus zero", "zero", "minus zero again", "half", "guidance"]
        .map(|name| (name, "text"));
    let assembly = fixture.assemble().await;
    assert_eq!(sections(&assembly), expected);
    assert_eq!(pairs(&assembly.contexts), expected);
    // The persona was registered first, with order 0.
    assert_eq!(assembly.sections[2].name, "deployment:persona");
}

// spec: system-prompt/S17
#[tokio::test]
async fn every_assembly_asks_anew_and_everybody_in_it_is_lent_the_same_context() {
    let fixture = Fixture::new().await;
    let log = Log::default();
    let seen = |log: &Log| {
        let log = log.clone();
        move |context: &AssembleContext| {
            log.say(format!("{context:p}"));
            context.get::<String>().cloned().unwrap()
        }
    };
    let prompt = fixture.prompt();
    let [value, tool, section, context] = [(); 4].map(|()| seen(&log));
    prompt.variable(&fixture.app, "v", move |context| Some(value(context))).unwrap();
    prompt
        .tools(&fixture.app, move |context| {
            tool(context);
            Ok(Default::default())
        })
        .unwrap();
    prompt.section(&fixture.app, PromptSection::new("s", 1, PromptText::dynamic(section))).unwrap();
    prompt.context(&fixture.app, PromptContext::new("c", 1, PromptText::dynamic(context))).unwrap();
    for step in ["first", "second"] {
        let assembly = fixture.try_assemble(&AssembleContext::new().with(step.to_owned())).await.unwrap();
        assert_eq!(variables(&assembly), [("v", Some(step))]);
        assert_eq!(sections(&assembly), [("s", step)]);
        assert_eq!(pairs(&assembly.contexts), [("c", step)]);
        let mut seen = log.take();
        assert_eq!(seen.len(), 4);
        seen.dedup();
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}

// spec: system-prompt/S1
#[tokio::test]
async fn assembled_texts_still_hold_the_names_of_their_variables() {
    let fixture = Fixture::new().await;
    let prompt = fixture.prompt();
    prompt.variable(&fixture.app, "v", |_| Some("value".to_owned())).unwrap();
    prompt.section(&fixture.app, PromptSection::new("s", 1, "{{v}}")).unwrap();
    let made = PromptText::dynamic(|_| "{{v}}".to_owned());
    prompt.context(&fixture.app, PromptContext::new("c", 1, made)).unwrap();
    let assembly = fixture.assemble().await;
    assert_eq!(sections(&assembly), [("s", "{{v}}")]);
    assert_eq!(pairs(&assembly.contexts), [("c", "{{v}}")]);
    assert_eq!(assembly.render_prompt().unwrap(), "value");
}

// spec: system-prompt/S19
#[tokio::test]
async fn what_is_done_to_one_assembly_shows_in_no_other() {
    let fixture = Fixture::new().await;
    let prompt = fixture.prompt();
    prompt.section(&fixture.app, PromptSection::new("s", 1, "text")).unwrap();
    prompt.context(&fixture.app, PromptContext::new("c", 1, "text")).unwrap();
    prompt.variable(&fixture.app, "v", |_| None).unwrap();
    let mut schema = crate::fixture::tool("t");
    schema.parameters.insert("properties".to_owned(), serde_json::json!({ "a": {} }));
    prompt
        .tools(&fixture.app, move |_| {
            Ok(dsh_prompt::ToolContribution { schemas: vec![schema.clone()], known_names: None })
        })
        .unwrap();
    let untouched = fixture.assemble().await;
    let mut changed = fixture.assemble().await;
    assert_eq!(changed, untouched);
    changed.sections.clear();
    changed.contexts[0].text.push('!');
    changed.tools[0].parameters["properties"]["a"] = serde_json::json!(1);
    changed.variables.insert("v".to_owned(), Some("value".to_owned()));
    assert_eq!(fixture.assemble().await, untouched);
}

// spec: system-prompt/S41
#[tokio::test]
async fn a_provider_that_goes_is_missing_from_the_next_assembly_only() {
    let fixture = Fixture::new().await;
    let effect = fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "text")).unwrap();
    let step = fixture.assemble().await;
    effect.dispose().await;
    assert_eq!(step.render_prompt().unwrap(), "text");
    assert_eq!(fixture.assemble().await.render_prompt().unwrap(), "");
}
