//! The keys of an object as the keys of a Rust map: strings, or numbers and booleans written as strings.

use serde::de::{self, Deserializer, EnumAccess, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::read_error::ReadError;

/// A key to be read.
pub(super) struct KeyReader<'de>(pub(super) &'de str);

macro_rules! parsed {
    ($($method:ident $type:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.0.parse::<$type>() {
                // Another way of writing it would be a second key for one entry.
                Ok(key) if key.to_string() == self.0 => visitor.$visit(key),
                _ => Err(ReadError::must(format!(
                    "have keys from {} to {}", $type::MIN, $type::MAX
                ))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
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

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(ReadError::must("have the keys true and false only")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> EnumAccess<'de> for KeyReader<'de> {
    type Error = ReadError;
    type Variant = UnitOnly;

    fn variant_seed<V: de::DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, UnitOnly), ReadError> {
        let name: de::value::StrDeserializer<'_, ReadError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, UnitOnly))
    }
}

/// The content of a variant that is a key: none.
pub(super) struct UnitOnly;

impl<'de> de::VariantAccess<'de> for UnitOnly {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ReadError> {
        Err(ReadError::must("have keys that are names only"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(ReadError::must("have keys that are names only"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(ReadError::must("have keys that are names only"))
    }
}
