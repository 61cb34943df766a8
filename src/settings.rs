//! Settings as plain structs and enums: each field has a doc comment, a default and a range, and a path.
//!
//! [`settings!`] makes a struct whose fields are settings, [`choice!`] an enum that selects a branch. Both implement
//! [`Setting`], which lists all values with their paths and sets one by its path.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The largest text of settings; a parsed one takes 70 times as much memory.
#[cfg(any(feature = "cli", feature = "neural"))]
const MAX_MEGABYTES: usize = 2;

/// Reads TOML; the reason why not is one line that names the line of the text.
#[cfg(any(feature = "cli", feature = "neural"))]
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > MAX_MEGABYTES << 20 {
        return Err(format!("it is larger than {MAX_MEGABYTES} MB, the most that is read"));
    }
    toml::from_str(text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        place + &error.message().replace('\n', ", ")
    })
}

/// The values that a number may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Any, or no number at all.
    Any,
    /// Both ends included.
    Within(f64, f64),
    /// The lower end excluded.
    Above(f64, f64),
    /// Odd numbers, both ends included.
    Odd(f64, f64),
    /// Both ends included, or the third.
    WithinOr(f64, f64, f64),
}

impl Range {
    fn accepts(self, value: f64) -> bool {
        match self {
            Self::Any => !value.is_nan(),
            Self::Within(from, to) => (from..=to).contains(&value),
            Self::Above(from, to) => value > from && value <= to,
            Self::Odd(from, to) => (from..=to).contains(&value) && value % 2.0 == 1.0,
            Self::WithinOr(from, to, or) => (from..=to).contains(&value) || value == or,
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Any => Ok(()),
            Self::Within(from, to) => write!(f, "{from} to {to}"),
            Self::Above(from, to) => write!(f, "above {from}, up to {to}"),
            Self::Odd(from, to) => write!(f, "odd, {from} to {to}"),
            Self::WithinOr(from, to, or) => write!(f, "{from} to {to}, or {or}"),
        }
    }
}

/// One setting at its place.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(any(feature = "cli", test)), allow(dead_code, reason = "only the program prints settings"))]
pub struct Field<'a> {
    /// The path from the root, its parts separated by dots.
    pub path: &'a str,
    /// Its meaning.
    pub doc: &'static str,
    /// The numbers that it accepts.
    pub range: Range,
    /// The names that it accepts; empty for a number or a switch.
    pub names: &'static [&'static str],
}

impl<'a> Field<'a> {
    /// The root of a tree.
    pub const ROOT: Field<'static> = Field { path: "", doc: "", range: Range::Any, names: &[] };

    /// The path of `name` below this field.
    pub fn below(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The accepted values, for people.
    #[cfg(any(feature = "cli", test))]
    pub fn expected(&self, value: &Value) -> String {
        match value {
            Value::Bool(_) => "true or false".into(),
            Value::String(_) if self.names.is_empty() => "text".into(),
            Value::String(_) => self.names.join(", "),
            _ => self.range.to_string(),
        }
    }
}

/// A value, a struct or an enum that can be set by its path.
pub trait Setting {
    /// Calls `visit` with each value at and below `field`, in the order of declaration.
    fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value));

    /// Sets the value at `rest` below `path` to what `text` says. The name of a variant selects it with its defaults. Where
    /// `choose` is set, a path through a branch selects that branch too; otherwise such a path is an error.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown path, a value of another type, and one out of range.
    fn set(&mut self, path: &str, rest: &str, text: &str, choose: bool) -> Result<()>
    where
        Self: Serialize + DeserializeOwned,
    {
        let (text, place) = (text.trim(), Field { path, ..Field::ROOT }.below(rest));
        let refuse = |expected: String| Err(Error::setting(&place, text, expected));
        let mut known = None;
        self.visit(&Field { path, ..Field::ROOT }, &mut |field, value| {
            if field.path == place {
                known = Some((field.range, value));
            }
        });
        let mut values = vec![Value::from(text), json!({ text: {} })];
        values.extend(serde_json::from_str(text));
        match known {
            Some((range, Value::Number(old))) => {
                let (number, what) = match old.is_f64() {
                    true => (text.parse::<f64>().map(Value::from).ok(), "a number"),
                    false => (text.parse::<u64>().map(Value::from).ok(), "a non-negative integer"),
                };
                let Some(number) = number else { return refuse(format!("must be {what} ({range})")) };
                if !number.as_f64().is_some_and(|number| range.accepts(number)) {
                    return refuse(format!("must be {range}"));
                }
                values = vec![number];
            }
            Some((_, Value::Bool(_))) if text.parse::<bool>().is_err() => {
                return refuse("must be true or false".into());
            }
            _ => {}
        }
        let tree = serde_json::to_value(&*self).unwrap_or_default();
        let mut reason = String::new();
        for value in values {
            let mut tree = tree.clone();
            let branch = put(&mut tree, path, rest, value);
            match (serde_json::from_value::<Self>(tree), branch) {
                (Ok(_), Some(branch)) if !choose => return refuse(format!("needs {branch}")),
                (Ok(changed), _) => {
                    changed.check_ranges(path)?;
                    *self = changed;
                    return Ok(());
                }
                (Err(error), _) if reason.is_empty() => reason = error.to_string(),
                _ => {}
            }
        }
        refuse(reason)
    }

    /// Whether every number lies in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of the first one that does not.
    fn check_ranges(&self, path: &str) -> Result<()> {
        let mut result = Ok(());
        self.visit(&Field { path, ..Field::ROOT }, &mut |field, value| {
            let number = match &value {
                Value::Number(number) => number.as_f64(),
                Value::Null => None,
                _ => return,
            };
            if result.is_ok() && !number.is_some_and(|number| field.range.accepts(number)) {
                result = Err(Error::setting(field.path, text_of(&value), format!("must be {}", field.range)));
            }
        });
        result
    }
}

