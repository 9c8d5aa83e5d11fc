//! Providers that fail: whose they are is said, and nothing else is touched.

use std::error::Error;

use cordis::{BoxError, Context, Handle, define};
use dsh_prompt::{
    AssembleContext, AssembleError, Contribution, PromptContext, PromptSection, PromptText, SYSTEM_PROMPT,
    SystemPrompt, ToolContribution,
};

use crate::fixture::Fixture;

type Register = fn(&SystemPrompt, &Context) -> Result<(), BoxError>;

async fn apply(ctx: &Context, prompt: Handle<SystemPrompt>, register: &Register) -> Result<(), BoxError> {
    register(&*prompt.get()?, ctx)
}

fn fails(_: &AssembleContext) -> Result<String, BoxError> {
    Err("out of order".into())
}

fn panics(_: &AssembleContext) -> Result<String, BoxError> {
    panic!("fell over")
}

// spec: design/P4
#[tokio::test]
async fn a_provider_that_fails_or_panics_fails_the_assembly_with_its_and_its_plugins_name() {
    let section = || Contribution::Section("s".to_owned());
    let context = || Contribution::Context("c".to_owned());
    let cases: [(Register, Contribution, &str); 7] = [
        (
            |prompt, ctx| {
                prompt.section(ctx, PromptSection::new("s", 1, PromptText::fallible(fails)))?;
                Ok(())
            },
            section(),
            "out of order",
        ),
        (
            |prompt, ctx| {
                prompt.section(ctx, PromptSection::new("s", 1, PromptText::fallible(panics)))?;
                Ok(())
            },
            section(),
            "panicked: fell over",
        ),
        (
            |prompt, ctx| {
                prompt.context(ctx, PromptContext::new("c", 1, PromptText::fallible(fails)))?;
                Ok(())
            },
            context(),
            "out of order",
        ),
        (
            |prompt, ctx| {
                prompt.context(ctx, PromptContext::new("c", 1, PromptText::fallible(panics)))?;
                Ok(())
            },
            context(),
            "panicked: fell over",
        ),
        (
            |prompt, ctx| {
                prompt.variable(ctx, "v", |_| panic!("fell {}", "over"))?;
                Ok(())
            },
            Contribution::Variable("v".to_owned()),
            "panicked: fell over",
        ),
        (
            |prompt, ctx| {
                prompt.tools(ctx, |_| Err::<ToolContribution, BoxError>("out of order".into()))?;
                Ok(())
            },
            Contribution::Tools,
            "out of order",
        ),
        (
            |prompt, ctx| {
                prompt.tools(ctx, |_| std::panic::panic_any(1))?;
                Ok(())
            },
            Contribution::Tools,
            "panicked: panicked with a value that is no text",
        ),
    ];
    let fixture = Fixture::new().await;
    let before = fixture.assemble().await;
    for (register, expected, cause) in cases {
        let faulty = define("faulty").needs(SYSTEM_PROMPT).run(apply);
        let fiber = fixture.app.plugin(faulty, register).unwrap();
        fiber.ready().await.unwrap();
        for _ in 0..2 {
            let refusal = fixture.refusal().await;
            assert_eq!(refusal.source().unwrap().to_string(), cause);
            let AssembleError::Provider { what, plugin, .. } = refusal else { panic!("{refusal:?}") };
            assert_eq!((what, plugin), (expected.clone(), fiber.label()));
        }
        fiber.dispose().await;
        assert_eq!(fixture.assemble().await, before);
    }
}

/// Panics when it is dropped, with another one, that many times.
struct Loud(u32);

impl Drop for Loud {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Loud(self.0 - 1));
        }
    }
}

// spec: design/P4
#[tokio::test]
async fn a_panic_whose_value_panics_when_it_is_dropped_is_one_failure_too() {
    let fixture = Fixture::new().await;
    fixture.prompt().variable(&fixture.app, "v", |_| std::panic::panic_any(Loud(2))).unwrap();
    let refusal = fixture.refusal().await;
    assert_eq!(refusal.source().unwrap().to_string(), "panicked: panicked with a value that is no text");
}

// spec: system-prompt/S35
#[tokio::test]
async fn a_bad_template_is_assembled_and_fails_only_where_it_is_rendered() {
    let fixture = Fixture::new().await;
    fixture.prompt().section(&fixture.app, PromptSection::new("s", 1, "{{nobody}}")).unwrap();
    fixture.prompt().context(&fixture.app, PromptContext::new("c", 1, "fine")).unwrap();
    let assembly = fixture.assemble().await;
    assert!(assembly.render_prompt().is_err());
    assert!(assembly.render_context_snapshot().unwrap().ends_with("\n\nfine"));
}
