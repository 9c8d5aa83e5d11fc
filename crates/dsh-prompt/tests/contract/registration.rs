//! What can be registered, and what is left of it.

use cordis::{BoxError, Context, Handle, define};
use dsh_prompt::{
    AssembleContext, Contribution, PromptContext, PromptSection, RegisterError, SYSTEM_PROMPT, SystemPrompt,
};

use crate::fixture::{Fixture, offers, pairs, sections, tools, variables};

async fn contribute(ctx: &Context, prompt: Handle<SystemPrompt>, _: &()) -> Result<(), BoxError> {
    let prompt = prompt.get()?;
    prompt.section(ctx, PromptSection::new("s", 1, "section"))?;
    prompt.context(ctx, PromptContext::new("c", 1, "context"))?;
    prompt.variable(ctx, "v", |_| Some("value".to_owned()))?;
    prompt.tools(ctx, offers(&["tool"]))?;
    Ok(())
}

// spec: system-prompt/S6, design/P1
#[tokio::test]
async fn all_that_a_plugin_registered_goes_with_it() {
    let fixture = Fixture::new().await;
    let before = fixture.assemble().await;
    let fiber = fixture.app.plugin(define("contributor").needs(SYSTEM_PROMPT).run(contribute), ()).unwrap();
    fiber.ready().await.unwrap();

    let during = fixture.assemble().await;
    assert_eq!(sections(&during), [("s", "section")]);
    assert_eq!(pairs(&during.contexts), [("c", "context")]);
    assert_eq!(variables(&during), [("v", Some("value"))]);
    assert_eq!(tools(&during), ["tool"]);

    assert!(fiber.dispose().await.is_clean());
    assert_eq!(fixture.assemble().await, before);
}

// spec: system-prompt/S6
#[tokio::test]
async fn a_disposed_effect_takes_its_own_registration_and_no_later_one_of_that_name() {
    let fixture = Fixture::new().await;
    let section =
        |text: &str| fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, text)).unwrap();
    let kept = fixture.prompt().section(&fixture.app, PromptSection::new("kept", 1, "kept")).unwrap();
    let first = section("first");
    assert!(first.dispose().await.is_clean());
    let _second = section("second");
    assert!(first.dispose().await.is_clean());
    assert_eq!(sections(&fixture.assemble().await), [("kept", "kept"), ("s", "second")]);
    assert!(kept.is_live());
}

// spec: system-prompt/S6
#[tokio::test]
async fn equal_providers_are_disposed_one_by_one() {
    let fixture = Fixture::new().await;
    let first = fixture.prompt().tools(&fixture.app, offers(&["t"])).unwrap();
    let second = fixture.prompt().tools(&fixture.app, offers(&["t"])).unwrap();
    assert_eq!(tools(&fixture.assemble().await), ["t", "t"]);
    first.dispose().await;
    first.dispose().await;
    assert_eq!(tools(&fixture.assemble().await), ["t"]);
    second.dispose().await;
    assert!(fixture.assemble().await.tools.is_empty());
}

// spec: system-prompt/S7, S8, S9
#[tokio::test]
async fn a_name_is_given_once_in_a_layer_and_the_error_says_whose_it_is_and_what_to_do() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    for ctx in [&**fixture.app, agent.context()] {
        let prompt = fixture.prompt();
        let section = || prompt.section(ctx, PromptSection::new("s", 1, "text"));
        let context = || prompt.context(ctx, PromptContext::new("c", 1, "text"));
        let variable = || prompt.variable(ctx, "v", |_| None);
        let _held = (section().unwrap(), context().unwrap(), variable().unwrap());
        for (again, expected) in [
            (section(), Contribution::Section("s".to_owned())),
            (context(), Contribution::Context("c".to_owned())),
            (variable(), Contribution::Variable("v".to_owned())),
        ] {
            let error = again.unwrap_err();
            let text = error.to_string();
            let RegisterError::Taken { what, owner, plugin, scoped } = error else { panic!("{text}") };
            let label = ctx.fiber().label();
            assert_eq!((what, &owner, &plugin), (expected, &label, &label));
            assert_eq!(scoped, ctx.scope_key().is_some());
            let remedy = if scoped { "in this scope" } else { "on that agent's context" };
            assert!(text.contains(remedy), "{text}");
        }
    }
}

// spec: system-prompt/S7, S8, S14
#[tokio::test]
async fn an_order_that_is_not_finite_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let before = fixture.assemble().await;
    for order in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let prompt = fixture.prompt();
        for (refused, expected) in [
            (
                prompt.section(&fixture.app, PromptSection::new("s", order, "text")),
                Contribution::Section("s".to_owned()),
            ),
            (
                prompt.context(&fixture.app, PromptContext::new("c", order, "text")),
                Contribution::Context("c".to_owned()),
            ),
        ] {
            match refused {
                Err(RegisterError::Order { what, order: given, .. }) => {
                    assert_eq!((what, given.to_bits()), (expected, order.to_bits()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(fixture.assemble().await, before);
    let prompt = fixture.prompt();
    prompt.section(&fixture.app, PromptSection::new("s", 1, "text")).unwrap();
    prompt.context(&fixture.app, PromptContext::new("c", 1, "text")).unwrap();
}

// spec: system-prompt/S9
#[tokio::test]
async fn a_variable_is_called_by_lower_case_letters_digits_and_underscores() {
    let fixture = Fixture::new().await;
    for name in ["", "A", "aB", "1a", "_a", "a-b", "a b", "a.b", "ä", "aä", "a\n"] {
        let refused = fixture.prompt().variable(&fixture.app, name, |_| None);
        match refused {
            Err(RegisterError::VariableName { name: given, .. }) => assert_eq!(given, name),
            other => panic!("{name:?}: {other:?}"),
        }
    }
    for name in ["a", "cwd", "a1", "a_", "constructor"] {
        fixture.prompt().variable(&fixture.app, name, |_| None).unwrap();
    }
    let all = [("a", None), ("a1", None), ("a_", None), ("constructor", None), ("cwd", None)];
    assert_eq!(variables(&fixture.assemble().await), all);
}

// spec: system-prompt/S10
#[tokio::test]
async fn any_number_of_tool_providers_may_be_in_a_layer_and_each_is_asked() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    for ctx in [&**fixture.app, agent.context()] {
        for _ in 0..3 {
            fixture.prompt().tools(ctx, offers(&["t"])).unwrap();
        }
    }
    assert_eq!(tools(&fixture.assemble().await), ["t"; 3]);
    assert_eq!(tools(&fixture.assemble_at(&agent).await), ["t"; 6]);
}

#[tokio::test]
async fn nothing_can_be_registered_on_a_context_that_is_gone() {
    let fixture = Fixture::new().await;
    let agent = fixture.app.scope().unwrap();
    let (ctx, key) = (agent.context().clone(), agent.key().clone());
    agent.close().await;
    let refused = fixture.prompt().section(&ctx, PromptSection::new("s", 1, "text"));
    assert!(matches!(refused, Err(RegisterError::Inactive(_))), "{refused:?}");
    let refused = fixture.prompt().tools(&ctx, offers(&["t"]));
    assert!(matches!(refused, Err(RegisterError::Inactive(_))), "{refused:?}");
    let assembly = fixture.try_assemble(&AssembleContext::scoped(&key)).await.unwrap();
    assert_eq!(assembly, fixture.assemble().await);
}
