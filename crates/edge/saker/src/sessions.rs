//! The door for applications with several threads: `Saker::open(url)`, then a session for each thread.

mod session;
mod wait;

pub use session::Session;
pub use wait::{Durable, Synced};

use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, Options, Pump};
use saker_host::{CacheOptions, CacheStats, Connection, Driver, KvError, KvQueue, Patience, TransferOptions};
use saker_runtime::panics::ends_process;
use saker_runtime::pause::SharedDriver;
use saker_sim::Free;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How sessions of a device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SakerOptions {
    /// Sessions that can be open at the same time. Each has a queue pair; durable writes share one more.
    pub sessions: u16,
    /// Commands of a session in flight.
    pub depth: u16,
    /// Writes of a container.
    pub batch: u16,
    /// The longest that a write stays in an open container, about, when nobody syncs.
    pub linger: Duration,
    /// The read cache of all sessions; what the URL says about it counts more.
    pub cache: CacheOptions,
}

impl Default for SakerOptions {
    /// 8 sessions, 32 commands each, containers of 64 writes that leave after a millisecond or two, no cache.
    fn default() -> Self {
        Self {
            sessions: 8,
            depth: 32,
            batch: 64,
            linger: Duration::from_millis(1),
            cache: CacheOptions::NONE,
        }
    }
}

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

/// What sessions and the pump share.
#[derive(Debug)]
struct Inner {
    hub: Arc<Hub<KvQueue>>,
    driver: SharedDriver,
    value_bytes_max: u32,
    /// Lanes that no session has.
    free: Mutex<Vec<usize>>,
    stop: AtomicBool,
    /// The controller stays enabled as long as there are sessions.
    _connection: Mutex<Connection>,
}

impl Inner {
    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Saker {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    pub fn open(url: &str, mut options: SakerOptions) -> Result<Self, Error> {
        saker_runtime::huge_pages::install();
        let mut url = DeviceUrl::parse(url)?;
        options.cache = url.cache.unwrap_or(options.cache);
        let lanes = options.sessions.max(1) + 1;
        url.depth = options.depth.max(1).saturating_mul(lanes);
        let mut opened = Opened::open_for(&url, lanes)?;
        let nsid = opened.namespace(Wanted::Kv, url.nsid)?;
        let Opened { mut connection, mut driver, .. } = opened;
        let hub = Arc::new(make_hub(&mut connection, &mut driver, nsid, lanes, options)?);
        let value_bytes_max = connection.value_bytes_max(&mut driver, nsid)?;
        let inner = Arc::new(Inner {
            hub,
            driver: SharedDriver::new(driver),
            value_bytes_max,
            free: Mutex::new((0..usize::from(lanes) - 1).rev().collect()),
            stop: AtomicBool::new(false),
            _connection: Mutex::new(connection),
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
    pub fn session(&self) -> Result<Session, Error> {
        let lane = self.inner.free().pop().ok_or(Error::NoSession)?;
        Ok(Session::new(Arc::clone(&self.inner), lane))
    }

    /// Keys of which a write has not been answered by the device.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.inner.hub.pending().len()
    }

    /// Counters of the read cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.inner.hub.cache_stats()
    }

    /// Closes the device in order: everything buffered is stored and flushed, an image is marked clean. Sessions that are
    /// still open find no device any more.
    ///
    /// # Errors
    /// [`enum@Error`]; an image that could not be flushed stays marked as in use, and recovers at the next opening.
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

impl Inner {
    fn commit_lane(&self) -> usize {
        self.hub.lanes() - 1
    }
}

impl Drop for Saker {
    fn drop(&mut self) {
        self.stop_pump();
    }
}

fn make_hub(
    connection: &mut Connection,
    driver: &mut impl Driver,
    nsid: u32,
    lanes: u16,
    options: SakerOptions,
) -> Result<Hub<KvQueue>, Error> {
    let depth = options.depth.max(1);
    let mut queues = Vec::new();
    for _ in 0..lanes {
        let size = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut queue = connection.create_kv_queue(driver, nsid, size)?;
        connection.set_transfer(driver, &mut queue, TransferOptions::default())?;
        queues.push(queue);
    }
    let volatile = connection.controller().vwc & 1 != 0;
    let (batch, cache) = (options.batch.max(1), options.cache);
    let options = Options { batch, volatile, cache, ..Options::default() };
    Ok(Hub::new(queues, options))
}

/// The pump: what lingers is sent, and what completes for threads that are elsewhere is taken.
fn run_pump(inner: &Inner, linger: Duration) {
    let ends_process = ends_process("pump");
    let (mut seen, mut driver) = (Pump::default(), inner.driver.clone());
    while !inner.stop.load(Ordering::Acquire) {
        ends_process.at_work();
        inner.hub.pump(&mut seen, &mut Free);
        driver.drive();
        std::thread::park_timeout(linger.max(Duration::from_micros(50)));
    }
}
