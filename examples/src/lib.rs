//! The examples are in `examples/`, one file each; what they print is in `expected/`. The library itself holds only the
//! code of README.md and of the pages in docs/guide and docs/cookbook, so that `cargo test` compiles and runs it. That each
//! page shows what its code prints is tested in `tests/pages.rs`.

/// A page whose blocks are compiled and run.
macro_rules! page {
    ($name:ident, $path:literal) => {
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../../", $path))]
        struct $name;
    };
}

page!(Readme, "README.md");
page!(GuidePlugin, "docs/guide/01-plugin.md");
page!(GuideServices, "docs/guide/02-services.md");
page!(GuideEvents, "docs/guide/03-events.md");
page!(GuideScopes, "docs/guide/04-scopes.md");
page!(GuideTools, "docs/guide/05-tools.md");
page!(GuideAgent, "docs/guide/06-agent.md");
page!(CookbookTool, "docs/cookbook/tool.md");
page!(CookbookPolicy, "docs/cookbook/policy.md");
page!(CookbookProvider, "docs/cookbook/provider.md");
page!(CookbookEvent, "docs/cookbook/event.md");
page!(CookbookLoop, "docs/cookbook/loop.md");
