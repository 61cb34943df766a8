//! A validator of JSON documents for the part of JSON Schema (2020-12) that `assets/result.schema.json` uses. A word
//! that it does not know is a panic: nothing in a schema passes unchecked.

use serde_json::{Map, Value};

/// Asserts that a document follows the schema of results; names each place that does not.
pub fn check(document: &Value) {
    let schema = &serde_json::from_str(include_str!("../../assets/result.schema.json")).unwrap();
    let mut found = Vec::new();
    Validator { root: schema }.check(schema, document, "", &mut found);
    assert_eq!(found, [""; 0]);
}

struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let Value::Object(rules) = schema else {
            match schema {
                Value::Bool(true) => return,
                Value::Bool(false) => return found.push(format!("{at}: must not be there")),
                other => panic!("no schema: {other}"),
            }
        };
        for (word, rule) in rules {
            let wrong = match word.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" => None,
                "$ref" => {
                    self.check(self.definition(rule), value, at, found);
                    None
                }
                "type" => (!is_of(value, rule)).then(|| format!("{value} is not a {rule}")),
                "format" => (!has_format(value, rule)).then(|| format!("{value} is out of the range of {rule}")),
                "const" => (value != rule).then(|| format!("{value} is not {rule}")),
                "minimum" => {
                    value.as_f64().filter(|v| *v < rule.as_f64().unwrap()).map(|v| format!("{v} is below {rule}"))
                }
                "minItems" => {
                    length(value).filter(|n| *n < bound(rule)).map(|n| format!("{n} items, fewer than {rule}"))
                }
                "maxItems" => {
                    length(value).filter(|n| *n > bound(rule)).map(|n| format!("{n} items, more than {rule}"))
                }
                "anyOf" => (self.matching(rule, value) == 0).then(|| format!("{value} is none of {rule}")),
                "oneOf" => (self.matching(rule, value) != 1).then(|| format!("{value} is not one of {rule}")),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}/{index}"), found);
                    }
                    None
                }
                "required" => value.as_object().and_then(|members| missing(members, rule)),
                "properties" => {
                    for (name, rule) in rule.as_object().unwrap() {
                        if let Some(member) = value.get(name) {
                            self.check(rule, member, &format!("{at}/{name}"), found);
                        }
                    }
                    None
                }
                "additionalProperties" => {
                    let known = rules.get("properties").and_then(Value::as_object);
                    for (name, member) in value.as_object().into_iter().flatten() {
                        if !known.is_some_and(|known| known.contains_key(name)) {
                            self.check(rule, member, &format!("{at}/{name}"), found);
                        }
                    }
                    None
                }
                other => panic!("{other} is not known here: teach the validator or do without"),
            };
            found.extend(wrong.map(|wrong| format!("{at}: {wrong}")));
        }
    }

    fn definition(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().strip_prefix('#').expect("a reference within the document");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not defined"))
    }

    /// How many of some schemas a value satisfies.
    fn matching(&self, schemas: &Value, value: &Value) -> usize {
        let satisfied = |schema: &&Value| {
            let mut found = Vec::new();
            self.check(schema, value, "", &mut found);
            found.is_empty()
        };
        schemas.as_array().unwrap().iter().filter(satisfied).count()
    }
}

fn is_of(value: &Value, types: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|v| v.fract() == 0.0),
        other => panic!("there is no type {other}"),
    };
    match types {
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        name => is(name.as_str().unwrap()),
    }
}

/// Formats are those that schemars gives to Rust's numbers.
fn has_format(value: &Value, format: &Value) -> bool {
    match (format.as_str().unwrap(), value) {
        (_, Value::Null) => true,
        ("uint", number) => number.as_u64().is_some(),
        ("uint32", number) => number.as_u64().is_some_and(|v| u32::try_from(v).is_ok()),
        ("double", number) => number.as_f64().is_some_and(f64::is_finite),
        ("float", number) => number.as_f64().is_some_and(|v| v.abs() <= f64::from(f32::MAX)),
        (other, _) => panic!("there is no format {other}"),
    }
}

fn missing(members: &Map<String, Value>, names: &Value) -> Option<String> {
    let names = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let missing: Vec<_> = names.filter(|name| !members.contains_key(*name)).collect();
    (!missing.is_empty()).then(|| format!("without {}", missing.join(", ")))
}

fn length(value: &Value) -> Option<usize> {
    value.as_array().map(Vec::len)
}

fn bound(rule: &Value) -> usize {
    usize::try_from(rule.as_u64().unwrap()).unwrap()
}
