//! Settings as plain structs and enums: each field has a doc comment, a default and a range, and a path.
//!
//! [`settings!`] makes a struct whose fields are settings, [`choice!`] an enum that selects a branch. Both implement
//! [`Setting`], which lists all values with their paths and sets one by its path.

use serde_json::Value;

use crate::error::{Error, Result};

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
    /// What it means.
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
            Value::String(_) => self.names.join(", "),
            _ => self.range.to_string(),
        }
    }

    /// The error for a value that it does not accept.
    pub fn refuse(&self, value: impl ToString, expected: impl Into<String>) -> Error {
        Error::Setting { path: self.path.into(), value: value.to_string(), expected: expected.into() }
    }

    /// The error for an unknown path.
    pub fn unknown(&self, rest: &str, names: &[String]) -> Error {
        let expected = match names {
            [] => format!("unknown setting: {} has no settings below it", self.path),
            names if self.path.is_empty() => format!("unknown setting: expected one of {}", names.join(", ")),
            names => format!("unknown setting: {} has {}", self.path, names.join(", ")),
        };
        Error::Setting { path: self.below(rest), value: String::new(), expected }
    }
}

/// A value, a struct or an enum that can be set by its path.
pub trait Setting {
    /// Calls `visit` with each value at and below `field`, in the order of declaration.
    fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value));

    /// Sets the value at `rest` below `field` to what `text` says. Where `choose` is set, a path through a branch
    /// selects that branch with its defaults; otherwise such a path is an error.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown path, a value of another type, and one out of range.
    fn set(&mut self, field: &Field<'_>, rest: &str, text: &str, choose: bool) -> Result<()>;

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
                result = Err(field.refuse(text_of(&value), format!("must be {}", field.range)));
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

macro_rules! leaf {
    ($($type:ty: |$text:ident, $field:ident| $parse:expr;)*) => {$(
        impl Setting for $type {
            fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value)) {
                visit(field, self.clone().into());
            }

            fn set(&mut self, $field: &Field<'_>, rest: &str, $text: &str, _: bool) -> Result<()> {
                if !rest.is_empty() {
                    return Err($field.unknown(rest, &[]));
                }
                *self = $parse?;
                Ok(())
            }
        }
    )*};
}

leaf! {
    f64: |text, field| number(text, field, "a number", |number| number);
    usize: |text, field| number(text, field, "a non-negative integer", |number| number as f64);
    u32: |text, field| number(text, field, "a non-negative integer", f64::from);
    bool: |text, field| text.trim().parse().map_err(|_| field.refuse(text, "must be true or false"));
    String: |text, field| Ok::<_, Error>(text.to_owned());
}

/// Parses a number of the field's range.
fn number<T: Copy + std::str::FromStr>(
    text: &str,
    field: &Field<'_>,
    what: &str,
    value: impl Fn(T) -> f64,
) -> Result<T> {
    let number = text.trim().parse().map_err(|_| field.refuse(text, format!("must be {what} ({})", field.range)))?;
    match field.range.accepts(value(number)) {
        true => Ok(number),
        false => Err(field.refuse(text, format!("must be {}", field.range))),
    }
}

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
        #[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $field: $type,)*
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

            fn set(
                &mut self,
                field: &$crate::settings::Field<'_>,
                rest: &str,
                text: &str,
                choose: bool,
            ) -> $crate::error::Result<()> {
                #[allow(unused_imports)]
                use $crate::settings::{Field, Range::{self, *}};
                let (first, below) = rest.split_once('.').unwrap_or((rest, ""));
                $(if first == $crate::settings::kebab(stringify!($field)) {
                    let path = field.below(first);
                    let place = Field { path: &path, range: settings!(@range $($range)?), ..Field::ROOT };
                    return $crate::settings::Setting::set(&mut self.$field, &place, below, text, choose);
                })*
                Err(field.unknown(rest, &[$($crate::settings::kebab(stringify!($field))),*]))
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

            /// The variant of that name with its defaults.
            fn of_name(name: &str) -> Option<Self> {
                if name == $crate::settings::kebab(stringify!($first)) {
                    return Some(Self::$first $((<$first_inner>::default()))?);
                }
                $(if name == $crate::settings::kebab(stringify!($variant)) {
                    return Some(Self::$variant $((<$inner>::default()))?);
                })*
                None
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

            fn set(
                &mut self,
                field: &$crate::settings::Field<'_>,
                rest: &str,
                text: &str,
                choose: bool,
            ) -> $crate::error::Result<()> {
                let (name, below) = match rest {
                    "" => (text.trim(), None),
                    rest => {
                        let (first, below) = rest.split_once('.').unwrap_or((rest, ""));
                        (first, Some(below))
                    }
                };
                if name != self.name() {
                    let Some(other) = Self::of_name(name) else {
                        return Err(match below {
                            None => field.refuse(text, format!("must be one of {}", Self::names().join(", "))),
                            Some(_) => field.unknown(rest, &Self::names().iter().map(|name| name.to_string()).collect::<Vec<_>>()),
                        });
                    };
                    if below.is_some() && !choose {
                        let expected = format!("needs {} = {name}, which is {}", field.path, self.name());
                        return Err($crate::error::Error::Setting {
                            path: field.below(rest),
                            value: text.into(),
                            expected,
                        });
                    }
                    *self = other;
                }
                let Some(below) = below else { return Ok(()) };
                let path = field.below(name);
                let place = $crate::settings::Field { path: &path, ..$crate::settings::Field::ROOT };
                let _ = (&place, below);
                choice!(@set self $first [$($first_inner)?] place below text choose);
                $(choice!(@set self $variant [$($inner)?] place below text choose);)*
                Err(place.unknown(below, &[]))
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
    (@set $self:ident $variant:ident [] $place:ident $rest:ident $text:ident $choose:ident) => {};
    (@set $self:ident $variant:ident [$inner:ty] $place:ident $rest:ident $text:ident $choose:ident) => {
        if let Self::$variant(inner) = $self {
            return $crate::settings::Setting::set(inner, &$place, $rest, $text, $choose);
        }
    };
}

pub(crate) use {choice, settings};
