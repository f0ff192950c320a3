//! The door for those who speak in queue entries: `Raw::open(url)`.

use crate::block::identify_blocks;
use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use saker_host::connect::KvQueueOptions;
use saker_host::{Connection, Done, Driver, HostError, KvQueue, RawData, SubmitError};
use saker_link::WINDOW_BYTES_MAX;
use saker_nvme::identify::NvmNamespace;
use saker_nvme::{Sqe, Status};
use saker_runtime::AnyDriver;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A namespace to which any entry can be sent, malformed ones too.
#[derive(Debug)]
pub struct Raw {
    connection: Connection,
    queue: KvQueue,
    driver: AnyDriver,
}

/// How long commands may take.
const PATIENCE: Duration = Duration::from_secs(120);

impl Raw {
    /// Opens the key-value namespace of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_kind(url, Wanted::Kv)
    }

    /// Opens the block namespace of a URL.
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn open_blocks(url: &str) -> Result<Self, Error> {
        Self::open_kind(url, Wanted::Block)
    }

    fn open_kind(url: &str, wanted: Wanted) -> Result<Self, Error> {
        let url = DeviceUrl::parse(url)?;
        let mut opened = Opened::open(&url)?;
        let nsid = opened.namespace(wanted, url.nsid)?;
        let Opened { mut connection, mut driver, .. } = opened;
        if wanted == Wanted::Block {
            // Over a network the size of a block says how much data a command moves.
            let _: Box<NvmNamespace> = connection.identify(&mut driver, &identify_blocks(nsid))?;
        }
        let options = KvQueueOptions { entries: u32::from(url.depth) + 1, slots: url.depth };
        let queue = connection.create_kv_queue(&mut driver, nsid, options)?;
        Ok(Self { connection, queue, driver })
    }

    /// The namespace.
    pub fn nsid(&self) -> u32 {
        self.queue.nsid()
    }

    /// Bytes that one command moves at most, here and there.
    pub fn transfer_bytes_max(&self) -> u32 {
        let most = WINDOW_BYTES_MAX as u64;
        self.connection.transfer_bytes_max().map_or(most, |bytes| bytes.min(most)) as u32
    }

    /// Whether entries reach the device as they are. A kernel sets flags itself and takes commands for one namespace.
    pub fn is_direct(&self) -> bool {
        !matches!(self.driver, AnyDriver::Linux(_))
    }

    /// Carries out an admin command that fills `room` bytes: status, DW0 and DW1, data.
    ///
    /// # Errors
    /// [`HostError`] if there is no answer.
    pub fn admin(&mut self, sqe: Sqe, room: u32) -> Result<(Status, u64, Vec<u8>), HostError> {
        self.connection.raw_admin(&mut self.driver, sqe, room)
    }

    /// Carries out I/O commands, as many at once as the queue takes. `taken` makes answers of completions; they are
    /// returned in the order of the commands.
    ///
    /// # Errors
    /// [`HostError`] if one cannot be sent, or is not answered in time.
    pub fn io<'a, R>(
        &mut self,
        commands: impl Iterator<Item = (Sqe, RawData<'a>)>,
        mut taken: impl FnMut(Done<'_>) -> R,
    ) -> Result<Vec<R>, HostError> {
        let (mut in_flight, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for (n, (sqe, data)) in commands.enumerate() {
            while self.queue.free_slots() == 0 {
                self.take(&mut in_flight, &mut answers, &mut taken)?;
            }
            let ticket = self.queue.raw(sqe, data).map_err(HostError::Submit)?;
            in_flight.insert(ticket.slot(), n);
        }
        while !in_flight.is_empty() {
            self.take(&mut in_flight, &mut answers, &mut taken)?;
        }
        Ok(answers.into_values().collect())
    }

    /// Waits for one answer.
    fn take<R>(
        &mut self,
        in_flight: &mut BTreeMap<u16, usize>,
        answers: &mut BTreeMap<usize, R>,
        taken: &mut impl FnMut(Done<'_>) -> R,
    ) -> Result<(), HostError> {
        self.queue.ring();
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.driver.drive();
            if let Some(done) = self.queue.poll(|done| (done.ticket.slot(), taken(done))) {
                let (slot, answer) = done?;
                if let Some(n) = in_flight.remove(&slot) {
                    answers.insert(n, answer);
                }
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(HostError::Submit(SubmitError::Full));
            }
        }
    }

    /// Closes the device in order.
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn close(mut self) -> Result<(), Error> {
        let flush = saker_nvme::kv::flush(self.nsid());
        let flushed = self.io(std::iter::once((flush, RawData::Untouched)), |done| done.status)?;
        device::close(self.driver)?;
        match flushed.first() {
            Some(status) if !status.is_success() => Err(HostError::Status(*status).into()),
            _ => Ok(()),
        }
    }
}
