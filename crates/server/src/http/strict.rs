//! JSON as a server should take it: no key twice, no deeper than needed, and the field that is wrong is named.
//!
//! Parsers disagree about which of two equal keys counts, so that what one of them checked another may not see: such
//! text is refused. Numbers that JSON does not have (`NaN`, `1e999`) are no JSON to begin with.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// No body of this API needs half of it.
const DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("the body is not JSON that is taken here: {0}")]
    Text(String),
    #[error("{message}")]
    Field { field: String, message: String },
}

/// What a body says.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Wrong> {
    let value = value(bytes).map_err(|error| Wrong::Text(error.to_string()))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, message) = (error.path().to_string(), error.inner().to_string());
        Wrong::Field { field: field(&path, &message), message }
    })
}

/// What an error is about. A field that is missing has no path: only the words name it, below the place that lacks it.
fn field(path: &str, message: &str) -> String {
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    match (path, missing) {
        (".", Some(name)) => name.to_owned(),
        (".", None) => "body".to_owned(),
        (path, Some(name)) => format!("{path}.{name}"),
        (path, None) => path.to_owned(),
    }
}

fn value(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: DEPTH }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict {
    /// How many levels there may still be.
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| E::custom(format!("nested deeper than {DEPTH} levels")))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("a number that is none"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut members = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if members.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands there twice")));
            }
            members.insert(key, from.next_value_seed(inner)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_core::control::task::NewTask;

    use super::*;

    fn wrong(text: &str) -> String {
        parse::<Value>(text.as_bytes()).expect_err("it is refused").to_string()
    }

    #[test]
    fn json_is_what_other_parsers_take_it_for() {
        let text = r#"{"a": [1, -2, 0.5, "x", null, true, {"b": {}}], "c": "\u00e4"}"#;
        let plain: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(parse::<Value>(text.as_bytes()), Ok(plain));
    }

    #[test]
    fn what_parsers_disagree_about_is_refused() {
        assert!(wrong(r#"{"a": 1, "a": 2}"#).contains("\"a\" stands there twice"));
        assert!(wrong(r#"{"a": 1, "\u0061": 2}"#).contains("twice"));
        assert!(wrong(r#"[{"b": {"a": 1, "a": 1}}]"#).contains("twice"));
        for text in ["NaN", "[Infinity]", "1e999", "{} {}", "[1,]", "", "\u{feff}{}", "'a'"] {
            wrong(text);
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse::<Value>(nested(DEPTH).as_bytes()).is_ok());
        assert!(wrong(&nested(DEPTH + 1)).contains("nested deeper"));
        assert!(wrong(&nested(10_000)).contains("nested deeper"));
        assert!(wrong(&"{\"a\":".repeat(10_000)).contains("nested deeper"));
    }

    #[test]
    fn the_field_that_is_wrong_is_named() {
        let field = |text: &str| match parse::<NewTask>(text.as_bytes()) {
            Err(Wrong::Field { field, message }) => (field, message),
            other => panic!("{other:?}"),
        };
        let (at, message) = field(
            r#"{"execution_mode": "docker-sandbox", "sandbox": {"image": "a", "command": [], "mounts": [{"source": 1, "target": "/x"}]}}"#,
        );
        assert_eq!(at, "sandbox.mounts[0].source", "{message}");
        let (at, message) = field(r#"{"execution_mode": "no-workspace", "comand": []}"#);
        assert_eq!(at, "comand", "{message}");
        assert!(message.contains("unknown field `comand`"), "{message}");
        assert_eq!(field("{}").0, "execution_mode");
        assert_eq!(
            field(r#"{"execution_mode": "no-workspace", "overrides": [{}]}"#).0,
            "overrides[0].setting"
        );
        assert_eq!(field("7").0, "body");
    }
}
