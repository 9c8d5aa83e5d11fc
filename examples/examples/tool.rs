//! A tool: its arguments are a struct, whose doc comments tell the model what they are.

use cordis::{App, BoxError};
use dsh_tools::{CallRequest, Config, TOOLS, ToolError, ToolRun, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Convert {
    /// Degrees Celsius.
    celsius: f64,
}

async fn convert(Convert { celsius }: Convert, _run: ToolRun) -> Result<f64, ToolError> {
    let cold = || ToolError::new("nothing is colder than -273.15 degrees: give a higher temperature");
    if celsius < -273.15 { Err(cold()) } else { Ok(celsius * 1.8 + 32.0) }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;
    app.plugin(dsh_tools::plugin(), Config::default())?.ready().await?;
    let tools = app.get(TOOLS).ok_or("no tools")?;
    tools.get()?.register(&app, tool("fahrenheit", "Converts a temperature.").run(convert))?;

    for arguments in [r#"{"celsius": 37}"#, r#"{"celsius": -300}"#, r#"{"celsius": "warm"}"#, "{}"] {
        let outcome = tools.get()?.execute(&app, CallRequest::new("call_1", "fahrenheit", arguments)).await;
        println!("{arguments:20} {:12} {}", outcome.code().unwrap_or("-"), outcome.text());
    }
    Ok(())
}
