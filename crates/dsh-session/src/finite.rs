//! A serializer around another that refuses floats that are not finite: JSON's own would write them as `null`.

use serde::ser::{self, Error, Serialize, Serializer};

/// Wraps a value, a serializer, or the serializer of a compound value.
pub(crate) struct Finite<T>(pub(crate) T);

impl<T: Serialize + ?Sized> Serialize for Finite<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Finite(serializer))
    }
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            fn $name(self $(, $arg: $type)*) -> Result<S::Ok, S::Error> {
                self.0.$name($($arg),*)
            }
        )*
    };
}

macro_rules! forward_compound {
    ($($name:ident($($arg:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(
            fn $name(self $(, $arg: $type)*) -> Result<Finite<S::$compound>, S::Error> {
                self.0.$name($($arg),*).map(Finite)
            }
        )*
    };
}

impl<S: Serializer> Serializer for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Finite<S::SerializeSeq>;
    type SerializeTuple = Finite<S::SerializeTuple>;
    type SerializeTupleStruct = Finite<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Finite<S::SerializeTupleVariant>;
    type SerializeMap = Finite<S::SerializeMap>;
    type SerializeStruct = Finite<S::SerializeStruct>;
    type SerializeStructVariant = Finite<S::SerializeStructVariant>;

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        if value.is_finite() { self.0.serialize_f32(value) } else { Err(not_finite(value)) }
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        if value.is_finite() { self.0.serialize_f64(value) } else { Err(not_finite(value)) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Finite(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Finite(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Finite(value))
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }

    forward! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_i128(value: i128);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_u128(value: u128);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    forward_compound! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant;
    }
}

macro_rules! elements {
    ($($compound:ident::$name:ident;)*) => {
        $(
            impl<S: ser::$compound> ser::$compound for Finite<S> {
                type Ok = S::Ok;
                type Error = S::Error;

                fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                    self.0.$name(&Finite(value))
                }

                fn end(self) -> Result<S::Ok, S::Error> {
                    self.0.end()
                }
            }
        )*
    };
}

elements! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! fields {
    ($($compound:ident,)*) => {
        $(
            impl<S: ser::$compound> ser::$compound for Finite<S> {
                type Ok = S::Ok;
                type Error = S::Error;

                fn serialize_field<T: Serialize + ?Sized>(
                    &mut self,
                    key: &'static str,
                    value: &T,
                ) -> Result<(), S::Error> {
                    self.0.serialize_field(key, &Finite(value))
                }

                fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
                    self.0.skip_field(key)
                }

                fn end(self) -> Result<S::Ok, S::Error> {
                    self.0.end()
                }
            }
        )*
    };
}

fields! { SerializeStruct, SerializeStructVariant, }

/// Keys are texts, so they are left as they are.
impl<S: ser::SerializeMap> ser::SerializeMap for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Finite(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

fn not_finite<E: Error>(value: impl std::fmt::Display) -> E {
    E::custom(format!("the number {value} is not finite"))
}
