// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the commands need of a device.

use crate::error::CliError;

/// Result of a device operation.
pub type Answer<T> = Result<T, CliError>;

/// In which order a device lists its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrder {
    /// By the bytes of the keys, so that a range of keys is one piece of the list.
    Bytes,
    /// An order of the engine's own, such as by hash.
    Engine,
}

/// Asked before each batch of a scan, whether the last one had pairs of the range or not: whether to go on.
pub type GoesOn<'a> = &'a mut dyn FnMut() -> bool;

/// Sees the pairs of a scan; whether to go on.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Answer<bool>;

/// Takes a key and its value; an error ends what calls it.
pub type SeePair<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Answer<()>;

/// Opens the key-value namespace of a URL: `Usage` for a URL that makes no sense, `Failed` for a device that cannot be opened.
pub type OpenStore<'a> = &'a dyn Fn(&str) -> Answer<Box<dyn Store>>;

/// Which pairs, by the bytes of their keys. What is empty does not limit it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range<'a> {
    /// The least key.
    pub from: &'a [u8],
    /// The first key behind the range.
    pub to: &'a [u8],
    /// What every key begins with.
    pub prefix: &'a [u8],
    /// Pairs at most; 0: all.
    pub limit: u64,
    /// The greatest key first.
    pub reverse: bool,
}

/// An operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads a pair.
    Get(Vec<u8>),
    /// Stores a pair.
    Put(Vec<u8>, Vec<u8>),
    /// Removes a pair, if it is there.
    Delete(Vec<u8>),
    /// There is no such pair.
    RequireAbsent(Vec<u8>),
    /// There is such a pair.
    RequirePresent(Vec<u8>),
    /// It has that value.
    RequireValue(Vec<u8>, Vec<u8>),
}

/// The ID of a transaction that is carried out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionId {
    /// 16 bytes that no other host has.
    pub host: [u8; 16],
    /// Its number: those of a host rise.
    pub number: u64,
}

/// What a transaction has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transacted {
    /// What was read, in order.
    pub reads: Vec<Read>,
    /// It was carried out before, under the same ID: nothing was done now.
    pub was_done: bool,
}

/// A key that was read, and its value if there is such a pair.
pub type Read = (Vec<u8>, Option<Vec<u8>>);

/// A key-value device, opened. The program has one; tests have others, because no real device shows on demand an order of
/// its own, a key that vanishes, or what was flushed and closed.
///
/// Keys have 1 to 255 bytes and values at most 2 MiB; the commands check that before they call. Errors are one
/// line of what happened and what to do.
pub trait Store {
    /// Stores `value` under `key`, in place of an earlier one, and waits for the device's completion.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Answer<()>;

    /// The value of `key`; nothing when there is no such key.
    fn get(&mut self, key: &[u8]) -> Answer<Option<Vec<u8>>>;

    /// The values of several keys, in their order; nothing where there is no such key. All values are in memory at once.
    fn get_many(&mut self, keys: &[&[u8]]) -> Answer<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Removes `key`; whether it was there.
    fn delete(&mut self, key: &[u8]) -> Answer<bool>;

    /// Whether there is `key`.
    fn exists(&mut self, key: &[u8]) -> Answer<bool>;

    /// Shows the stored keys to `visit` in the device's list order until it answers `false`. Begins at `from`, or
    /// at the place in the order where `from` would be; without it, at the beginning.
    fn list(&mut self, from: Option<&[u8]>, visit: &mut dyn FnMut(&[u8]) -> bool) -> Answer<()>;

    /// The order of [`Store::list`].
    fn list_order(&self) -> ListOrder {
        ListOrder::Engine
    }

    /// Shows each pair of a range once until `visit` or `goes_on` answers `false`, as the device reads ranges. `false`: it has no
    /// way of its own, and nothing was shown.
    fn scan(&mut self, range: &Range<'_>, goes_on: GoesOn<'_>, visit: Visit<'_>) -> Answer<bool> {
        let _ = (range, goes_on, visit);
        Ok(false)
    }

    /// Carries all of them out or nothing, and with an ID once.
    fn transact(&mut self, steps: &[Step], id: Option<TransactionId>) -> Answer<Transacted> {
        let _ = (steps, id);
        Err(CliError::failed("the device has no transactions", "use one that has"))
    }

    /// What became of the transaction of an ID: `done`, `not done` or `open`.
    fn transaction_outcome(&mut self, id: TransactionId) -> Answer<&'static str> {
        let _ = id;
        Err(CliError::failed("the device has no transactions", "use one that has"))
    }

    /// Returns when everything completed so far survives a power cut.
    fn flush(&mut self) -> Answer<()>;

    /// Like [`Store::put`], but may return before the device has completed it. A failure may come from a later
    /// call. Two writes of one key take effect in the order of their calls.
    fn put_async(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        self.put(key, value)
    }

    /// Waits for every [`Store::put_async`]; the first failure among them.
    fn drain(&mut self) -> Answer<()> {
        Ok(())
    }

    /// Closes the device in order. Dropping a store is like losing the process.
    fn close(self: Box<Self>) -> Answer<()>;
}
