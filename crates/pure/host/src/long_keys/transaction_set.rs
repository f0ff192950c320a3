// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an optimistic transaction has read, requires and writes.

use saker_long_keys::MARK;
use saker_nvme::group::{
    Ask, COUNT_BYTES, CountedRange, GroupMode, OUTCOME_MARK, Op, PairVersion, ToAsk, result_bytes,
};
use saker_nvme::{Key, Status};
use std::collections::BTreeMap;

use crate::client::{KeyRange, TransactionAnswer, TransactionRefused, refusal};
use crate::error::HostError;

/// The first device key behind all envelopes.
const BEHIND_ENVELOPES: [u8; 2] = [MARK[0], MARK[1] + 1];
/// The same of outcomes.
const BEHIND_OUTCOMES: [u8; 6] = {
    let mut behind = OUTCOME_MARK;
    behind[5] += 1;
    behind
};

/// No key comes before it.
const LEAST_KEY: [u8; 1] = [0];

/// What a transaction requires of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// There is no such pair.
    Absent,
    /// There is such a pair.
    Present,
    /// It has that version: [`PairVersion::ABSENT`]: there is none.
    Version(PairVersion),
    /// It has that value.
    Value(Vec<u8>),
}

impl Require {
    fn ask(&self) -> (Ask, &[u8]) {
        match self {
            Self::Absent => (Ask::Absent, &[]),
            Self::Present => (Ask::Present, &[]),
            Self::Version(version) => (Ask::Version, &version.0),
            Self::Value(value) => (Ask::Value, value),
        }
    }
}

/// A pair as it was read: its value, if there was one, and the version that tells it from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versioned {
    /// The value; `None`: there is no such pair.
    pub value: Option<Vec<u8>>,
    /// Its version, also of absence.
    pub version: PairVersion,
}

/// From which key on, and before which.
pub type Bounds = (Vec<u8>, Vec<u8>);

/// From which key on, and before which, the keys of a range are; nothing behind it: up to the last. `None`: there are none.
///
/// # Errors
/// [`HostError::KeyLength`] for a bound of more than 16 bytes.
pub fn bounds(range: &KeyRange<'_>) -> Result<Option<Bounds>, HostError> {
    let from = range.from.max(range.prefix).to_vec();
    let behind_prefix = match range.prefix.iter().rposition(|byte| *byte != u8::MAX) {
        Some(last) => {
            let mut behind = range.prefix[..=last].to_vec();
            behind[last] += 1;
            behind
        }
        None => Vec::new(),
    };
    let to =
        [range.to.to_vec(), behind_prefix].into_iter().filter(|to| !to.is_empty()).min().unwrap_or_default();
    match from.len().max(to.len()) {
        0..=Key::MAX_LEN => Ok((to.is_empty() || from < to).then_some((from, to))),
        long => Err(HostError::KeyLength(long)),
    }
}

/// What a transaction has read, requires and writes; nothing of it is at the device before it is committed.
#[derive(Clone, Debug, Default)]
pub struct TransactionSet {
    reads: BTreeMap<Vec<u8>, PairVersion>,
    requires: Vec<(Vec<u8>, Require)>,
    /// First key, and what is asked of the range that begins with it.
    ranges: Vec<(Vec<u8>, Vec<u8>)>,
    /// `None`: delete.
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl TransactionSet {
    /// A pair was read. The first version of a key counts.
    pub fn read(&mut self, key: &[u8], version: PairVersion) {
        self.reads.entry(key.to_vec()).or_insert(version);
    }

    /// The version that a key was read with.
    #[must_use]
    pub fn version(&self, key: &[u8]) -> Option<PairVersion> {
        self.reads.get(key).copied()
    }

    /// These keys were found from one on and before another, if that is one, and so many device keys with the mark of envelopes. The device
    /// counts all keys of a range: those of outcomes are left out, and those with the mark are asked about apart.
    pub fn counted(&mut self, from: &[u8], to: &[u8], keys: &[Vec<u8>], marked: u32) {
        if self.ranges.is_empty() {
            let all = CountedRange { count: marked, to: &BEHIND_ENVELOPES };
            self.ranges.push((MARK.to_vec(), all.encode()));
        }
        let pieces: [(&[u8], &[u8]); 3] =
            [(&LEAST_KEY, &MARK), (&BEHIND_ENVELOPES, &OUTCOME_MARK), (&BEHIND_OUTCOMES, &[])];
        for (low, high) in pieces {
            let low = from.max(low);
            let high = [to, high].into_iter().filter(|to| !to.is_empty()).min().unwrap_or_default();
            let is_before_high = |key: &[u8]| high.is_empty() || key < high;
            if is_before_high(low) {
                let is_inside = |key: &&Vec<u8>| {
                    key.len() <= Key::MAX_LEN && key.as_slice() >= low && is_before_high(key)
                };
                let count = keys.iter().filter(is_inside).count() as u32;
                self.ranges.push((low.to_vec(), CountedRange { count, to: high }.encode()));
            }
        }
    }

    /// Requires something.
    pub fn require(&mut self, key: &[u8], what: Require) {
        self.requires.push((key.to_vec(), what));
    }

    /// Stores a pair, or deletes it. The last write of a key counts.
    pub fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.writes.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    /// What it writes under a key.
    #[must_use]
    pub fn written(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes.get(key).map(Option::as_deref)
    }

    /// All that it writes: key, and value or `None` for a delete.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(|(k, v)| (k.as_slice(), v.as_deref()))
    }

