// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of engines by name: what a user, a URL, an image or an experiment asks of one.
//!
//! An engine lists its settings ([`Setting`]); command lines, URLs, images and their documents follow from the list. Names
//! and meaning are RocksDB's where it has them (its `include/rocksdb/options.h` and `advanced_options.h`).

use std::collections::BTreeMap;

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A whole number, or a size such as `16MiB`, from the first to the second.
    Number(u64, u64),
    /// `on` or `off`: 1 or 0.
    Switch,
    /// One of these words: its place in the list.
    Words(&'static [&'static str]),
}

/// When a setting can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// When a namespace is made. Its image keeps it.
    Stored(BitField),
    /// When a namespace is made, and whenever it is opened. Its image keeps what was asked for last.
    Kept(BitField),
    /// Whenever a namespace is opened, for as long as it is open.
    AtOpen,
    /// The same, and while it is open: the store goes on with the new value ([`Engine::retune`](crate::Engine::retune)).
    Live,
}

impl Phase {
    /// The same in a sentence.
    pub const fn when(self) -> &'static str {
        match self {
            Self::Stored(_) => "when the store is made",
            Self::Kept(_) | Self::AtOpen => "when the store is opened",
            Self::Live => "at any time",
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stored(_) => "stored",
            Self::Kept(_) => "kept",
            Self::AtOpen => "at open",
            Self::Live => "live",
        }
    }
}

/// Where an image keeps a setting: in so many bits of the namespace's word from a bit on. They hold its number. Of such a
/// setting 0 is what holds if nothing is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// The lowest bit, from 8: those below are the namespace's own.
    pub shift: u32,
    /// How many bits.
    pub bits: u32,
}

impl BitField {
    /// The bits of the word.
    pub const fn mask(self) -> u32 {
        ((1 << self.bits) - 1) << self.shift
    }
}

/// A setting of an engine.
///
/// ```
/// use saker_engine_api::settings::{Phase, Setting, Values};
/// let values = Values::Number(1 << 10, 1 << 20);
/// let setting = Setting { name: "buffer", values, phase: Phase::AtOpen, default: "64KiB", help: "..." };
/// assert_eq!(setting.takes(), "1KiB to 1MiB");
/// assert_eq!(setting.check(7), Err("write 1024 to 1048576".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub values: Values,
    /// When it can be chosen.
    pub phase: Phase,
    /// What holds if nothing is asked for, in words.
    pub default: &'static str,
    /// What it does, in words.
    pub help: &'static str,
}

impl Setting {
    /// The number that a text stands for. `size` reads numbers and sizes.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(&self, text: &str, size: impl Fn(&str) -> Option<u64>) -> Result<u64, String> {
        match self.values {
            Values::Words(words) => {
                let at = words.iter().position(|word| *word == text);
                at.map(|at| at as u64).ok_or_else(|| format!("write one of {}", words.join(", ")))
            }
            Values::Switch => match text {
                "on" | "true" | "1" => Ok(1),
                "off" | "false" | "0" => Ok(0),
                _ => Err("write on or off".to_owned()),
            },
            Values::Number(..) => {
                let number = size(text).ok_or("write a number, or a size such as 16MiB")?;
                self.check(number).map(|()| number)
            }
        }
    }

    /// Whether it takes a number.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self, number: u64) -> Result<(), String> {
        let (least, most) = self.range();
        if (least..=most).contains(&number) { Ok(()) } else { Err(format!("write {least} to {most}")) }
    }

    /// The least and the most that it takes, as numbers.
    pub const fn range(&self) -> (u64, u64) {
        match self.values {
            Values::Number(least, most) => (least, most),
            Values::Switch => (0, 1),
            Values::Words(words) => (0, words.len() as u64 - 1),
        }
    }

    /// What it takes, in words.
    pub fn takes(&self) -> String {
        match self.values {
            Values::Words(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
            Values::Switch => "`on`, `off`".to_owned(),
            Values::Number(least, most) if most >= u64::from(u32::MAX) && most != 1 << 32 => {
                format!("from {}", size_of(least))
            }
            Values::Number(least, most) => format!("{} to {}", size_of(least), size_of(most)),
        }
    }

    /// A value as it is written.
    pub fn written(&self, number: u64) -> String {
        match self.values {
            Values::Words(words) => {
                words.get(number as usize).map_or_else(|| number.to_string(), |w| (*w).to_owned())
            }
            Values::Switch => if number == 0 { "off" } else { "on" }.to_owned(),
            Values::Number(..) => number.to_string(),
        }
    }

    /// Where images keep it.
    pub const fn place(&self) -> Option<BitField> {
        match self.phase {
            Phase::Stored(place) | Phase::Kept(place) => Some(place),
            Phase::AtOpen | Phase::Live => None,
        }
    }

    /// Whether it can be changed while a namespace is open.
    pub const fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Live)
    }

    /// Panics unless its place is in the word and has room for every value: to be called where it is declared.
    #[must_use]
    pub const fn checked(self) -> Self {
        if let Some(place) = self.place() {
            assert!(
                place.shift >= 8 && place.shift + place.bits <= 32,
                "it lies in the word, above what is the namespace's"
            );
            assert!(self.range().0 == 0, "0 is what holds if nothing is asked for");
            assert!(self.range().1 < 1 << place.bits, "every value has room there");
        }
        self
    }
}

