// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The writes of a batch, and which stores take one: a store whose engine lands a group as one record.

use saker_device::{DeviceConfig, EngineKind, NamespaceKind};
use saker_engine::{Capability, GROUP_BYTES_MAX};
use saker_host::WriteBatch;
use saker_nvme::Key;
use saker_store::{Op, Refusal};

/// What a device with that namespace of pairs takes beyond single pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// Bytes of the longest payload of a batch; 0 without batches.
    pub batch_bytes: usize,
    /// Scans and snapshots.
    pub scans: bool,
    /// Lists of keys.
    pub lists: bool,
}

impl Takes {
    /// Of a device's first namespace.
    pub fn of(build: &saker_assembly::Build) -> Self {
        Self::of_namespace(&build.config, 0)
    }

    /// Of the namespace at that place of a device's list.
    pub fn of_namespace(config: &DeviceConfig, place: usize) -> Self {
        let Some(NamespaceKind::Kv { engine, value_bytes_max, .. }) =
            config.namespaces.get(place).map(|n| n.kind)
        else {
            return Self::default();
        };
        let (can, methods) = (EngineKind::capabilities(engine), config.methods);
        let batches = can.has(Capability::Groups) && methods.groups() && methods.groups_both_ways();
        let scans = can.has(Capability::Scan) && can.has(Capability::Snapshots) && methods.iterators();
        let batch_bytes = if batches { GROUP_BYTES_MAX.min(value_bytes_max) as usize } else { 0 };
        Self { batch_bytes, scans, lists: can.has(Capability::List) }
    }

    /// The names of the operations, beside `others`.
    pub fn names(self, others: &[&'static str]) -> Vec<&'static str> {
        let batches: &[_] = if self.batch_bytes > 0 { &["batch"] } else { &[] };
        let scans: &[_] = if self.scans { &["scan", "snapshot", "release"] } else { &[] };
        let lists: &[_] = if self.lists { &["list"] } else { &[] };
        [others, batches, scans, lists].concat()
    }
}

/// The writes, of which a later one of a key replaces an earlier one.
///
/// # Errors
/// [`Refusal`] for a key that no store takes, and for what is neither a put nor a delete.
pub fn write_batch(writes: &[Op]) -> Result<WriteBatch, Refusal> {
    let mut batch = WriteBatch::new();
    for write in writes {
        let (key, value) = match write {
            Op::Put(key, value) => (key, Some(value)),
            Op::Delete(key) => (key, None),
            _ => return Err(Refusal::Unsupported("batch of other operations than puts and deletes")),
        };
        Key::new(key).map_err(|_| Refusal::KeyLength(key.len()))?;
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        };
    }
    Ok(batch)
}

/// What a batch that is longer than a payload may be is refused as.
pub const TOO_LONG: Refusal = Refusal::Unsupported("batch of so many bytes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_write_of_a_key_counts() {
        let put = |key: u8, value: u8| Op::Put(vec![key], vec![value]);
        let batch = write_batch(&[put(1, 1), put(2, 2), Op::Delete(vec![1]), put(2, 3)]).unwrap();
        let writes: Vec<_> = batch.iter().collect();
        assert_eq!(writes, [(&[1][..], None), (&[2][..], Some(&[3][..]))]);
    }

    #[test]
    fn a_batch_has_writes_of_keys_that_a_store_takes() {
        let of = |op| write_batch(&[op]).unwrap_err();
        assert_eq!(of(Op::Put(Vec::new(), vec![1])), Refusal::KeyLength(0));
        assert_eq!(of(Op::Delete(vec![1; 17])), Refusal::KeyLength(17));
        assert!(matches!(of(Op::Get(vec![1])), Refusal::Unsupported(what) if what.starts_with("batch ")));
    }
}
