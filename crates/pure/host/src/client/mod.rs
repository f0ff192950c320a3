// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking and pipelined calls for keys of 1 to 16 bytes, the device's own.
//!
//! NVMe orders no commands in flight, so the client does: it never has two writes of one key in flight, and a read of a
//! key waits for the queued write of that key. What concurrent clients do is the device's business: every Store and
//! Delete is atomic.

mod batch;
mod bulk;
mod get_calls;
mod groups;
mod in_flight;
mod indirect;
mod iterate;
mod key_range;
mod keys;
mod large;
mod many;
mod ops;
mod pair_batch;
mod queued;
mod queued_gets;
mod singles;
mod split;
mod transactions;
mod values;
mod versioned;
mod walk;

pub use batch::WriteBatch;
pub use bulk::BulkBuffer;
pub(crate) use groups::existed;
pub use groups::{Compound, Entry, GroupBuilder, GroupStats, OpOutcome, Shown};
pub use iterate::DeviceIterator;
pub(crate) use iterate::{BATCH_BYTES, Brought, Limits, Pieces, brought, check_iterator};
pub use key_range::KeyRange;
pub(crate) use keys::KeyCursor;
pub use keys::Keys;
pub use pair_batch::PairBatch;
pub use queued_gets::QueuedGet;
pub use split::TransactionEnd;
pub(crate) use transactions::{NO_ORDER, refusal};
pub use transactions::{TransactionAnswer, TransactionOutcome, TransactionRefused};
pub use values::Values;
pub(crate) use walk::{Course, Walk};

use saker_link::WINDOW_BYTES_MAX;
use saker_nvme::Key;
use saker_nvme::Status;
use saker_nvme::admin::feature::{KvConfig, fid};
use saker_nvme::kv::StoreOptions;

use crate::connect::{Connection, KvQueueOptions};
use crate::driver::{Driver, Patience};
use crate::error::{HostError, ProtocolError};
use crate::kv_queue::{Done, KvQueue, QueueStats, SubmitError, Ticket};
use crate::transfer::TransferOptions;
use groups::Groups;
use iterate::Opened;
use queued::Queued;

/// How to open a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Commands in flight at most.
    pub depth: u16,
    /// Queued writes that one doorbell announces.
    pub ring_every: u16,
    /// Bytes of the buffer of a List command. Raised to 44, what two of the longest keys take: paging needs two.
    pub list_bytes: u32,
    /// How long a call waits for the device.
    pub patience: Patience,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { depth: 64, ring_every: 16, list_bytes: 4096, patience: Patience::default() }
    }
}

/// What must be true for a put to take place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    Always,
    /// The key exists; else [`NotFound`](crate::KvError::NotFound).
    MustExist,
    /// The key does not exist; else [`Exists`](crate::KvError::Exists).
    MustNotExist,
}

impl Condition {
    #[inline]
    const fn options(self) -> StoreOptions {
        match self {
            Self::Always => StoreOptions::NONE,
            Self::MustExist => StoreOptions::MUST_EXIST,
            Self::MustNotExist => StoreOptions::MUST_NOT_EXIST,
        }
    }
}

/// The part of the commands in flight that a full queue waits for.
const PARTS: u32 = 8;

/// How the device treats Delete of a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteMissing {
    /// It says so (feature 20h, EDNEK = 1): one command tells whether the key existed.
    Reported,
    /// It succeeds: the client asks with Exist before, and another client can come between the two.
    Silent,
}

/// What a completion says beside data: its status, DW0 and DW1.
struct Ended {
    status: Status,
    result: u32,
    result_high: u32,
}

impl Ended {
    fn of(done: &Done<'_>) -> Self {
        Self { status: done.status, result: done.result, result_high: done.result_high }
    }
}

/// Calls on one namespace over one queue pair. `T` lets the device make progress while a call waits.
#[derive(Debug)]
pub struct KvClient<T> {
    queue: KvQueue,
    driver: T,
    queued: Queued,
    value_bytes_max: u32,
    list_bytes: u32,
    delete_missing: DeleteMissing,
    patience: Patience,
    groups: Groups,
    opened: Opened,
}