/// A number of bytes as sizes are written, if it is a round one.
fn size_of(number: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let round = units.into_iter().find(|(unit, _)| number > 0 && number.is_multiple_of(*unit));
    round.map_or_else(|| number.to_string(), |(unit, name)| format!("{}{name}", number / unit))
}

/// What was asked for, by name. All else is as the engine likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, u64>);

impl Settings {
    /// Nothing was asked for.
    pub const NONE: Self = Self(BTreeMap::new());

    /// What an engine says of itself, or a program knows to be right: it is not checked.
    pub fn told(pairs: &[(&'static str, u64)]) -> Self {
        Self(pairs.iter().copied().collect())
    }

    /// Asks for a setting of the list.
    ///
    /// # Errors
    /// What to write instead: the list has none of that name, or it does not take that.
    pub fn set(&mut self, list: &'static [Setting], name: &str, number: u64) -> Result<(), String> {
        let setting = find(list, name)?;
        setting.check(number)?;
        self.0.insert(setting.name, number);
        Ok(())
    }

    /// The number that was asked for.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was asked for, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, number)| (*name, *number))
    }

    /// These settings, and those of `base` where they say nothing.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self(base.iter().chain(self.iter()).collect())
    }

    /// These settings as far as the list has them.
    #[must_use]
    pub fn within(&self, list: &[Setting]) -> Self {
        Self(self.iter().filter(|(name, _)| list.iter().any(|setting| setting.name == *name)).collect())
    }

    /// The bits that an image keeps.
    pub fn stored(&self, list: &[Setting]) -> u32 {
        let bits = |setting: &Setting| {
            let place = setting.place()?;
            Some((self.get(setting.name)? as u32) << place.shift & place.mask())
        };
        list.iter().filter_map(bits).fold(0, |word, bits| word | bits)
    }

    /// What an image's word says. Numbers that a setting does not take count as not asked for, so [`Self::stored`] is then another
    /// word: a later program has written this one, or somebody has forged it.
    pub fn of_image(list: &[Setting], word: u32) -> Self {
        let kept = |setting: &Setting| {
            let place = setting.place()?;
            let number = u64::from((word & place.mask()) >> place.shift);
            (number > 0 && setting.check(number).is_ok()).then_some((setting.name, number))
        };
        Self(list.iter().filter_map(kept).collect())
    }
}

/// A setting that is asked for and does nothing, because of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Its name.
    pub name: &'static str,
    /// Why it does nothing, in words.
    pub why: &'static str,
    /// What to write instead.
    pub todo: &'static str,
}

/// Settings as somebody has typed them, before it is known which engine they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed(Vec<(String, String)>);

impl Typed {
    /// One more.
    pub fn push(&mut self, name: &str, text: &str) {
        self.0.push((name.to_owned(), text.to_owned()));
    }

    /// What they ask of an engine with that list; of several of one name the last counts. Names that it does not have are left
    /// out: see [`Typed::unknown`]. `size` reads numbers and sizes.
    ///
    /// # Errors
    /// The setting as it was typed, and what to write instead.
    pub fn of(
        &self,
        list: &'static [Setting],
        size: impl Fn(&str) -> Option<u64>,
    ) -> Result<Settings, (String, String)> {
        let mut settings = Settings::NONE;
        for (name, text) in &self.0 {
            let Ok(setting) = find(list, name) else { continue };
            let number = setting.parse(text, &size).map_err(|todo| (format!("{name}={text}"), todo))?;
            settings.0.insert(setting.name, number);
        }
        Ok(settings)
    }

    /// The first name that none of the lists has.
    pub fn unknown<'t>(&'t self, lists: &[&'static [Setting]]) -> Option<&'t str> {
        let is_known = |name: &str| lists.iter().any(|list| find(list, name).is_ok());
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !is_known(name))
    }
}

/// The setting of that name.
///
/// # Errors
/// What to write instead.
pub fn find(list: &'static [Setting], name: &str) -> Result<&'static Setting, String> {
    list.iter().find(|setting| setting.name == name).ok_or_else(|| match list {
        [] => "this engine has no settings".to_owned(),
        _ => {
            format!("write one of {}", list.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", "))
        }
    })
}

#[cfg(test)]
mod tests;
