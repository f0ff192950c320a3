//! The door for applications: `Kv::open(url)`.

mod cache;

use cache::KvCache;

use crate::device::tcp;
use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use saker_device::Stats;
use saker_host::{
    CacheStats, ClientOptions, Condition, Connection, DeviceIterator, GroupBuilder, GroupStats, HostError,
    KeyRange, KvClient, KvError, KvStoreClient, PairBatch, Patience, ScanOptions, ScanOrder, StoreKeys,
    WriteBatch, Xxh3Digest, group::Form,
};
use saker_nvme::Key;
use saker_runtime::AnyDriver;

/// A key-value SSD, opened. One thread at a time uses it.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("disk.img");
/// saker::create_image(&path, 16 << 20, "tiny", 1)?;
/// let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
/// kv.put(b"key", b"value")?;
/// assert_eq!(kv.get(b"key")?, Some(b"value".to_vec()));
/// assert!(kv.delete(b"key")? && !kv.exists(b"key")?);
/// kv.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Kv {
    store: KvStoreClient<AnyDriver>,
    cache: KvCache,
    connection: Connection,
    profile: String,
    nsid: u32,
}

impl Kv {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    pub fn open(url: &str) -> Result<Self, Error> {
        saker_runtime::huge_pages::install();
        Self::open_url(&DeviceUrl::parse(url)?)
    }

    pub(crate) fn open_url(url: &DeviceUrl) -> Result<Self, Error> {
        let mut opened = Opened::open(url)?;
        let nsid = opened.namespace(Wanted::Kv, url.nsid)?;
        let Opened { mut connection, mut driver, profile } = opened;
        let patience = Patience::default();
        let options = ClientOptions { depth: url.depth, patience, ..ClientOptions::default() };
        let methods = connection.transfer_methods(&mut driver, u32::from(url.depth) + 1)?;
        let mut client = KvClient::open(&mut connection, driver, nsid, options)?;
        client.queue_mut().set_transfer(url.transfer.clone(), methods);
        client.set_group_salt(tcp::salt());
        let cache = KvCache::new(url.cache.unwrap_or_default());
        Ok(Self { store: KvStoreClient::new(client), cache, connection, profile, nsid })
    }

