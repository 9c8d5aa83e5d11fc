//! What the types of a typed tool must be able to do.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The arguments of a typed tool: an object that is read from JSON and whose schema the model is told.
///
/// Every type that can do so is one; nobody implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "cannot be read from JSON, has no schema, or cannot be sent to another thread",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for `{Self}`, and let its fields own what they hold"
)]
pub trait ToolArguments: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> ToolArguments for T {}

/// The value of a typed tool: written as JSON, and checked against its schema.
///
/// Every type that can do so is one; nobody implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a tool",
    label = "cannot be written as JSON, or has no schema",
    note = "derive `serde::Serialize` and `schemars::JsonSchema` for `{Self}`, and let its fields own what they hold"
)]
pub trait ToolValue: Serialize + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema + 'static> ToolValue for T {}