/// The text that [`Setting::set`] reads as this value.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Puts a value at `rest` below `path`, unless it names the variant that is there. Returns the branch on the way that was
/// not selected, as `PATH = NAME`.
fn put(tree: &mut Value, path: &str, rest: &str, value: Value) -> Option<String> {
    let (mut node, mut branch, mut place) = (tree, None, path.to_owned());
    for key in rest.split_terminator('.') {
        // Some documents have names in snake case.
        let known = [key.to_owned(), key.replace('-', "_")].into_iter().find(|key| node.get(key).is_some());
        let known = known.unwrap_or_else(|| {
            branch.get_or_insert(format!("{place} = {key}"));
            *node = json!({ key: {} });
            key.to_owned()
        });
        place = Field { path: &place, ..Field::ROOT }.below(key);
        node = &mut node[known];
    }
    let variant = node.as_object().filter(|fields| fields.len() == 1);
    if !variant.zip(value.as_str()).is_some_and(|(fields, name)| fields.contains_key(name)) {
        *node = value;
    }
    branch
}

macro_rules! leaf {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value)) {
                visit(field, self.clone().into());
            }
        }
    )*};
}

leaf! { f64, usize, u32, bool, String }

/// The name of a field or a variant as paths and files have it: `kebab-case`.
pub fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (i, c) in name.chars().enumerate() {
        match c {
            '_' => out.push('-'),
            c if c.is_uppercase() && i > 0 => out.extend(['-', c.to_ascii_lowercase()]),
            c => out.push(c.to_ascii_lowercase()),
        }
    }
    out
}

/// A struct of settings: `field: type = default, range;`, each with its doc comment.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)*)])? $field:ident: $type:ty = $default:expr $(, $range:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case", default, deny_unknown_fields, expecting = "a table of settings")]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nDefault `", stringify!($default), "`" $(, ", range `", stringify!($range), "`")?, ".")]
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::settings::Setting for $name {
            fn visit(
                &self,
                field: &$crate::settings::Field<'_>,
                visit: &mut dyn FnMut(&$crate::settings::Field<'_>, serde_json::Value),
            ) {
                #[allow(unused_imports)]
                use $crate::settings::{Field, Range::{self, *}};
                $({
                    let path = field.below(&$crate::settings::kebab(stringify!($field)));
                    let (doc, range) = (concat!($($doc),+).trim_ascii(), settings!(@range $($range)?));
                    let place = Field { path: &path, doc, range, names: &[] };
                    $crate::settings::Setting::visit(&self.$field, &place, visit);
                })*
            }
        }
    };
    (@range) => { Range::Any };
    (@range $range:expr) => { $range };
}

/// An enum of settings: each variant is a name alone, or has settings of its own. The first one is the default.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(#[doc = $first_doc:literal])+ $first:ident $(($first_inner:ty))?,
            $($(#[doc = $doc:literal])+ $variant:ident $(($inner:ty))?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $(#[doc = $first_doc])+ $first $(($first_inner))?,
            $($(#[doc = $doc])+ $variant $(($inner))?,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$first $((<$first_inner>::default()))?
            }
        }

        impl $name {
            /// The names of the variants.
            pub(crate) fn names() -> &'static [&'static str] {
                static NAMES: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
                    [stringify!($first) $(, stringify!($variant))*]
                        .map(|name| &*$crate::settings::kebab(name).leak())
                        .to_vec()
                });
                &NAMES
            }

            /// The name of this variant.
            pub fn name(&self) -> &'static str {
                let index = match self {
                    choice!(@any $first $($first_inner)?) => stringify!($first),
                    $(choice!(@any $variant $($inner)?) => stringify!($variant),)*
                };
                let name = $crate::settings::kebab(index);
                Self::names().iter().find(|known| **known == name).copied().unwrap_or_default()
            }
        }

        impl $crate::settings::Setting for $name {
            fn visit(
                &self,
                field: &$crate::settings::Field<'_>,
                visit: &mut dyn FnMut(&$crate::settings::Field<'_>, serde_json::Value),
            ) {
                let path = field.below(self.name());
                let below = $crate::settings::Field { path: &path, ..*field };
                let _ = &below;
                choice!(@visit self $first [$($first_inner)?] field below visit);
                $(choice!(@visit self $variant [$($inner)?] field below visit);)*
            }
        }
    };
    (@any $variant:ident) => { Self::$variant };
    (@any $variant:ident $inner:ty) => { Self::$variant(_) };
    (@visit $self:ident $variant:ident [] $field:ident $below:ident $visit:ident) => {
        if let Self::$variant = $self {
            let place = $crate::settings::Field { names: Self::names(), ..*$field };
            $visit(&place, $self.name().into());
        }
    };
    (@visit $self:ident $variant:ident [$inner:ty] $field:ident $below:ident $visit:ident) => {
        if let Self::$variant(inner) = $self {
            $crate::settings::Setting::visit(inner, &$below, $visit);
        }
    };
}

pub(crate) use {choice, settings};