impl<T: Driver> KvClient<T> {
    /// Opens namespace `nsid` over a queue pair of its own. Sets feature 20h (EDNEK) for the namespace where the device
    /// allows it, so that deletes tell whether the key existed.
    ///
    /// # Errors
    /// [`HostError`]: no such namespace, no queue left, no memory.
    pub fn open(
        connection: &mut Connection,
        mut driver: T,
        nsid: u32,
        options: ClientOptions,
    ) -> Result<Self, HostError> {
        let value_bytes_max = connection.value_bytes_max(&mut driver, nsid)?;
        let config = KvConfig::default().with_delete_missing_is_error(true);
        let delete_missing = match connection.set_feature(&mut driver, nsid, fid::KV_CONFIG, config.0) {
            Ok(_) => DeleteMissing::Reported,
            Err(HostError::Status(_) | HostError::Kv(_)) => DeleteMissing::Silent,
            Err(broken) => return Err(broken),
        };
        let depth = options.depth.max(1);
        let queue_options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut queue = connection.create_kv_queue(&mut driver, nsid, queue_options)?;
        connection.set_transfer(&mut driver, &mut queue, TransferOptions::default())?;
        Ok(Self::over(queue, driver, value_bytes_max, delete_missing, options))
    }

    /// A client over a queue that exists. `options.depth` is the queue's.
    pub fn over(
        queue: KvQueue,
        driver: T,
        value_bytes_max: u32,
        delete_missing: DeleteMissing,
        options: ClientOptions,
    ) -> Self {
        let list_bytes = options.list_bytes.clamp(keys::LIST_BYTES_MIN, WINDOW_BYTES_MAX as u32);
        let queued = Queued::new(queue.slots(), options.ring_every);
        let (patience, groups) = (options.patience, Groups::default());
        let opened = Opened::default();
        Self { queue, driver, queued, value_bytes_max, list_bytes, delete_missing, patience, groups, opened }
    }

