//! Tagged unions with an open vocabulary: what is not known is kept as JSON.
//!
//! serde's own tagged enums buffer what they read and cannot keep what they do not know; here the tag is looked at first.

use std::cell::Cell;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// How deep blocks may hold blocks; a message of a stranger must not exhaust the stack.
const MAX_DEPTH: u32 = 64;

thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) }; }

/// An object whose tag is known, not read yet.
pub struct Tagged {
    /// The value of the tag.
    pub name: String,
    text: Box<RawValue>,
}

impl Tagged {
    /// Takes an object that has a `type`.
    ///
    /// # Errors
    /// It is no object, or has none.
    pub fn by_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "type")]
            name: String,
        }
        Self::take(deserializer, |text| serde_json::from_str(text).map(|Tag { name }| name))
    }

    /// Takes an object that has a `kind`.
    ///
    /// # Errors
    /// It is no object, or has none.
    pub fn by_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "kind")]
            name: String,
        }
        Self::take(deserializer, |text| serde_json::from_str(text).map(|Tag { name }| name))
    }

    fn take<'de, D: Deserializer<'de>>(
        deserializer: D,
        tag: impl FnOnce(&str) -> Result<String, serde_json::Error>,
    ) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if !text.get().starts_with('{') {
            return Err(D::Error::custom("an object is expected"));
        }
        let name = tag(text.get()).map_err(D::Error::custom)?;
        Ok(Self { name, text })
    }

    /// Reads the whole object as what its tag says it is.
    ///
    /// # Errors
    /// It is something else, or nested too deeply.
    pub fn read<T: DeserializeOwned, E: Error>(&self) -> Result<T, E> {
        let depth = DEPTH.get();
        if depth >= MAX_DEPTH {
            return Err(E::custom(format!("nested more than {MAX_DEPTH} deep")));
        }
        DEPTH.set(depth + 1);
        let read = serde_json::from_str(self.text.get());
        DEPTH.set(depth);
        read.map_err(E::custom)
    }
}

/// Declares an enum whose variants are objects told apart by a tag, and one more variant for everything else.
///
/// Written as the tag and the fields; read by the tag. Fields take serde's attributes. An object whose fields are not what
/// its tag promises goes to `Other` too.
#[macro_export]
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $take:ident($tag:literal) {
            $(
                $(#[$variant_meta:meta])*
                $variant:ident = $wire:literal {
                    $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
                }
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = $tag, rename_all_fields = "camelCase")]
        #[non_exhaustive]
        pub enum $name {
            $(
                $(#[$variant_meta])*
                #[serde(rename = $wire)]
                $variant { $( $(#[$field_meta])* $field: $type, )* },
            )*
            /// Of a kind that this build does not know: the whole object, as it came.
            #[serde(untagged)]
            Other(serde_json::Value),
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let tagged = $crate::open::Tagged::$take(deserializer)?;
                match tagged.name.as_str() {
                    $(
                        $wire => {
                            #[derive(serde::Deserialize)]
                            #[serde(rename_all = "camelCase")]
                            struct Body { $( $(#[$field_meta])* $field: $type, )* }
                            // One that is not what its tag says is kept as well; who needs more of it looks closer.
                            if let Ok(Body { $($field),* }) = tagged.read::<Body, D::Error>() {
                                return Ok($name::$variant { $($field),* });
                            }
                            tagged.read().map($name::Other)
                        }
                    )*
                    _ => tagged.read().map($name::Other),
                }
            }
        }
    };
}

/// For an optional field: absent or a value, but not `null`.
///
/// # Errors
/// The value is none of the field's type.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
