//! Types of the layers below that documents know by their stable labels.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::codec::{Charset, Encoding, Form};
use crate::names::Quoted;
use crate::policy::Class;

macro_rules! by_label {
    ($type:ty, $what:literal, $of_label:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.label())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let label = String::deserialize(deserializer)?;
                let of_label: fn(&str) -> Option<Self> = $of_label;
                let label = label.as_str();
                of_label(label).ok_or_else(|| {
                    let label = Quoted(label.as_bytes());
                    de::Error::custom(format_args!(concat!("unknown ", $what, " {}"), label))
                })
            }
        }
    };
}

by_label!(Charset, "charset", |label| Charset::from_label(label).ok());
by_label!(Encoding, "encoding", Encoding::from_label);
by_label!(Class, "class", |label| {
    Class::ALL.into_iter().find(|class| class.label() == label)
});
by_label!(Form, "normalization form", |label| {
    [Form::Nfc, Form::Nfd]
        .into_iter()
        .find(|form| form.label() == label)
});
