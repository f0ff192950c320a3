// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A plan and its operations.

use crate::distribution::{Distribution, Picker};
use crate::error::WorkloadError;
use crate::key::{KeyForm, KeySpace};
use crate::mix::{Kind, KindPicker, Mix};
use crate::size::{SizePicker, Sizes};
use crate::value::ValueSource;
use saker_sim::{Rng, Seed};

/// What to do, in full: two equal plans give equal operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The seed of everything below. Phases of one run share it, and so keys and values.
    pub seed: u64,
    /// Which phase of a run this is. Phases have streams and value versions of their own; [`Plan::preload`] is
    /// phase 0.
    pub phase: u16,
    /// How many operations.
    pub operations: u64,
    /// Keys of the population at the start, numbered from 0.
    pub keys: u64,
    /// Bytes of each key, 4 to 255.
    pub key_bytes: usize,
    /// How key numbers show in key bytes.
    pub key_form: KeyForm,
    /// Which keys.
    pub distribution: Distribution,
    /// Which kinds of operation.
    pub mix: Mix,
    /// Whether each put follows a get of its key: YCSB's read-modify-write, which counts as one operation there and as two
    /// here.
    pub read_before_put: bool,
    /// Bytes of the values that puts and inserts carry.
    pub value_bytes: Sizes,
    /// Entries that lists ask for.
    pub list_entries: Sizes,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Place in the plan, from 0.
    pub sequence: u64,
    /// The version that a put or insert writes, for [`ValueSource::fill`]: the phase in the upper 16 bits, the
    /// sequence below, so that no two operations of a run share one.
    pub version: u64,
    /// What it does.
    pub kind: Kind,
    /// The key's number: its bytes come from [`Plan::key_space`].
    pub key: u64,
    /// Value bytes of a put or insert, entries of a list, 0 for the others.
    pub size: u32,
}

/// Bits of a version below its phase.
const SEQUENCE_BITS: u32 = 48;
/// Most operations of one plan.
const OPERATIONS_MAX: u64 = 1 << SEQUENCE_BITS;

impl Default for Plan {
    /// A thousand puts of 16-byte keys and 100-byte values, uniform over a thousand keys.
    fn default() -> Self {
        Self {
            seed: 0,
            phase: 1,
            operations: 1000,
            keys: 1000,
            key_bytes: 16,
            key_form: KeyForm::Hashed,
            distribution: Distribution::Uniform,
            mix: Mix::PUTS,
            read_before_put: false,
            value_bytes: Sizes::Fixed(100),
            list_entries: Sizes::Fixed(100),
        }
    }
}

impl Plan {
    /// The keys of this plan.
    ///
    /// # Errors
    /// A key size outside 4..=255, or more keys (inserts included) than the size can tell apart.
    pub fn key_space(&self) -> Result<KeySpace, WorkloadError> {
        let space = KeySpace::new(Seed(self.seed).child("keys").0, self.key_bytes, self.key_form)?;
        let inserts = if self.mix.insert > 0 { self.operations } else { 0 };
        let keys = self.keys.saturating_add(inserts);
        if self.keys == 0 || keys > space.capacity() {
            let (key_bytes, most) = (self.key_bytes, space.capacity());
            return Err(WorkloadError::Keys { keys, key_bytes, most });
        }
        Ok(space)
    }

    /// The values of this plan.
    pub fn value_source(&self) -> ValueSource {
        ValueSource::new(Seed(self.seed).child("values").0)
    }

    /// The operations of this plan.
    ///
    /// # Errors
    /// Whatever makes the plan impossible; see [`WorkloadError`].
    pub fn operations(&self) -> Result<Operations, WorkloadError> {
        self.key_space()?;
        if self.operations > OPERATIONS_MAX {
            return Err(WorkloadError::Operations { operations: self.operations, most: OPERATIONS_MAX });
        }
        let seed = Seed(self.seed).child(&format!("operations of phase {}", self.phase)).0;
        let stream = |label| Seed(seed).child(label).rng();
        Ok(Operations {
            phase_bits: u64::from(self.phase) << SEQUENCE_BITS,
            next: 0,
            end: self.operations,
            keys: self.distribution.picker(Seed(seed).child("distribution").0, self.keys)?,
            kinds: self.mix.picker()?,
            read_before_put: self.read_before_put,
            modified: None,
            value_bytes: self.value_bytes.picker(
                "value sizes",
                Seed(seed).child("value sizes").0,
                self.operations,
            )?,
            list_entries: self.list_entries.picker(
                "list lengths",
                Seed(seed).child("lists").0,
                self.operations,
            )?,
            key_rng: stream("keys"),
            kind_rng: stream("kinds"),
            size_rng: stream("sizes"),
        })
    }

    /// The plan that first puts every key of the population once, in a shuffled order, as phase 0.
    pub fn preload(&self) -> Self {
        let distribution = Distribution::Shuffled;
        let (mix, read_before_put) = (Mix::PUTS, false);
        Self { phase: 0, operations: self.keys, distribution, mix, read_before_put, ..self.clone() }
    }
}

/// The running operations of a plan. Kinds, keys and sizes have streams of their own, so a change of one leaves
/// the others as they are.
#[derive(Clone, Debug)]
pub struct Operations {
    phase_bits: u64,
    next: u64,
    end: u64,
    keys: Picker,
    kinds: KindPicker,
    read_before_put: bool,
    /// The key that was read to be put next.
    modified: Option<u64>,
    value_bytes: SizePicker,
    list_entries: SizePicker,
    key_rng: Rng,
    kind_rng: Rng,
    size_rng: Rng,
}

impl Operations {
    #[inline]
    fn kind_and_key(&mut self) -> (Kind, u64) {
        if let Some(key) = self.modified.take() {
            return (Kind::Put, key);
        }
        match self.kinds.pick(&mut self.kind_rng) {
            Kind::Insert => (Kind::Insert, self.keys.insert()),
            Kind::Put if self.read_before_put => {
                let key = self.keys.pick(&mut self.key_rng);
                self.modified = Some(key);
                (Kind::Get, key)
            }
            kind => (kind, self.keys.pick(&mut self.key_rng)),
        }
    }
}

impl Iterator for Operations {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.next == self.end {
            return None;
        }
        let sequence = self.next;
        self.next += 1;
        let (kind, key) = self.kind_and_key();
        let size = match kind {
            Kind::Put | Kind::Insert => self.value_bytes.pick(&mut self.size_rng),
            Kind::List => self.list_entries.pick(&mut self.size_rng),
            Kind::Get | Kind::Delete | Kind::Exist => 0,
        };
        Some(Operation { sequence, version: self.phase_bits | sequence, kind, key, size })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (usize::try_from(left).unwrap_or(usize::MAX), usize::try_from(left).ok())
    }
}

#[cfg(test)]
mod tests;
