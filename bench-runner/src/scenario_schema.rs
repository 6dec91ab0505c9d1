//! JSON Schema (draft-07) of scenarios, for editors: made from the reference table and from the catalogues.

use serde_json::{Map, Value, json};
use strategies::catalog::STRATEGIES;
use workloads::catalog::WORKLOADS;

use crate::arguments::Kind;
use crate::glossary::of;
use crate::reference::{Form, KEYS, load_blocks};

/// The schema.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in KEYS {
        let mut schema = key.form.schema();
        if let Form::Axis(axis) = key.form {
            schema["items"] = items(axis, &mut definitions);
        }
        schema["description"] = key.meaning.into();
        let Some((block, name)) = key.path.split_once('.') else {
            if key.default.is_empty() && key.form != Form::Block {
                required.push(key.path);
            }
            if key.form == Form::Block {
                schema["properties"] = json!({});
                schema["additionalProperties"] = false.into();
            }
            properties.insert(key.path.to_owned(), schema);
            continue;
        };
        if let Some(block) = properties.get_mut(block) {
            block["properties"][name] = schema;
        }
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "lockbench scenario",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "definitions": definitions,
    })
}

/// The schema of one item of an axis: a name, or a name with its option block.
fn items(axis: &str, definitions: &mut Map<String, Value>) -> Value {
    let blocks: Vec<(String, Option<Value>)> = match axis {
        "strategies" => {
            STRATEGIES.iter().map(|entry| (entry.name.to_owned(), Some((entry.schema)()))).collect()
        }
        "workloads" => {
            WORKLOADS.iter().map(|entry| (entry.name.to_owned(), Some((entry.schema)()))).collect()
        }
        "loads" => load_blocks()
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, block)| (name.clone(), Some(block.clone())))
            .collect(),
        _ => Kind::ALL
            .into_iter()
            .filter(|kind| kind.name() == axis)
            .flat_map(of)
            .map(|word| (word.name, None))
            .collect(),
    };
    let names: Vec<&String> = blocks.iter().map(|(name, _)| name).collect();
    let mut forms = vec![json!({ "enum": names })];
    let lock = matches!(axis, "strategies" | "workloads");
    for (name, block) in &blocks {
        let Some(block) = block else { continue };
        let block = embed(name, block.clone(), lock, definitions);
        forms.push(json!({
            "type": "object",
            "properties": { name: block },
            "required": [name],
            "additionalProperties": false,
        }));
    }
    json!({ "anyOf": forms })
}

/// The option block of an entry as part of a larger schema: its definitions move up, its references follow.
fn embed(name: &str, mut block: Value, lock: bool, definitions: &mut Map<String, Value>) -> Value {
    let Some(map) = block.as_object_mut() else { return json!({}) };
    map.shift_remove("$schema");
    map.shift_remove("title");
    for (definition, mut value) in ["$defs", "definitions"]
        .into_iter()
        .filter_map(|key| map.shift_remove(key))
        .flat_map(|value| match value {
            Value::Object(map) => map.into_iter().collect::<Vec<_>>(),
            _ => Vec::new(),
        })
    {
        redirect(name, &mut value);
        definitions.insert(format!("{name}-{definition}"), value);
    }
    if lock {
        let keys = KEYS.iter().filter_map(|key| {
            let name = key.path.strip_prefix("lock.")?;
            let mut schema = key.form.schema();
            schema["description"] = key.meaning.into();
            Some((name.to_owned(), schema))
        });
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.extend(keys);
        }
    }
    redirect(name, &mut block);
    block
}

fn redirect(name: &str, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(target) if key == "$ref" => {
                        for root in ["#/$defs/", "#/definitions/"] {
                            if let Some(definition) = target.strip_prefix(root) {
                                *target = format!("#/definitions/{name}-{definition}");
                                break;
                            }
                        }
                    }
                    value => redirect(name, value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redirect(name, value)),
        _ => {}
    }
}
