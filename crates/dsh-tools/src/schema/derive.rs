//! Schemas of Rust types: what schemars makes of a type, brought into the subset.

use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::Value;

use super::deep::Deep;
use super::{Schema, SchemaError, limits, reduce};

/// Writes nested types out where they are used; only recursion leaves a reference.
pub(super) fn generator(contract: Contract) -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.contract = contract;
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator()
}

/// Brings a generated schema into the subset and compiles it.
pub(super) fn schema(generated: schemars::Schema) -> Result<Schema, SchemaError> {
    let mut raw = Deep::new(Value::from(generated));
    if let Value::Object(root) = &mut *raw {
        // The type's own name, which says nothing about the value.
        root.shift_remove("title");
    }
    let mut found = limits::unchecked(&raw);
    found.append(&mut reduce::reduce(&mut raw));
    SchemaError::unless_empty(found)?;
    Schema::new(raw.into_value())
}
