// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door for applications: `Kv::open(url)`.

mod cache;
mod facts;
mod groups;
mod leave;
mod many;
mod pairs;
mod queued;
mod range;
mod ranges;
mod reads;
mod settings;
mod through;
mod transactions;

pub use range::Pairs;
pub use ranges::Keys;
pub use reads::ReadTransaction;
pub use through::CommitThroughError;
pub use transactions::Transaction;

use cache::PairCache;
use through::Through;

use crate::create::ImagePlan;
use crate::device::tcp;
use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use saker_host::{ClientOptions, Connection, HostError, KvClient, KvStoreClient, Patience};
use saker_runtime::AnyDriver;
use std::path::Path;

/// A key-value SSD, opened. One thread at a time uses it.
///
/// [`Kv::close`] closes it in order. One that is dropped waits for its queued puts as long as the device goes on with them, a second
/// at a time, and prints one line on standard error if some failed or were not answered. It does not flush, and its image is as
/// one of a killed process: the next opening recovers, and nothing that was answered is lost. While a panic unwinds it waits for
/// nothing.
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
    cache: PairCache,
    connection: Connection,
    profile: String,
    nsid: u32,
    /// The namespace is known to have transactions.
    transactions: bool,
    through: Through,
}

impl Kv {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// kv.put(b"key", b"value")?;
    /// let error = saker::Kv::open("mem:?sise=16MiB").unwrap_err();
    /// assert!(error.to_string().ends_with("write size"), "{error}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, Error> {
        saker_runtime::huge_pages::install();
        Self::open_url(&DeviceUrl::parse(url)?)
    }

    /// Opens an image, which is made if it is not there, and grows if it is smaller than the plan: see [`ImagePlan::ensure`].
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// use saker::{ImagePlan, Kv};
    /// let mut kv = Kv::open_or_create(&path, &ImagePlan::kv(4 << 20, "tiny", 1))?;
    /// kv.put(b"key", b"value")?;
    /// kv.close()?;
    /// let mut larger = Kv::open_or_create(&path, &ImagePlan::kv(8 << 20, "tiny", 1))?;
    /// assert_eq!(larger.get(b"key")?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(path: &Path, plan: &ImagePlan) -> Result<Self, Error> {
        saker_runtime::huge_pages::install();
        plan.ensure(path)?;
        Self::open_url(&DeviceUrl::file(path))
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
        let cache = PairCache::new(url.cache.unwrap_or_default());
        Ok(Self {
            store: KvStoreClient::new(client),
            cache,
            connection,
            profile,
            nsid,
            transactions: false,
            through: Through::default(),
        })
    }

    /// The namespace.
    pub(crate) fn nsid(&self) -> u32 {
        self.nsid
    }

    /// Erases the namespace: everything is gone or, if power fails before that is certain, everything is there. When this
    /// returns `Ok` it is gone for good, without a flush. Puts that are queued end first. The read cache of this host begins
    /// anew; other hosts' caches are told nothing.
    ///
    /// # Errors
    /// [`HostError`]: whether it took place is not known if the answer is missing.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"key", b"value")?;
    /// kv.format()?;
    /// assert_eq!(kv.list(None).count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
    /// kv.put(b"order:1", b"paid")?; // survives the death of this process
    /// kv.flush()?; // and now a power cut as well
    /// # kv.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.flush_counted()
    }

    /// The client below, for counters. It may write, so that the read cache begins anew. It stores under any key that the device takes, also
    /// under those of the device's own pairs.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let long = vec![7; 5000]; // more than the buffer that is tried first
    /// let key = saker::Key::new(b"key")?;
    /// kv.client().put(&key, &long)?;
    /// assert_eq!(kv.get(b"key")?, Some(long));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client(&mut self) -> &mut KvClient<AnyDriver> {
        self.cache.clear();
        self.store.native()
    }

    /// Closes the device in order: everything is flushed, an image is marked clean.
    ///
    /// # Errors
    /// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let url = format!("file:{}", path.display());
    /// let mut kv = saker::Kv::open(&url)?;
    /// kv.put_queued(b"key", b"value")?;
    /// kv.close()?; // stores what is queued, and returns what went wrong: dropping `kv` only prints it
    /// assert!(saker::Kv::open(&url)?.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(mut self) -> Result<(), Error> {
        self.store.drain()?;
        let powered = self.store.flush();
        let driver = std::mem::replace(self.store.native().driver_mut(), AnyDriver::Gone);
        device::close(driver)?;
        Ok(powered?)
    }
}
