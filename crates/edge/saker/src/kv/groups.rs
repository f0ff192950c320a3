// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups, whose operations are put together by the caller.

use super::Kv;
use saker_host::group::Form;
use saker_host::{Compound, GroupBuilder, GroupStats, HostError};
use saker_runtime::AnyDriver;

impl Kv {
    /// Begins a group: operations, then `commit`. Keys of more than 16 bytes need a device that takes them
    /// ([`Kv::has_long_keys_by_pointer`]).
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{AnyDriver, Form, GroupBuilder, HostError, KvError};
    /// kv.put(b"one", b"1")?;
    /// let mut group: GroupBuilder<'_, AnyDriver> = kv.begin(Form::Mixed);
    /// group.store(b"two", b"2")?.retrieve(b"one")?.delete(b"three")?;
    /// let outcomes = group.commit()?;
    /// assert_eq!(outcomes[..2], [Ok(None), Ok(Some(b"1".to_vec()))]);
    /// assert_eq!(outcomes[2], Err(HostError::Kv(KvError::NotFound)), "the others were carried out");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&mut self, form: Form) -> GroupBuilder<'_, AnyDriver> {
        // Its writes are the builder's.
        self.cache.clear();
        self.store.native().begin(form)
    }

    /// Begins a compound command as the paper has it (HotStorage'19, listing 1): `Compound::Transaction` is its `CC_TRANSACTION`, all or
    /// nothing in one command. The first operation says of which type all are.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::{Compound, HostError};
    /// let mut handle = kv.begin_compound(Compound::Transaction);
    /// handle.store(b"one", b"1")?.store(b"two", b"2")?;
    /// assert!(handle.retrieve(b"one").is_err(), "another type");
    /// handle.commit()?;
    /// let mut handle = kv.begin_compound(Compound::Transaction);
    /// handle.delete(b"one")?.delete(b"three")?;
    /// let Err(HostError::Batch { key, .. }) = handle.commit() else { panic!("there is no such pair") };
    /// assert_eq!(key, b"three");
    /// let mut handle = kv.begin_compound(Compound::Operations);
    /// handle.retrieve(b"one")?.retrieve(b"three")?;
    /// let [(one, found), (three, none)] = &handle.commit_with_keys()?[..] else { panic!("two operations") };
    /// assert_eq!((&one[..], found), (&b"one"[..], &Ok(Some(b"1".to_vec()))), "nothing was deleted");
    /// assert!(three == b"three" && none.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_compound(&mut self, compound: Compound) -> GroupBuilder<'_, AnyDriver> {
        // Its writes are the builder's.
        self.cache.clear();
        self.store.native().begin_compound(compound)
    }

    /// Groups so far, and what was done one by one instead.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let before: saker::GroupStats = kv.group_stats();
    /// let mut batch = saker::WriteBatch::new();
    /// batch.put(b"one", b"1").put(b"two", b"2");
    /// kv.write(&batch)?;
    /// let after = kv.group_stats();
    /// assert_eq!((after.groups - before.groups, after.grouped - before.grouped), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn group_stats(&mut self) -> GroupStats {
        self.store.native().group_stats()
    }

    /// Whether keys of more than 16 bytes go to the device by pointer, one command each.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let path = b"/a/key/of/more/than/16/bytes";
    /// kv.put(path, b"value")?; // works in any case
    /// if kv.has_long_keys_by_pointer() {
    ///     let mut group = kv.begin(saker::Form::All(saker::Op::Delete)); // a group takes it only then
    ///     group.delete(path)?;
    ///     group.commit()?;
    /// }
    /// # assert!(!kv.exists(path)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_long_keys_by_pointer(&self) -> bool {
        self.store.has_long_keys_by_pointer()
    }

    /// Tells the device that these keys are read together: a read of one brings the others to its memory. `name` has 1 to
    /// 16 bytes; the same name again replaces the keys. Returns whether the device has prefetch groups.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let parts: [&[u8]; 2] = [b"user:7:name", b"user:7:mail"];
    /// kv.put(parts[0], b"Ada")?;
    /// assert!(kv.prefetch_group(b"user:7", &parts)?); // keys that are not there yet may be named
    /// assert_eq!(kv.multi_get(&parts)?, [Some(b"Ada".to_vec()), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch_group(&mut self, name: &[u8], keys: &[&[u8]]) -> Result<bool, HostError> {
        self.store.prefetch_group(name, keys)
    }
}
