//! Keys in the device's order, and pairs of a range.

use super::Kv;
use saker_host::{
    DeviceIterator, HostError, KeyRange, PairBatch, ScanOptions, ScanOrder, StoreKeys, Xxh3Digest,
};
use saker_nvme::Key;
use saker_runtime::AnyDriver;

impl Kv {
    /// The keys from `from` on, in the device's order.
    pub fn list(&mut self, from: Option<&[u8]>) -> Keys<'_> {
        Keys(self.store.list(from))
    }

    /// Shows each pair of a range of keys once, while `visit` says so. Engines that keep keys in order read it in the device,
    /// as of one moment and in order; on others all keys are listed and what is wanted is read.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn scan(
        &mut self,
        options: &ScanOptions<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.store.scan(options, visit)
    }

    /// The same while `goes_on`, which is asked before each batch, whether it has pairs of the range or not, says so as well.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn scan_while(
        &mut self,
        options: &ScanOptions<'_>,
        goes_on: &mut dyn FnMut() -> bool,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.store.scan_while(options, goes_on, visit)
    }

    /// Opens an iterator of the device over keys of up to 16 bytes, as of now: [`Kv::next_pairs`] goes forwards, backwards, or
    /// to a key. `None`: this engine has none.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn open_iterator(&mut self, range: &KeyRange<'_>) -> Result<Option<DeviceIterator>, HostError> {
        self.store.native().open_iterator(range, false, None)
    }

    /// The next pairs of an iterator, at most `pairs_max` (0: as many as a batch holds), in rising order or, `backwards`, in
    /// falling order; from `seek` on, or from where it stands.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn next_pairs(
        &mut self,
        iterator: &mut DeviceIterator,
        pairs_max: u32,
        backwards: bool,
        seek: Option<&[u8]>,
    ) -> Result<PairBatch, HostError> {
        let seek = seek.map(Key::new).transpose()?;
        self.store.native().next_pairs(iterator, pairs_max, backwards, seek)
    }

    /// Ends an iterator: until then the device keeps what it sees.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn close_iterator(&mut self, iterator: DeviceIterator) -> Result<(), HostError> {
        self.store.native().close_iterator(iterator)
    }
}

/// Keys of a device, in its order.
#[derive(Debug)]
pub struct Keys<'k>(StoreKeys<'k, AnyDriver, Xxh3Digest>);

impl Keys<'_> {
    /// The device key that was looked at last: after an error, that of the envelope which could not be read, whose keys are passed
    /// over when the list goes on.
    pub fn place(&self) -> Option<Key> {
        self.0.place()
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<u8>, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
