// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door for applications with several threads: `Saker::open(url)`, then a session for each thread.

mod inner;
mod options;
mod session;
mod settings;
mod wait;

pub use options::SakerOptions;
pub use session::Session;
pub use wait::{Durable, Synced};

use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use inner::{Inner, make_hub, run_pump};
use saker_host::{CacheStats, Driver, KvError, Patience, TransferOptions};
use saker_runtime::pause::SharedDriver;
use saker_sim::Free;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A key-value SSD behind SAKER's host layer (SYSTOR'25): writes of many threads gathered in containers, visible to all
/// of them at once, durable after a sync.
///
/// ```
/// use saker::{Saker, SakerOptions};
/// let saker = Saker::open("mem:?size=256MiB&profile=tiny", SakerOptions::default())?;
/// std::thread::scope(|scope| {
///     for n in 0..4u8 {
///         let mut session = saker.session().expect("eight are possible");
///         scope.spawn(move || {
///             session.put(&[n], b"value")?;
///             assert_eq!(session.get(&[n])?, Some(b"value".to_vec()));
///             Ok::<_, saker_host::session::SyncError>(session.sync()?)
///         });
///     }
/// });
/// saker.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Saker {
    inner: Arc<Inner>,
    pump: Option<JoinHandle<()>>,
}

impl Saker {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// use saker::{Saker, SakerOptions};
    /// let saker = Saker::open("mem:?size=4MiB&profile=tiny&threads=1", SakerOptions::default())?;
    /// saker.session()?.put(b"key", b"value")?;
    /// saker.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str, mut options: SakerOptions) -> Result<Self, Error> {
        saker_runtime::huge_pages::install();
        let mut url = DeviceUrl::parse(url)?;
        options.cache = url.cache.unwrap_or(options.cache);
        if url.gives("depth") {
            options.depth = url.depth;
        }
        let transfer = if url.gives("transfer") { url.transfer.clone() } else { TransferOptions::default() };
        let lanes = options.sessions.max(1) + 1;
        url.depth = options.depth.max(1).saturating_mul(lanes);
        let mut opened = Opened::open_for(&url, lanes)?;
        let nsid = opened.namespace(Wanted::Kv, url.nsid)?;
        let Opened { mut connection, mut driver, .. } = opened;
        let hub = Arc::new(make_hub(&mut connection, &mut driver, nsid, (lanes, options, transfer))?);
        let value_bytes_max = connection.value_bytes_max(&mut driver, nsid)?;
        let inner = Arc::new(Inner {
            hub,
            driver: SharedDriver::new(driver),
            value_bytes_max,
            free: Mutex::new((0..usize::from(lanes) - 1).rev().collect()),
            stop: AtomicBool::new(false),
            nsid,
            connection: Mutex::new(connection),
        });
        let pump = Arc::clone(&inner);
        let thread = std::thread::Builder::new().name("saker-pump".into());
        let pump = thread.spawn(move || run_pump(&pump, options.linger)).expect("the system starts a thread");
        Ok(Self { inner, pump: Some(pump) })
    }

    /// A session, for one thread. Dropping it sends what it has buffered.
    ///
    /// # Errors
    /// [`Error::NoSession`] if as many as were asked for are open.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// let mut first = saker.session()?;
    /// first.put(b"key", b"value")?;
    /// let mut second = saker.session()?; // for another thread
    /// assert_eq!(second.get(b"key")?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn session(&self) -> Result<Session, Error> {
        let lane = self.inner.free().pop().ok_or(Error::NoSession)?;
        Ok(Session::new(Arc::clone(&self.inner), lane))
    }

    /// Keys of which a write has not been answered by the device.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?; // in a container
    /// session.sync()?;
    /// assert_eq!(saker.pending(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pending(&self) -> usize {
        self.inner.hub.pending().len()
    }

    /// Counters of the read cache.
    ///
    /// ```
    /// let url = "mem:?size=4MiB&profile=tiny&cache=1MiB";
    /// let saker = saker::Saker::open(url, saker::SakerOptions::default())?;
    /// let mut session = saker.session()?;
    /// session.put(b"key", b"value")?;
    /// session.sync()?;
    /// for _ in 0..10 {
    ///     session.get(b"key")?;
    /// }
    /// assert!(saker.cache_stats().hits >= 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.inner.hub.cache_stats()
    }

    /// Closes the device in order: everything buffered is stored and flushed, an image is marked clean. Sessions that are
    /// still open find no device any more.
    ///
    /// # Errors
    /// [`enum@Error`]; an image that could not be flushed stays marked as in use, and recovers at the next opening.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?;
    /// saker.close()?; // stores what is buffered, too
    /// assert!(session.get(b"key").is_err(), "there is no device any more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(mut self) -> Result<(), Error> {
        self.stop_pump();
        let stored = self.store_all();
        self.inner.hub.shut(&KvError::Unreachable.into());
        let Some(device) = self.inner.driver.take() else { return Ok(()) };
        device::close(device)?;
        stored
    }

    /// Sends what is in any container and waits until nothing is on its way, and durable.
    fn store_all(&self) -> Result<(), Error> {
        let hub = &self.inner.hub;
        let mut driver = self.inner.driver.clone();
        let lanes = 0..hub.lanes();
        let syncs: Vec<_> = lanes.clone().map(|n| hub.begin_sync(n)).collect();
        let patience = Patience::default().polls_max;
        for _ in 0..patience {
            if lanes.clone().all(|n| hub.poll_sync(n, &syncs[n], &mut Free)) {
                break;
            }
            driver.drive();
        }
        let commit = self.inner.commit_lane();
        let session = saker_host::session::Session::new(
            Arc::clone(hub),
            (commit, commit),
            driver,
            self.inner.value_bytes_max,
            Patience::default(),
        );
        wait::flush(session)?;
        let failures: Vec<_> = syncs.iter().flat_map(|sync| sync.take_failures()).collect();
        match failures.into_iter().next() {
            None => Ok(()),
            Some((key, error)) => Err(saker_host::HostError::Queued { key, error: Box::new(error) }.into()),
        }
    }

    fn stop_pump(&mut self) {
        self.inner.stop.store(true, Ordering::Release);
        if let Some(pump) = self.pump.take() {
            pump.thread().unpark();
            // A panic there ends the process.
            let _ = pump.join();
        }
    }
}

impl Drop for Saker {
    fn drop(&mut self) {
        self.stop_pump();
    }
}
