// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door for those who speak in queue entries: `Raw::open(url)`.

use crate::device::{self, Opened, Wanted, identify_blocks};
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
///
/// ```
/// let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
/// use saker_host::RawData;
/// use saker_nvme::{Key, Status, kv};
/// let (key, nsid) = (Key::new(b"key")?, raw.nsid());
/// let entries = [(kv::exist(nsid, &key), RawData::Untouched)];
/// let statuses = raw.io(entries.into_iter(), |done| done.status)?;
/// assert_eq!(statuses, [Status::KEY_DOES_NOT_EXIST]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// let raw = saker::Raw::open("mem:?size=4MiB&profile=tiny&nsid=1")?;
    /// assert_eq!(raw.nsid(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_kind(url, Wanted::Kv)
    }

    /// Opens the block namespace of a URL.
    ///
    /// # Errors
    /// [`enum@Error`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// let raw = saker::Raw::open_blocks(&format!("file:{}", path.display()))?;
    /// # drop(raw);
    /// assert!(matches!(saker::Raw::open_blocks("mem:"), Err(saker::Error::NoNamespace { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
    /// let flush = saker_nvme::kv::flush(raw.nsid());
    /// # assert_eq!(raw.nsid(), 1);
    /// # drop((raw, flush));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nsid(&self) -> u32 {
        self.queue.nsid()
    }

    /// Bytes that one command moves at most, here and there.
    ///
    /// ```
    /// # let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
    /// let buffer = vec![0; raw.transfer_bytes_max() as usize]; // as much as a command fills
    /// # assert!(buffer.len() >= 4096);
    /// # raw.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transfer_bytes_max(&self) -> u32 {
        let most = WINDOW_BYTES_MAX as u64;
        self.connection.transfer_bytes_max().map_or(most, |bytes| bytes.min(most)) as u32
    }

    /// Whether entries reach the device as they are. A kernel sets flags itself and takes commands for one namespace.
    ///
    /// ```
    /// # let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(raw.is_direct(), "only a kernel is between");
    /// # raw.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_direct(&self) -> bool {
        !matches!(self.driver, AnyDriver::Linux(_))
    }

    /// Carries out an admin command that fills `room` bytes: status, DW0 and DW1, data.
    ///
    /// # Errors
    /// [`HostError`] if there is no answer.
    ///
    /// ```
    /// # let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker_nvme::{admin::{Identify, build}, identify::cns};
    /// let ask = Identify { nsid: 0, cns: cns::CONTROLLER, cntid: 0, specific_id: 0, csi: 0, uuid_index: 0 };
    /// let (status, _dwords, data) = raw.admin(build::identify(&ask), 4096)?;
    /// assert!(status.is_success() && data.len() == 4096);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admin(&mut self, sqe: Sqe, room: u32) -> Result<(Status, u64, Vec<u8>), HostError> {
        self.connection.raw_admin(&mut self.driver, sqe, room)
    }

    /// Carries out I/O commands, as many at once as the queue takes. `taken` makes answers of completions; they are
    /// returned in the order of the commands.
    ///
    /// # Errors
    /// [`HostError`] if one cannot be sent, or is not answered in time.
    ///
    /// ```
    /// # let mut raw = saker::Raw::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker_host::RawData;
    /// use saker_nvme::{Key, kv, kv::StoreOptions};
    /// let (key, nsid) = (Key::new(b"key")?, raw.nsid());
    /// let store = (kv::store(nsid, &key, 5, StoreOptions::default()), RawData::ToDevice(b"value"));
    /// assert!(raw.io([store].into_iter(), |done| done.status.is_success())?[0]);
    /// let read = (kv::retrieve(nsid, &key, 64), RawData::ValueFromDevice(64));
    /// assert_eq!(raw.io([read].into_iter(), |done| done.into_vec())?, [b"value"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// let raw = saker::Raw::open(&format!("file:{}", path.display()))?;
    /// raw.close()?; // with a Flush: dropping it leaves the image as a killed process does
    /// assert!(saker::image::check(&path, &mut |_| {})?.findings.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
