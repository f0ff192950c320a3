// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pair that says which spaces a device has: `SPC1`, then for each its number (two bytes, the low one first), its state (0: there, 1: being
//! removed), the length of its name (a byte) and its name.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::StoreError;
use super::prefix::ID_MAX;
use std::collections::BTreeMap;

/// Its key, with which the key of no space begins.
pub(super) const KEY: &[u8] = &[0];

const MAGIC: &[u8; 4] = b"SPC1";

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 255;

/// What a catalogue says of a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    /// Its pairs are being deleted; the number is not given out before they are.
    pub leaves: bool,
}

/// The spaces of a device by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Catalogue(pub BTreeMap<u16, Entry>);

impl Catalogue {
    /// What a pair's value says; no pair: no spaces.
    pub fn parse(value: Option<&[u8]>) -> Result<Self, StoreError> {
        let Some(value) = value else { return Ok(Self::default()) };
        let damaged = || {
            StoreError::Spaces(
                "the device's pair 00h is no catalogue of spaces; open the device with `Store`".into(),
            )
        };
        let mut rest = value.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let mut entries = BTreeMap::new();
        while !rest.is_empty() {
            let (id, entry, behind) = entry(rest).ok_or_else(damaged)?;
            if entries.insert(id, entry).is_some() {
                return Err(damaged());
            }
            rest = behind;
        }
        Ok(Self(entries))
    }

    /// The pair's value.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (id, entry) in &self.0 {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.push(entry.leaves.into());
            bytes.push(u8::try_from(entry.name.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(entry.name.as_bytes());
        }
        bytes
    }

    /// The number of a space that is there.
    pub fn id(&self, name: &str) -> Option<u16> {
        self.0.iter().find(|(_, entry)| entry.name == name && !entry.leaves).map(|(id, _)| *id)
    }

    /// Enters a space under the least number that is free.
    pub fn add(&mut self, name: &str) -> Result<u16, StoreError> {
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
            return Err(StoreError::Spaces(format!(
                "the name of a space has 1 to {NAME_BYTES_MAX} bytes, not {}",
                name.len()
            )));
        }
        let free = (1..=ID_MAX).find(|id| !self.0.contains_key(id));
        let id = free.ok_or_else(|| StoreError::Spaces(format!("a device has {ID_MAX} spaces at most")))?;
        self.0.insert(id, Entry { name: name.into(), leaves: false });
        Ok(id)
    }

    /// Says that a space leaves; its number, if it is there.
    pub fn leave(&mut self, name: &str) -> Option<u16> {
        let id = self.id(name)?;
        self.0.get_mut(&id)?.leaves = true;
        Some(id)
    }
}

/// The first entry, and what is behind it.
fn entry(bytes: &[u8]) -> Option<(u16, Entry, &[u8])> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (&[state, length], rest) = rest.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(length.into())?;
    let id = u16::from_le_bytes(*id);
    let is_sound = (1..=ID_MAX).contains(&id) && state <= 1 && length > 0;
    let name = String::from_utf8(name.to_vec()).ok().filter(|_| is_sound)?;
    Some((id, Entry { name, leaves: state == 1 }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_read_as_it_was_written() {
        let mut catalogue = Catalogue::default();
        let ids: Vec<_> =
            (0..300).map(|n| catalogue.add(&format!("space {n}")).expect("there is room")).collect();
        assert!(ids.into_iter().eq(1..=300));
        assert_eq!(catalogue.leave("space 7"), Some(8));
        assert_eq!((catalogue.leave("space 7"), catalogue.id("space 7")), (None, None));
        let bytes = catalogue.bytes();
        assert_eq!(Catalogue::parse(Some(&bytes)).expect("sound"), catalogue);
        // The same name comes again under another number while the old one leaves.
        assert_eq!(catalogue.add("space 7").expect("there is room"), 301);
    }

    #[test]
    fn what_is_none_is_refused() {
        let mut catalogue = Catalogue::default();
        catalogue.add("one").expect("there is room");
        let bytes = catalogue.bytes();
        for cut in (0..bytes.len()).filter(|cut| *cut != MAGIC.len()) {
            assert!(Catalogue::parse(Some(&bytes[..cut])).is_err(), "{cut}");
        }
        for (at, byte) in [(0, b'X'), (4, 0), (5, 0x40), (6, 2), (7, 0), (8, 0xff)] {
            let mut forged = bytes.clone();
            forged[at] = byte;
            assert!(Catalogue::parse(Some(&forged)).is_err(), "{at}");
        }
        assert!(Catalogue::parse(Some(&[&bytes[..], &bytes[4..]].concat())).is_err(), "a number twice");
        assert!(catalogue.add("").is_err() && catalogue.add(&"n".repeat(256)).is_err());
    }
}
