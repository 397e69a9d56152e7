//! The file's JSON Schema (2020-12), for editors, made from the table.

use serde_json::{Map, Value as Json, json};

use super::form::{Form, Texts};
use super::key::{Key, Scope};
use super::step;
use super::structured::{EXCEPTION_FIELDS, MOUNT_FIELDS, ROLE_FIELDS};
use crate::backend::BackendChoice;
use crate::changes::Class;
use crate::check::Profile;
use crate::command::Verdict;
use crate::spec::{Mode, Network, Proof, Pull, Relax, Threshold};

pub fn schema() -> Json {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cofferdam configuration",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": {}
    });
    for key in Key::ALL {
        let mut node = &mut root;
        let mut parts: Vec<&str> = key.name().split('.').collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            let properties = &mut node["properties"];
            if properties.get(part).is_none() {
                properties[part] = object(Map::new());
                // A section may be left empty.
                properties[part]["type"] = json!(["object", "null"]);
            }
            node = &mut node["properties"][part];
        }
        node["properties"][last] = property(*key);
    }
    root
}

fn property(key: Key) -> Json {
    let mut property = key.form().schema();
    let mut description = key.doc().to_owned();
    if key.scope() != Scope::Files {
        description.push_str(" Host file only.");
    }
    property["description"] = json!(description);
    property["default"] = key.default().to_json();
    property
}

fn object(properties: Map<String, Json>) -> Json {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

impl Form {
    fn schema(self) -> Json {
        let size = json!({ "type": ["string", "integer"], "pattern": "^[0-9]+[kKmMgGtT]?$", "minimum": 0 });
        let span = "([0-9]+(ms|s|m|h))+|[0-9]+";
        let strings = |items: Json| json!({ "type": "array", "items": items });
        match self {
            Self::Switch => json!({ "type": "boolean" }),
            Self::Size { .. } => size,
            Self::Cpus => json!({
                "type": ["number", "string"],
                "exclusiveMinimum": 0,
                "maximum": 64,
                "pattern": "^[0-9]+(\\.[0-9]{1,3})?$"
            }),
            Self::Count { min, max } => {
                json!({ "type": "integer", "minimum": min, "maximum": max })
            }
            Self::Span { .. } => {
                json!({ "type": ["string", "integer"], "pattern": format!("^({span})$"), "minimum": 0 })
            }
            Self::SpanOrOff { .. } => json!({
                "type": ["string", "integer"],
                "pattern": format!("^(off|{span})$"),
                "minimum": 0
            }),
            Self::Backend => json!({ "enum": BackendChoice::NAMES }),
            Self::Mode => json!({ "enum": Mode::NAMES }),
            Self::Network => json!({ "enum": Network::NAMES }),
            Self::Pull => json!({ "enum": Pull::NAMES }),
            Self::Proof => json!({ "enum": Proof::NAMES }),
            Self::Threshold => json!({ "enum": Threshold::NAMES }),
            Self::Profile => json!({ "enum": Profile::NAMES }),
            Self::Verdict => json!({ "enum": Verdict::NAMES }),
            Self::Image => json!({ "type": ["string", "null"], "minLength": 1 }),
            Self::Runtime => {
                json!({ "type": ["string", "null"], "pattern": "^[a-z0-9][a-z0-9._-]*$" })
            }
            Self::Seccomp => json!({ "type": "string", "pattern": "^default$|/|\\.json$" }),
            Self::Path => json!({ "type": "string", "minLength": 1 }),
            Self::Texts(Texts::EnvPatterns) => {
                strings(json!({ "type": "string", "pattern": "^[A-Za-z0-9_*]+$" }))
            }
            Self::Texts(Texts::Classes) => strings(json!({ "enum": Class::NAMES })),
            Self::Texts(Texts::Rules) => {
                strings(json!({ "type": "string", "pattern": "^[A-Za-z0-9/._*-]+$" }))
            }
            Self::Texts(Texts::Hosts | Texts::Blocked | Texts::Globs | Texts::Commands)
            | Self::Paths => strings(json!({ "type": "string", "minLength": 1 })),
            Self::EnvNames => {
                strings(json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }))
            }
            Self::Relax => strings(json!({ "enum": Relax::NAMES })),
            Self::Mounts => strings(fields(MOUNT_FIELDS, &["source", "target"])),
            Self::Exceptions => strings(fields(EXCEPTION_FIELDS, &["path", "reason"])),
            Self::Env => json!({
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
                "additionalProperties": { "type": ["string", "number", "boolean"] }
            }),
            Self::Tmpfs { .. } => json!({
                "type": "object",
                "propertyNames": { "pattern": "^/" },
                "additionalProperties": size
            }),
            Self::Steps => json!({
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]*$" },
                "additionalProperties": step()
            }),
            Self::Roles => {
                let ceilings = ROLE_FIELDS.iter().map(|field| {
                    let form = match *field {
                        "allowed_paths" => Form::Paths,
                        _ => Key::named(&format!("sandbox.{field}")).map_or(Form::Path, Key::form),
                    };
                    ((*field).to_owned(), form.schema())
                });
                json!({
                    "type": "object",
                    "propertyNames": { "pattern": "^[a-z0-9][a-z0-9._-]*$" },
                    "additionalProperties": object(ceilings.collect())
                })
            }
        }
    }
}

/// A step is its command, or a mapping with more.
fn step() -> Json {
    let word = json!({ "type": ["string", "number", "boolean"] });
    let line = json!({ "type": "string", "minLength": 1 });
    let words = json!({ "type": "array", "minItems": 1, "items": word });
    let fields = step::fields().into_iter().map(|(name, key)| {
        let form = match key {
            Some(key) => key.form().schema(),
            None if name == "command" => json!({ "oneOf": [line, words] }),
            None => line.clone(),
        };
        (name.to_owned(), form)
    });
    let mut whole = object(fields.collect());
    whole["required"] = json!(["command"]);
    json!({ "oneOf": [line, words, whole] })
}

fn fields(names: &[&str], required: &[&str]) -> Json {
    let field = |name: &&str| {
        let form = match *name {
            "readonly" => json!({ "type": "boolean", "default": true }),
            _ => json!({ "type": "string", "minLength": 1 }),
        };
        ((*name).to_owned(), form)
    };
    let mut item = object(names.iter().map(field).collect());
    item["required"] = json!(required);
    item
}