    /// Stores a pair. Keys have 1 to 255 bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        let outcome = self.store.put(key, value);
        self.cache.wrote(key, Some(value), outcome.is_ok());
        outcome
    }

    /// Stores a pair if its key is not there, in one command; whether it was stored.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool, HostError> {
        match self.store.put_if(key, value, Condition::MustNotExist) {
            Ok(()) => Ok(true),
            Err(HostError::Kv(KvError::Exists)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Stores a pair without waiting; [`Kv::drain`] waits for all of them and tells the first failure.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_queued(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        // How it ends is not known before it is drained; reads settle that first.
        self.cache.wrote(key, None, false);
        self.store.put_queued(key, value)
    }

    /// Waits for every queued put.
    ///
    /// # Errors
    /// [`HostError`]: the first failure, with its key.
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.store.drain()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(value) = self.cache.get(key, <[u8]>::to_vec) {
            return Ok(Some(value));
        }
        let value = self.store.get(key)?;
        self.cache.read(key, value.as_deref());
        Ok(value)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let copy = |buffer: &mut [u8], value: &[u8]| {
            let bytes = buffer.len().min(value.len());
            buffer[..bytes].copy_from_slice(&value[..bytes]);
            value.len()
        };
        if let Some(length) = self.cache.get(key, |value| copy(buffer, value)) {
            return Ok(Some(length));
        }
        let length = self.store.get_into(key, buffer)?;
        self.cache.read(key, length.and_then(|length| buffer.get(..length)));
        Ok(length)
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.cache.wrote(key, None, false);
        self.store.delete(key)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        if self.cache.contains(key) { Ok(true) } else { self.store.exists(key) }
    }

    /// Writes a batch, in groups where the device has them: see [`WriteBatch`]. Deletes of keys that are not there succeed.
    ///
    /// # Errors
    /// [`HostError`]: the first write that failed, with its key; the others were carried out.
    pub fn write(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        let outcome = self.store.write(batch);
        batch.iter().for_each(|(key, write)| self.cache.wrote(key, write, outcome.is_ok()));
        outcome
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        if !self.cache.is_on() {
            return self.store.multi_get(keys);
        }
        let mut found: Vec<_> = keys.iter().map(|key| self.cache.get(key, <[u8]>::to_vec)).collect();
        let missing: Vec<usize> = (0..keys.len()).filter(|n| found[*n].is_none()).collect();
        let asked: Vec<&[u8]> = missing.iter().map(|n| keys[*n]).collect();
        for (n, value) in missing.into_iter().zip(self.store.multi_get(&asked)?) {
            self.cache.read(keys[n], value.as_deref());
            found[n] = value;
        }
        Ok(found)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.store.multi_exist(keys)
    }

    /// Tells the device that these keys are read together: a read of one brings the others to its memory. `name` has 1 to
    /// 16 bytes; the same name again replaces the keys. Returns whether the device has prefetch groups.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn prefetch_group(&mut self, name: &[u8], keys: &[&[u8]]) -> Result<bool, HostError> {
        self.store.prefetch_group(name, keys)
    }

    /// Whether keys of more than 16 bytes go to the device by pointer, one command each.
    pub fn has_long_keys_by_pointer(&self) -> bool {
        self.store.has_long_keys_by_pointer()
    }

    /// Begins a group: operations, then `commit`. Keys of more than 16 bytes need a device that takes them
    /// ([`Kv::has_long_keys_by_pointer`]).
    pub fn begin(&mut self, form: Form) -> GroupBuilder<'_, AnyDriver> {
        // Its writes are the builder's.
        self.cache.clear();
        self.store.native().begin(form)
    }

    /// Groups so far, and what was done one by one instead.
    pub fn group_stats(&mut self) -> GroupStats {
        self.store.native().group_stats()
    }

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

    /// Erases the namespace: everything is gone or, if power fails before that is certain, everything is there. When this
    /// returns `Ok` it is gone for good, without a flush. Puts that are queued end first. The read cache of this host begins
    /// anew; other hosts' caches are told nothing.
    ///
    /// # Errors
    /// [`HostError`]: whether it took place is not known if the answer is missing.
    pub fn format(&mut self) -> Result<(), HostError> {
        let drained = self.store.drain();
        let client = self.store.native();
        let nsid = client.queue_mut().nsid();
        let formatted = self.connection.format(client.driver_mut(), nsid);
        self.cache.clear();
        drained.and(formatted)
    }

    /// Returns when everything completed so far survives a power cut.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.store.flush()
    }

    /// Counters of the read cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// The client below, for counters. It may write, so that the read cache begins anew.
    pub fn client(&mut self) -> &mut KvClient<AnyDriver> {
        self.cache.clear();
        self.store.native()
    }

    /// Everything countable; nothing while the device runs on a thread of its own.
    pub fn stats(&mut self) -> Option<Stats> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => Some(device.stats()),
            AnyDriver::Thread(_) | AnyDriver::Sharded(_) | AnyDriver::Remote(_) | AnyDriver::Linux(_) => None,
        }
    }

    /// The page that keeps the value of a key from being read, or the first one that it is in; in words, as `saker check` names
    /// it. `None` where the device is not on this thread, or the key not there.
    pub fn page_of(&mut self, key: &[u8]) -> Option<String> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => device.page_of(self.nsid, key),
            AnyDriver::Thread(_) | AnyDriver::Sharded(_) | AnyDriver::Remote(_) | AnyDriver::Linux(_) => None,
        }
    }

    /// How often the connection to a target was lost and made again; of a device of the kernel's, how many commands were
    /// repeated because of that; 0 for devices of this process.
    pub fn reconnects(&mut self) -> u64 {
        match self.store.native().driver_mut() {
            AnyDriver::Remote(remote) => remote.reconnects(),
            AnyDriver::Linux(namespace) => namespace.repeated(),
            AnyDriver::Inline(_) | AnyDriver::Thread(_) | AnyDriver::Sharded(_) => 0,
        }
    }

    /// Name of the device's profile; of a target, `remote`.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Serial number, model and firmware revision, as Identify Controller tells them.
    pub fn identity(&self) -> (String, String, String) {
        let c = self.connection.controller();
        let text = |b: &[u8]| String::from_utf8_lossy(b).trim_end().to_owned();
        (text(&c.sn), text(&c.mn), text(&c.fr))
    }

    /// Closes the device in order: everything is flushed, an image is marked clean.
    ///
    /// # Errors
    /// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
    pub fn close(mut self) -> Result<(), Error> {
        self.store.drain()?;
        let powered = self.store.flush();
        let (_, driver) = self.store.into_client().into_parts();
        device::close(driver)?;
        Ok(powered?)
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
