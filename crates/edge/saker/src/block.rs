//! The door to a block namespace: `Block::open(url)`.

use crate::device::{self, Opened, Wanted};
use crate::error::Error;
use crate::url::DeviceUrl;
use saker_device::Stats;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockDone, BlockQueue, KvBlockQueue};
use saker_host::{Connection, Driver, HostError, Patience, ProtocolError};
use saker_nvme::admin::Identify;
use saker_nvme::csi;
use saker_nvme::identify::{NvmNamespace, cns};
use saker_runtime::AnyDriver;

/// Bytes that one command moves at most, so that little memory is lent at a time. The device takes more (MDTS).
const COMMAND_BYTES_MAX: usize = 64 << 10;

/// A block namespace, opened: whole logical blocks, read and written by their number. Calls wait. One thread at a
/// time uses it. A block that was never written, or was trimmed, reads as zeros.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("disk.img");
/// saker::ImagePlan {
///     namespaces: vec![
///         saker::NamespacePlan::Kv { flash_bytes: None },
///         saker::NamespacePlan::Block { bytes: Some(16 << 20), block_bytes: 512 },
///     ],
///     ..saker::ImagePlan::kv(64 << 20, "tiny", 1)
/// }
/// .create(&path)?;
/// let mut disk = saker::Block::open(&format!("file:{}?nsid=2", path.display()))?;
/// assert_eq!((disk.block_bytes(), disk.blocks()), (512, 32768));
/// disk.write(7, &[1; 1024])?;
/// let mut both = [0; 1024];
/// disk.read(7, &mut both)?;
/// assert_eq!(both, [1; 1024]);
/// disk.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Block {
    queue: KvBlockQueue,
    driver: AnyDriver,
    connection: Connection,
    profile: String,
}

/// The question for a namespace of blocks: their size and number.
pub(crate) const fn identify_blocks(nsid: u32) -> Identify {
    Identify { nsid, cns: cns::NAMESPACE, cntid: 0, specific_id: 0, csi: csi::NVM, uuid_index: 0 }
}

