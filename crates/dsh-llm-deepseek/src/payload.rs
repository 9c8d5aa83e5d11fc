//! What an event of an answer holds, read without copying. What is not of the type that it should be counts as absent.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// One event.
#[derive(Default, Deserialize)]
pub(crate) struct Payload<'a> {
    #[serde(borrow, default)]
    pub(crate) choices: List<Choice<'a>>,
    #[serde(borrow, default)]
    pub(crate) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// One choice; there is one, but whatever there is counts.
#[derive(Default, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(crate) delta: Object<Delta<'a>>,
    #[serde(borrow, default)]
    pub(crate) finish_reason: Text<'a>,
}

/// More of the answer.
#[derive(Default, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) reasoning_content: Text<'a>,
    /// What some servers call it.
    #[serde(borrow, default)]
    pub(crate) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) tool_calls: List<Call<'a>>,
}

/// A piece of a tool call.
#[derive(Default, Deserialize)]
pub(crate) struct Call<'a> {
    /// Only ever compared.
    #[serde(borrow, default)]
    pub(crate) index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) function: Object<Function<'a>>,
}

/// What is called.
#[derive(Default, Deserialize)]
pub(crate) struct Function<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

/// A text that is not empty; everything else is none.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

/// The objects of a list; everything else is left out.
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// An object; everything else is an empty one.
#[derive(Default)]
pub(crate) struct Object<T>(pub(crate) T);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What counts as absent, for a visitor of anything.
macro_rules! otherwise {
    ($value:expr; $($method:ident: $type:ty),*) => {
        $(fn $method<E>(self, _: $type) -> Result<Self::Value, E> { Ok($value) })*
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($value) }
        fn visit_none<E>(self) -> Result<Self::Value, E> { Ok($value) }
    };
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Text<'de>;
            otherwise!(Text(None); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text((!text.is_empty()).then_some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text((!text.is_empty()).then(|| Cow::Owned(text.to_owned()))))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text<'de>, A::Error> {
                skip_map(map).map(|()| Text(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Text<'de>, A::Error> {
                skip_list(list).map(|()| Text(None))
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Objects<T> {
            type Value = Object<T>;
            otherwise!(Object(T::default()); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Object)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Object<T>, A::Error> {
                skip_list(list).map(|()| Object(T::default()))
            }
        }
        deserializer.deserialize_any(Objects(PhantomData))
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Lists<T> {
            type Value = List<T>;
            otherwise!(List::default(); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T>, A::Error> {
                skip_map(map).map(|()| List::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(Object(item)) = list.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_any(Lists(PhantomData))
    }
}
