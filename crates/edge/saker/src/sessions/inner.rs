// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What sessions and the pump of a device share, and what the pump does.

use super::SakerOptions;
use crate::error::Error;
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, Options, Pump};
use saker_host::{Connection, Driver, KvQueue, TransferOptions};
use saker_runtime::panics::ends_process;
use saker_runtime::pause::SharedDriver;
use saker_sim::Free;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What sessions and the pump share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) hub: Arc<Hub<KvQueue>>,
    pub(super) driver: SharedDriver,
    pub(super) value_bytes_max: u32,
    /// Lanes that no session has.
    pub(super) free: Mutex<Vec<usize>>,
    pub(super) stop: AtomicBool,
    /// The controller stays enabled as long as there are sessions.
    pub(super) connection: Mutex<Connection>,
    pub(super) nsid: u32,
}

impl Inner {
    pub(super) fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn commit_lane(&self) -> usize {
        self.hub.lanes() - 1
    }
}

pub(super) fn make_hub(
    connection: &mut Connection,
    driver: &mut impl Driver,
    nsid: u32,
    (lanes, options, transfer): (u16, SakerOptions, TransferOptions),
) -> Result<Hub<KvQueue>, Error> {
    let depth = options.depth.max(1);
    let mut queues = Vec::new();
    for _ in 0..lanes {
        let size = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut queue = connection.create_kv_queue(driver, nsid, size)?;
        connection.set_transfer(driver, &mut queue, transfer.clone())?;
        queues.push(queue);
    }
    let volatile = connection.controller().vwc & 1 != 0;
    let (batch, cache) = (options.batch.max(1), options.cache);
    let options = Options { batch, volatile, cache, ..Options::default() };
    Ok(Hub::new(queues, options))
}

/// The pump: what lingers is sent, and what completes for threads that are elsewhere is taken.
pub(super) fn run_pump(inner: &Inner, linger: Duration) {
    let ends_process = ends_process("pump");
    let (mut seen, mut driver) = (Pump::default(), inner.driver.clone());
    while !inner.stop.load(Ordering::Acquire) {
        ends_process.at_work();
        inner.hub.pump(&mut seen, &mut Free);
        driver.drive();
        std::thread::park_timeout(linger.max(Duration::from_micros(50)));
    }
}
