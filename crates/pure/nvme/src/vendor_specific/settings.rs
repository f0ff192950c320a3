// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of a namespace's engine by name: the log page that tells them, and the feature that changes one.

use crate::admin::opcode::SET_FEATURES;
use crate::{Sqe, Status};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// When a setting can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingPhase {
    /// When the namespace is made.
    Stored = 0,
    /// Whenever it is opened; it is kept.
    Kept = 1,
    /// Whenever it is opened, for as long as it is open.
    AtOpen = 2,
    /// At any time, for as long as it is open.
    Live = 3,
}

impl SettingPhase {
    const ALL: [Self; 4] = [Self::Stored, Self::Kept, Self::AtOpen, Self::Live];

    /// Decodes the byte; `None`: one that a later device has.
    #[must_use]
    pub fn decode(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| *phase as u8 == byte)
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Kept => "kept",
            Self::AtOpen => "at open",
            Self::Live => "live",
        }
    }
}

/// Log page C1h begins with these 64 bytes; as many [`SettingEntry`]s follow as it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SettingsHead {
    /// "SKRS": the page is this one.
    pub signature: [u8; 4],
    /// Version of the layout: 1.
    pub version: U16,
    /// Settings.
    pub count: U16,
    /// Bytes of each.
    pub entry_bytes: U32,
    /// The engine's name, zeros behind it.
    pub engine: [u8; 32],
    /// Reserved.
    pub reserved_44: [u8; 20],
}

layout!(
    SettingsHead, 64, signature @ 0, version @ 4, count @ 6, entry_bytes @ 8, engine @ 12, reserved_44 @ 44,
);

impl SettingsHead {
    /// The signature.
    pub const SIGNATURE: [u8; 4] = *b"SKRS";
    /// The version.
    pub const VERSION: u16 = 1;

    /// The beginning of a page of so many settings of an engine.
    #[must_use]
    pub fn new(engine: &str, count: u16) -> Self {
        Self {
            signature: Self::SIGNATURE,
            version: U16::new(Self::VERSION),
            count: U16::new(count),
            entry_bytes: U32::new(size_of::<SettingEntry>() as u32),
            engine: text(engine),
            reserved_44: [0; 20],
        }
    }

    /// Whether signature and version are ours, and entries have the length that we know: the rest may be believed.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_ours = self.signature == Self::SIGNATURE && self.version.get() == Self::VERSION;
        is_ours && self.entry_bytes.get() as usize == size_of::<SettingEntry>()
    }

    /// Bytes of the whole page.
    #[must_use]
    pub fn page_bytes(&self) -> u32 {
        size_of::<Self>() as u32 + u32::from(self.count.get()) * size_of::<SettingEntry>() as u32
    }
}

/// One setting, 152 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SettingEntry {
    /// Its name, zeros behind it.
    pub name: [u8; 48],
    /// Its value as people write it, zeros behind it.
    pub value: [u8; 64],
    /// Its value as a number; FFFFFFFFFFFFFFFFh: no number says it.
    pub number: U64,
    /// The least number that it takes.
    pub least: U64,
    /// The most.
    pub most: U64,
    /// [`SettingPhase`].
    pub phase: u8,
    /// 0: a number; 1: off or on; 2: the place of a word.
    pub values: u8,
    /// Reserved.
    pub reserved_138: [u8; 14],
}

layout!(
    SettingEntry, 152, name @ 0, value @ 48, number @ 112, least @ 120, most @ 128, phase @ 136, values @ 137,
    reserved_138 @ 138,
);

impl SettingEntry {
    /// No number says the value.
    pub const NO_NUMBER: u64 = u64::MAX;
    /// [`values`](Self::values) of a number.
    pub const NUMBER: u8 = 0;
    /// [`values`](Self::values) of off and on.
    pub const SWITCH: u8 = 1;
    /// [`values`](Self::values) of words.
    pub const WORDS: u8 = 2;
}

/// A text in a field: its beginning if it is longer, else zeros behind it.
#[must_use]
pub fn text<const N: usize>(of: &str) -> [u8; N] {
    let mut field = [0; N];
    field.iter_mut().zip(of.bytes()).for_each(|(to, byte)| *to = byte);
    field
}

/// The text of a field; what is no text is shown as such.
#[must_use]
pub fn text_of(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

/// Set Features C0h: a live setting gets another value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetSetting {
    /// The namespace.
    pub nsid: u32,
    /// Which, by its place in log page C1h.
    pub place: u16,
    /// The value.
    pub number: u64,
}

impl SetSetting {
    /// SV: the value is to be saved, which none is.
    const SAVE: u32 = 1 << 31;

    /// The entry.
    #[must_use]
    pub const fn encode(&self) -> Sqe {
        let mut sqe = Sqe::new(SET_FEATURES, self.nsid);
        sqe.cdw10 = U32::new(super::FID_SETTING as u32);
        sqe.cdw11 = U32::new(self.place as u32);
        sqe.cdw12 = U32::new(self.number as u32);
        sqe.cdw13 = U32::new((self.number >> 32) as u32);
        sqe
    }

    /// From an entry that is known to be Set Features C0h.
    ///
    /// # Errors
    /// 0Dh if it is to be saved, 02h for a place that no page has.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        if sqe.cdw10.get() & Self::SAVE != 0 {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        let place = u16::try_from(sqe.cdw11.get()).map_err(|_| Status::INVALID_FIELD)?;
        let number = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
        Ok(Self { nsid: sqe.nsid.get(), place, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_same_behind_the_wire() {
        let change = SetSetting { nsid: 3, place: 17, number: 0x0123_4567_89AB_CDEF };
        let sqe = change.encode();
        assert_eq!(SetSetting::decode(&sqe), Ok(change));
        let words = [sqe.cdw10, sqe.cdw11, sqe.cdw12, sqe.cdw13].map(U32::get);
        assert_eq!((sqe.opcode, words), (0x09, [0xC0, 17, 0x89AB_CDEF, 0x0123_4567]));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let mut sqe = SetSetting { nsid: 1, place: 0, number: 0 }.encode();
        sqe.cdw11 = U32::new(1 << 16);
        assert_eq!(SetSetting::decode(&sqe), Err(Status::INVALID_FIELD));
        sqe.cdw10 = U32::new(0x8000_00C0);
        assert_eq!(SetSetting::decode(&sqe), Err(Status::FEATURE_NOT_SAVEABLE));
    }

    #[test]
    fn texts_end_with_their_field() {
        assert_eq!(
            (text_of(&text::<8>("tree")), text_of(&text::<4>("hash_plus"))),
            ("tree".into(), "hash".into())
        );
        let head = SettingsHead::new("lsm", 18);
        assert!(head.is_known() && head.page_bytes() == 64 + 18 * 152);
        assert!(!SettingsHead { version: U16::new(2), ..head }.is_known());
    }

    #[test]
    fn phases_have_the_names_of_the_page() {
        let names = [0, 1, 2, 3, 4].map(|byte| SettingPhase::decode(byte).map(SettingPhase::name));
        assert_eq!(names, [Some("stored"), Some("kept"), Some("at open"), Some("live"), None]);
    }
}
