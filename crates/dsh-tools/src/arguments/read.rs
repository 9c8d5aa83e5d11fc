//! The way from a value into a Rust type, with the path to what the type does not take.

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value, map};

use super::MAX_DEPTH;
use super::keys::KeyReader;
use super::read_error::ReadError;
use crate::schema::number::Numeric;

/// The name under which serde_json asks for the text of a value.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A value to be read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de> {
    value: &'de Value,
    depth: usize,
}

impl<'de> Reader<'de> {
    pub(super) fn new(value: &'de Value) -> Self {
        Self { value, depth: 0 }
    }

    /// What is nested in this value. A Rust type reads by recursion, so the depth has a bound.
    fn below(self, value: &'de Value) -> Result<Self, ReadError> {
        if self.depth == MAX_DEPTH {
            return Err(ReadError::must(format!("be nested at most {MAX_DEPTH} levels deep")));
        }
        Ok(Self { value, depth: self.depth + 1 })
    }

    fn number(self) -> Option<Numeric> {
        self.value.as_number().and_then(Numeric::of)
    }

    fn string(self) -> Result<&'de str, ReadError> {
        self.value.as_str().ok_or_else(|| ReadError::must("be a string"))
    }

    fn items(self) -> Result<&'de Vec<Value>, ReadError> {
        self.value.as_array().ok_or_else(|| ReadError::must("be an array"))
    }

    fn members(self) -> Result<&'de Map<String, Value>, ReadError> {
        self.value.as_object().ok_or_else(|| ReadError::must("be an object"))
    }

    fn float(self) -> Result<f64, ReadError> {
        match self.number() {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "compared afterwards"
            )]
            Some(Numeric::Whole(whole)) => {
                let float = whole as f64;
                if float as i128 == whole {
                    Ok(float)
                } else {
                    Err(ReadError::must("be a number that a 64-bit float holds exactly"))
                }
            }
            Some(Numeric::Real(real)) => Ok(real),
            None => Err(ReadError::must("be a number")),
        }
    }

    fn visit_items<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let items = self.items()?;
        let mut left = Items { reader: self, items: items.iter().enumerate() };
        let read = visitor.visit_seq(&mut left)?;
        match left.items.next() {
            None => Ok(read),
            Some((length, _)) => Err(ReadError::must(format!("be an array of {length} items"))),
        }
    }

    fn visit_members<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_map(Members { reader: self, members: self.members()?.iter(), last: None })
    }
}

macro_rules! integers {
    ($($method:ident $type:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let number = self.number().filter(|number| number.is_integer());
            let whole = match number {
                Some(Numeric::Whole(whole)) => $type::try_from(whole).ok(),
                Some(Numeric::Real(_)) => None,
                None => return Err(ReadError::must("be an integer")),
            };
            match whole {
                Some(whole) => visitor.$visit(whole),
                None => Err(ReadError::must(format!("be an integer from {} to {}", $type::MIN, $type::MAX))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.visit_items(visitor),
            Value::Object(_) => self.visit_members(visitor),
        }
    }

    integers! {
        deserialize_i8 i8 visit_i8,
        deserialize_i16 i16 visit_i16,
        deserialize_i32 i32 visit_i32,
        deserialize_i64 i64 visit_i64,
        deserialize_i128 i128 visit_i128,
        deserialize_u8 u8 visit_u8,
        deserialize_u16 u16 visit_u16,
        deserialize_u32 u32 visit_u32,
        deserialize_u64 u64 visit_u64,
        deserialize_u128 u128 visit_u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let float = self.float()?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "only the size must fit, as for any decimal fraction"
        )]
        let short = float as f32;
        if short.is_finite() {
            visitor.visit_f32(short)
        } else {
            Err(ReadError::must("be a number that a 32-bit float holds"))
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_f64(self.float()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            _ => Err(ReadError::must("be a boolean")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.string()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.string()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            _ => Err(ReadError::must("be null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == RAW_VALUE {
            let text = serde_json::to_string(self.value).map_err(de::Error::custom)?;
            return visitor.visit_map(MapDeserializer::new([(RAW_VALUE, text)].into_iter()));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_items(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        if self.items()?.len() != length {
            return Err(ReadError::must(format!("be an array of {length} items")));
        }
        self.visit_items(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit_members(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.visit_members(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.value {
            Value::String(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Object(members) => {
                let mut members = members.iter();
                match (members.next(), members.next()) {
                    (Some((name, value)), None) => {
                        visitor.visit_enum(Variant { name, content: Some(self.below(value)?) })
                    }
                    _ => Err(ReadError::must("be an object with the variant's name as its only key")),
                }
            }
            _ => Err(ReadError::must("be a string or an object with one key")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bytes byte_buf identifier }
}

/// An integral float is given as an integer: a type that looks ahead keeps what it is given here.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, ReadError> {
    match Numeric::of(number) {
        Some(Numeric::Whole(whole)) => match (u64::try_from(whole), i64::try_from(whole)) {
            (Ok(whole), _) => visitor.visit_u64(whole),
            (_, Ok(whole)) => visitor.visit_i64(whole),
            #[allow(
                clippy::cast_precision_loss,
                reason = "lossless JSON keeps this far only what a float holds"
            )]
            _ => visitor.visit_f64(whole as f64),
        },
        Some(Numeric::Real(real)) => visitor.visit_f64(real),
        None => Err(ReadError::must("be a finite JSON number")),
    }
}

struct Items<'de> {
    reader: Reader<'de>,
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        let read = self.reader.below(item).and_then(|item| seed.deserialize(item));
        read.map(Some).map_err(|error| error.in_index(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'de> {
    reader: Reader<'de>,
    members: map::Iter<'de>,
    last: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.last = Some((key, value));
        seed.deserialize(KeyReader(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let Some((key, value)) = self.last.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let read = self.reader.below(value).and_then(|value| seed.deserialize(value));
        read.map_err(|error| error.in_key(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Option<Reader<'de>>,
}

/// What a variant holds, with its name for the path.
struct Content<'de> {
    name: &'de str,
    content: Option<Reader<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>), ReadError> {
        let name: StrDeserializer<'_, ReadError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Content { name: self.name, content: self.content }))
    }
}

impl<'de> Content<'de> {
    fn read<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, ReadError>) -> Result<T, ReadError> {
        match self.content {
            Some(content) => read(content).map_err(|error| error.in_key(self.name)),
            None => Err(ReadError::must(format!("be an object with the key \"{}\"", self.name))),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content {
            None | Some(Reader { value: Value::Null, .. }) => Ok(()),
            Some(_) => Err(ReadError::must("be null").in_key(self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        self.read(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.read(|content| content.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.read(|content| content.visit_members(visitor))
    }
}
