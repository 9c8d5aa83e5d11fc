//! A tool is registered with its body.
use cordis::Context;
use dsh_tools::{ToolRuntime, tool};

fn main() {
    let _ = |tools: &ToolRuntime, ctx: &Context| tools.register(ctx, tool("answer", "Answers."));
    //~ the trait `From<ToolBuilder>` is not implemented for `ToolDefinition`
    //~ but trait `From<TypedTool<_, _>>` is implemented for it
}