    /// Sends what is announced and waits for `ticket`; `read` sees its completion, queued writes are booked meanwhile.
    #[inline]
    fn wait<R>(&mut self, ticket: Ticket, read: impl FnOnce(Done<'_>) -> R) -> Result<R, HostError> {
        self.queue.ring();
        self.queued.rung();
        let (mut read, mut wait) = (Some(read), self.patience.wait());
        loop {
            wait.drive(&mut self.driver)?;
            let queued = &mut self.queued;
            while let Some(polled) = self.queue.poll(|done| {
                if done.ticket == ticket {
                    return read.take().map(|read| read(done));
                }
                queued.completed(&done);
                None
            }) {
                if let Some(answer) = polled? {
                    return Ok(answer);
                }
            }
            self.go_on();
        }
    }

    /// Waits for a command whose data nobody looks at. What is not asked for at every turn shares this code, and
    /// [`wait_data`](Self::wait_data)'s, so that the closures of a dozen calls are not a dozen copies of the loop.
    fn wait_ended(&mut self, ticket: Ticket) -> Result<Ended, HostError> {
        self.wait(ticket, |done| Ended::of(&done))
    }

    /// Waits for a command and takes its data.
    fn wait_data(&mut self, ticket: Ticket) -> Result<(Ended, Vec<u8>), HostError> {
        self.wait(ticket, |done| (Ended::of(&done), done.into_vec()))
    }

    /// Sends values as `options` say from now on, as far as the device can.
    ///
    /// # Errors
    /// [`HostError`]: queued writes do not complete, or the device's log pages cannot be read.
    pub fn set_transfer(
        &mut self,
        connection: &mut Connection,
        options: TransferOptions,
    ) -> Result<(), HostError> {
        self.settle_all()?;
        connection.set_transfer(&mut self.driver, &mut self.queue, options)
    }

    /// Waits until a command can be submitted.
    #[inline]
    fn make_room(&mut self) -> Result<(), HostError> {
        let ready = self.queue.free_slots() > 0 && !self.queue.is_amid_value();
        if ready { Ok(()) } else { self.wait_for_room() }
    }

    /// A cache line that both sides look at travels at every look: until a part of what is out has come back, the lines of
    /// completions are the device's.
    #[cold]
    fn wait_for_room(&mut self) -> Result<(), HostError> {
        self.queue.ring();
        self.queued.rung();
        let mut wait = self.patience.wait();
        while self.queue.free_slots() == 0 || self.queue.is_amid_value() {
            wait.drive(&mut self.driver)?;
            let out = self.queue.outstanding();
            if out == 0 || self.queue.has_completed((out / PARTS).max(1)) {
                self.reap()?;
            }
        }
        Ok(())
    }

    /// Submits a store, waiting while slots, queue entries or the BAR are full.
    #[inline]
    fn submit_store(&mut self, key: &Key, value: &[u8], options: StoreOptions) -> Result<Ticket, HostError> {
        loop {
            self.make_room()?;
            match self.queue.store(key, value, options) {
                Err(SubmitError::Full) if self.queue.in_flight() > 0 => self.wait_for_completion()?,
                submitted => return submitted.map_err(HostError::Submit),
            }
        }
    }

    #[cold]
    fn wait_for_completion(&mut self) -> Result<(), HostError> {
        let in_flight = self.queue.in_flight();
        self.wait_until(|client| client.queue.in_flight() < in_flight)
    }

    /// The next commands of a value that does not go out at once.
    #[inline]
    fn go_on(&mut self) {
        if self.queue.is_amid_value() && self.queue.continue_value() > 0 {
            self.queue.ring();
        }
    }

    /// Announces everything and polls until `reached`.
    fn wait_until(&mut self, reached: impl Fn(&Self) -> bool) -> Result<(), HostError> {
        self.queue.ring();
        self.queued.rung();
        let mut wait = self.patience.wait();
        while !reached(self) {
            wait.drive(&mut self.driver)?;
            self.reap()?;
        }
        Ok(())
    }

    /// Takes every completion that is there; all belong to what was queued, or to calls that have given up waiting.
    fn reap(&mut self) -> Result<(), HostError> {
        let queued = &mut self.queued;
        while let Some(polled) = self.queue.poll(|done| queued.completed(&done)) {
            polled?;
        }
        self.go_on();
        Ok(())
    }

    /// What went over the link so far.
    pub fn stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// The longest value that the namespace, the controller and a DMA window take, in bytes.
    pub fn value_bytes_max(&self) -> u32 {
        self.value_bytes_max
    }

    /// Whether a delete is one command or two.
    pub fn delete_missing(&self) -> DeleteMissing {
        self.delete_missing
    }

    /// The queue, for commands that this client has no call for. Waiting calls ignore their completions.
    pub fn queue_mut(&mut self) -> &mut KvQueue {
        &mut self.queue
    }

    /// What lets the device make progress, for admin calls in between.
    pub fn driver_mut(&mut self) -> &mut T {
        &mut self.driver
    }

    /// Queue and turn; queued writes that have not been drained are no longer looked after.
    pub fn into_parts(self) -> (KvQueue, T) {
        (self.queue, self.driver)
    }
}

impl Connection {
    /// The longest value that namespace `nsid`, the controller and a DMA window take, in bytes.
    ///
    /// # Errors
    /// [`HostError`]: no such namespace, or not one of key-value pairs.
    pub fn value_bytes_max(&mut self, driver: &mut impl Driver, nsid: u32) -> Result<u32, HostError> {
        let namespace = self.identify_kv_namespace(driver, nsid)?;
        let format = namespace.current_format();
        if format.key_max_bytes.get() == 0 {
            return Err(ProtocolError::Format.into());
        }
        let transfer = self.transfer_bytes_max().unwrap_or(u64::MAX).min(WINDOW_BYTES_MAX as u64);
        Ok(format.value_max_bytes.get().min(transfer as u32))
    }
}

/// A submission that was preceded by [`KvClient::make_room`].
#[inline]
fn submitted(ticket: Result<Ticket, SubmitError>) -> Result<Ticket, HostError> {
    ticket.map_err(HostError::Submit)
}
