//! Declarations in Python: a typed dictionary for each object type, and the protocol of the object that programs find.

mod name;
mod types;

use crate::sdk::Declared;
use crate::sdk::text::{line, quoted};
use name::is_method;
use types::Types;

/// How programs are written.
pub(super) const INSTRUCTIONS: &str = "\
`run_code` takes two arguments, and both are required: `code`, the body of an async Python function, and `description`, a few words on \
what the program does. Of what is declared below only `tools` and `ToolCallError` exist at run time; the rest tells you types. The \
`TypedDict` classes in particular are not there: write arguments and read values as plain dicts and lists, \
`await tools.name({\"field\": 1})`. In a program:

- Call a tool as `await tools.name(args)`, or as `await tools[\"odd-name\"](args)` where it is declared in a comment. It gives the tool's \
value, which is JSON of the declared type. Arguments must be JSON that loses nothing: no `NaN`, no sets, no objects of your own.
- A call that fails raises `ToolCallError`: `toolName` tells the tool and the error's text the reason. Catch it to go on.
- Calls that you start together, with `asyncio.gather` for instance, overlap where the tools are safe to (most that only read are); those \
that change something run alone, in the order in which you made the calls. Await a call before you make one that depends on it.
- `print(...)` and `return` are the program's only output, and you see nothing else of it: print or return just what you need; what is \
returned must be JSON. An image in the result of a tool is attached after the run.";

const ERROR: &str = "class ToolCallError(Exception):\n    toolName: str\n\n";

/// The declarations of tools, in their order.
pub(super) fn declarations(tools: &[Declared<'_>]) -> String {
    let mut types = Types::default();
    let mut methods = String::new();
    let mut named = false;
    for tool in tools {
        let arguments = types.of(tool.arguments.schema(), tool.name, "Args");
        let output = types.of(tool.output.schema(), tool.name, "Output");
        let signature = format!("(args: {arguments}) -> {output}");
        let description = line(tool.description).map(|line| visible(&line));
        if !is_method(tool.name) {
            methods.push_str(&format!("    # tools[{}]{signature}\n", quoted(tool.name)));
            if let Some(description) = description {
                methods.push_str(&format!("    #   {description}\n"));
            }
            continue;
        }
        named = true;
        let signature = format!("(self, args: {arguments}) -> {output}");
        methods.push_str(&format!("    async def {}{signature}:", tool.name));
        match description {
            None => methods.push_str(" ...\n"),
            Some(description) => {
                let description = description.replace('\\', "\\\\").replace('"', "\\\"");
                methods.push_str(&format!("\n        \"\"\"{description}\"\"\"\n"));
            }
        }
    }
    let pass = if named { "" } else { "    pass\n" };
    let (import, classes) = (types.import(), types.classes());
    format!("{import}\n\n{ERROR}{classes}class Tools(Protocol):\n{pass}{methods}\ntools: Tools\n")
}

/// A description whose control characters can be seen.
fn visible(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for char in line.chars() {
        match char.is_control() {
            true => text.push_str(&format!("\\x{:02x}", u32::from(char))),
            false => text.push(char),
        }
    }
    text
}