impl Block {
    /// Opens the device of a URL (see [`crate::url`]): namespace `nsid`, or the first block namespace.
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_url(&DeviceUrl::parse(url)?)
    }

    pub(crate) fn open_url(url: &DeviceUrl) -> Result<Self, Error> {
        let mut opened = Opened::open(url)?;
        let nsid = opened.namespace(Wanted::Block, url.nsid)?;
        let Opened { mut connection, mut driver, profile } = opened;
        let found: Box<NvmNamespace> = connection.identify(&mut driver, &identify_blocks(nsid))?;
        let block_bytes = found.block_bytes().ok_or(HostError::from(ProtocolError::Format))?;
        let options = KvQueueOptions { entries: u32::from(url.depth) + 1, slots: url.depth };
        let queue = connection.create_kv_queue(&mut driver, nsid, options)?;
        let queue = KvBlockQueue::new(queue, block_bytes, found.nsze.get());
        Ok(Self { queue, driver, connection, profile })
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u32 {
        self.queue.block_bytes()
    }

    /// Blocks of the namespace.
    pub fn blocks(&self) -> u64 {
        self.queue.blocks()
    }

    /// The number of the namespace.
    pub fn nsid(&self) -> u32 {
        self.queue.queue().nsid()
    }

    /// Name of the device's profile.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Bytes that Identify Controller gives as one command's largest transfer; `None` without limit.
    pub fn transfer_bytes_max(&self) -> Option<u64> {
        self.connection.transfer_bytes_max()
    }

    /// Reads whole blocks from block `first` on.
    ///
    /// # Errors
    /// [`Error::Range`] before anything is read; [`Error::Host`].
    pub fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check(first, out.len())?;
        for (at, part) in pieces(first, self.block_bytes(), out.len()) {
            let blocks = part.len() as u32 / self.block_bytes();
            let ticket = self.queue.read(at, blocks);
            let data = self.finish(ticket)?.data.unwrap_or_default();
            if data.len() != part.len() {
                return Err(HostError::from(ProtocolError::Format).into());
            }
            out[part].copy_from_slice(&data);
        }
        Ok(())
    }

    /// Writes whole blocks from block `first` on. Atomic by block, not as a whole.
    ///
    /// # Errors
    /// [`Error::Range`] before anything is written; [`Error::Host`].
    pub fn write(&mut self, first: u64, data: &[u8]) -> Result<(), Error> {
        self.check(first, data.len())?;
        for (at, part) in pieces(first, self.block_bytes(), data.len()) {
            let ticket = self.queue.write(at, data[part].to_vec()).ok();
            self.finish(ticket)?;
        }
        Ok(())
    }

    /// Deallocates blocks: they read as zeros, and their flash is free.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::Host`].
    pub fn trim(&mut self, first: u64, blocks: u64) -> Result<(), Error> {
        let bytes = blocks.saturating_mul(u64::from(self.block_bytes()));
        self.check(first, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let (mut at, mut left) = (first, blocks);
        while left > 0 {
            let part = left.min(u32::MAX.into());
            let ticket = self.queue.deallocate(at, part);
            self.finish(ticket)?;
            (at, left) = (at + part, left - part);
        }
        Ok(())
    }

    /// Erases the namespace, wholly or not at all, as [`crate::Kv::format`] does.
    ///
    /// # Errors
    /// [`Error::Host`]: whether it took place is not known if the answer is missing.
    pub fn format(&mut self) -> Result<(), Error> {
        let nsid = self.nsid();
        Ok(self.connection.format(&mut self.driver, nsid)?)
    }

    /// Returns when everything written so far survives a power cut.
    ///
    /// # Errors
    /// [`Error::Host`].
    pub fn flush(&mut self) -> Result<(), Error> {
        let ticket = self.queue.flush();
        self.finish(ticket).map(|_| ())
    }

    /// Everything countable; nothing while the device runs on a thread of its own.
    pub fn stats(&mut self) -> Option<Stats> {
        match &mut self.driver {
            AnyDriver::Inline(device) => Some(device.stats()),
            AnyDriver::Thread(_) | AnyDriver::Sharded(_) | AnyDriver::Remote(_) | AnyDriver::Linux(_) => None,
        }
    }

    /// Closes the device in order: everything is flushed, an image is marked clean.
    ///
    /// # Errors
    /// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
    pub fn close(mut self) -> Result<(), Error> {
        let powered = self.flush();
        device::close(self.driver)?;
        powered
    }

    /// A range that starts and ends within the namespace and covers whole blocks.
    fn check(&self, first: u64, bytes: usize) -> Result<(), Error> {
        let (block, blocks) = (self.block_bytes(), self.blocks());
        if !(bytes as u64).is_multiple_of(u64::from(block)) {
            return Err(Error::Range(format!(
                "{bytes} bytes are no whole blocks; give a multiple of {block} bytes"
            )));
        }
        let count = bytes as u64 / u64::from(block);
        match first.checked_add(count).filter(|end| *end <= blocks) {
            Some(_) => Ok(()),
            None => Err(Error::Range(format!(
                "{count} blocks from block {first} on end behind the namespace; it has {blocks} blocks, from 0"
            ))),
        }
    }

    /// Rings, and waits for the command just submitted.
    fn finish(&mut self, ticket: Option<u64>) -> Result<BlockDone, Error> {
        let ticket = ticket.ok_or(HostError::from(ProtocolError::Queues))?;
        self.queue.ring();
        for _ in 0..Patience::default().polls_max {
            if let Some(done) = self.queue.poll().filter(|done| done.ticket == ticket) {
                return if done.status.is_success() {
                    Ok(done)
                } else {
                    Err(HostError::from(done.status).into())
                };
            }
            self.driver.drive();
        }
        Err(HostError::Timeout { turns: Patience::default().polls_max }.into())
    }
}

/// Cuts a transfer into commands: the first block and the bytes of each.
fn pieces(first: u64, block_bytes: u32, bytes: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let step = COMMAND_BYTES_MAX.max(block_bytes as usize);
    (0..bytes).step_by(step).map(move |from| {
        let at = first + from as u64 / u64::from(block_bytes);
        (at, from..bytes.min(from + step))
    })
}