    /// Bytes of what it writes.
    pub(super) fn written_bytes(&self) -> usize {
        self.writes().map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len)).sum()
    }

    /// By which operation all that it has read and requires can be looked at again, if it writes nothing and has read no range, and results
    /// without values are at most that long.
    pub(super) fn only_reads(&self, bytes_max: usize) -> Option<Op> {
        let looked = self.reads.len() + self.requires.len();
        let fits =
            COUNT_BYTES + looked * result_bytes(GroupMode { is_transaction: true, has_versions: true });
        if looked == 0 || !self.writes.is_empty() || !self.ranges.is_empty() || fits > bytes_max {
            return None;
        }
        let is_value = |(_, what): &(Vec<u8>, Require)| matches!(what, Require::Value(_));
        Some(if self.requires.iter().any(is_value) { Op::Retrieve } else { Op::Exist })
    }

    /// The keys that it has read, then those of which it requires something.
    pub(super) fn looked_at(&self) -> impl Iterator<Item = &[u8]> {
        self.reads.keys().chain(self.requires.iter().map(|(key, _)| key)).map(Vec::as_slice)
    }

    /// Whether all is as it was read and as it is required, by the answers for [those keys](Self::looked_at).
    ///
    /// # Errors
    /// [`HostError::Conflict`], [`HostError::Unmet`].
    pub(super) fn compare(&self, answers: &[TransactionAnswer]) -> Result<(), HostError> {
        let mut answers = answers.iter();
        for ((key, version), answer) in self.reads.iter().zip(answers.by_ref()) {
            if answer.version != *version {
                return Err(HostError::Conflict { key: key.clone() });
            }
        }
        for ((key, what), answer) in self.requires.iter().zip(answers) {
            let holds = match what {
                Require::Absent => answer.version.is_absent(),
                Require::Present => !answer.version.is_absent(),
                Require::Version(version) => answer.version == *version,
                Require::Value(value) => answer.value.as_ref() == Some(value),
            };
            if !holds {
                return Err(HostError::Unmet { key: key.clone() });
            }
        }
        Ok(())
    }

    /// Whether the device need not be asked: it writes and requires nothing, and one read is as good as a transaction.
    pub(super) fn is_settled(&self) -> bool {
        let looked = self.reads.len() + 2 * self.ranges.len();
        self.writes.is_empty() && self.requires.is_empty() && looked < 2
    }

    /// The entries: what was read, conditions, writes. A pair that was read and is not there is not deleted.
    pub(super) fn entries(&self) -> Vec<ToAsk<'_>> {
        let reads = self.reads.iter().map(|(key, version)| -> ToAsk<'_> { (Ask::Version, key, &version.0) });
        let ranges = self.ranges.iter().map(|(from, range)| -> ToAsk<'_> { (Ask::Range, from, range) });
        let requires = self.requires.iter().map(|(key, what)| -> ToAsk<'_> {
            let (ask, rest) = what.ask();
            (ask, key, rest)
        });
        let write = |(key, value): (&'_ Vec<u8>, &'_ Option<Vec<u8>>)| match value {
            None => self.reads.get(key).is_none_or(|version| !version.is_absent()),
            Some(_) => true,
        };
        let writes = self.writes.iter().filter(|(key, value)| write((key, value)));
        let writes = writes.map(|(key, value)| -> ToAsk<'_> {
            match value {
                Some(value) => (Ask::Op(Op::Store), key, value),
                None => (Ask::Op(Op::Delete), key, &[]),
            }
        });
        reads.chain(ranges).chain(requires).chain(writes).collect()
    }

    /// What a refusal means to the user.
    pub(super) fn error(&self, refused: TransactionRefused) -> HostError {
        let entries = self.entries();
        let key = entries.get(refused.place).map(|(_, key, _)| key.to_vec()).unwrap_or_default();
        let was_read = refused.place < self.reads.len() + self.ranges.len();
        match refused.status {
            status if status.is(Status::PRECONDITION_FAILED) && was_read => HostError::Conflict { key },
            status if status.is(Status::PRECONDITION_FAILED) => HostError::Unmet { key },
            status => refusal(status, key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_bounds() {
        let of = |from: &'static [u8], to: &'static [u8], prefix: &'static [u8]| {
            bounds(&KeyRange { from, to, prefix }).map(|found| found.map(|(from, to)| [from, to].join(&b'|')))
        };
        assert_eq!(of(b"", b"", b""), Ok(Some(b"|".to_vec())));
        assert_eq!(of(b"b", b"", b"a"), Ok(None), "nothing that begins with a is behind b");
        assert_eq!(of(b"b", b"x", b"bc"), Ok(Some(b"bc|bd".to_vec())));
        assert_eq!(of(b"bcd", b"bce", b"bc"), Ok(Some(b"bcd|bce".to_vec())));
        assert_eq!(of(b"", b"", b"a\xFF\xFF"), Ok(Some(b"a\xFF\xFF|b".to_vec())));
        assert_eq!(of(b"", b"", b"\xFF"), Ok(Some(b"\xFF|".to_vec())));
        assert_eq!(of(b"c", b"b", b""), Ok(None));
        assert_eq!(of(&[1; 17], b"", b""), Err(HostError::KeyLength(17)));
    }
}
