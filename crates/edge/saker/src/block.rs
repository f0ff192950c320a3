// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door to a block namespace: `Block::open(url)`.

mod data;
mod facts;
mod pieces;
mod shared;

pub use shared::SharedBlock;

use crate::device::{self, Opened, Wanted, block_queue};
use crate::error::Error;
use crate::url::{Backing, DeviceUrl};
use saker_host::Connection;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockQueue, KvBlockQueue};
use saker_runtime::AnyDriver;
use std::ops::Range;

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
    /// Of whom they are lent to somebody else has it.
    connection: Option<Connection>,
    transfer_bytes_max: Option<u64>,
    profile: String,
    /// The commands of a call that are in flight, and their parts of its bytes; kept for its memory.
    flying: Vec<(u64, Range<usize>)>,
}

/// Options that do nothing for blocks.
///
/// # Errors
/// [`Error::Setting`].
fn refuse_for_pairs(url: &DeviceUrl) -> Result<(), Error> {
    let for_pairs = [
        ("cache", "the read cache is for pairs"),
        ("transfer", "it says how values of pairs travel"),
        ("hybrid", "it makes one store of pairs of both namespaces"),
    ];
    let Some((name, why)) = for_pairs.into_iter().find(|(name, _)| url.gives(name)) else { return Ok(()) };
    let what = format!("option `{name}` does nothing for blocks: {why}");
    Err(Error::Setting { what, todo: "leave it out".into() })
}

impl Block {
    /// Opens the device of a URL (see [`crate::url`]): namespace `nsid`, or the first block namespace.
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// let disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// # disk.close()?;
    /// saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.write(0, &[7; 2048])?;
    /// let error = saker::Block::open("mem:").unwrap_err();
    /// assert_eq!(error.to_string(), "the device has no block namespace; it has 1 (kv); add blocks=512MiB to its URL");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_url(&DeviceUrl::parse(url)?)
    }

    pub(crate) fn open_url(url: &DeviceUrl) -> Result<Self, Error> {
        refuse_for_pairs(url)?;
        let mut opened = Opened::open(url)?;
        let nsid = opened.namespace(Wanted::Block, url.nsid).map_err(|error| match (&url.place, error) {
            (Backing::Memory { blocks: 0, shards: 1, .. }, error @ Error::NoNamespace { .. }) => {
                Error::Setting { what: error.to_string(), todo: "add blocks=512MiB to its URL".into() }
            }
            (_, error) => error,
        })?;
        let Opened { mut connection, mut driver, profile } = opened;
        let options = KvQueueOptions { entries: u32::from(url.depth) + 1, slots: url.depth };
        let queue = block_queue(&mut connection, &mut driver, nsid, options)?;
        let mut block = Self::lent(queue, connection.transfer_bytes_max(), driver, profile);
        block.connection = Some(connection);
        Ok(block)
    }

    /// On a queue of a connection that somebody else has.
    pub(crate) fn lent(
        queue: KvBlockQueue,
        transfer_bytes_max: Option<u64>,
        driver: AnyDriver,
        profile: String,
    ) -> Self {
        Self { queue, driver, connection: None, transfer_bytes_max, profile, flying: Vec::new() }
    }

    /// Erases the namespace, wholly or not at all, as [`crate::Kv::format`] does.
    ///
    /// # Errors
    /// [`Error::Host`]: whether it took place is not known if the answer is missing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(0, &[7; 512])?;
    /// disk.format()?;
    /// let mut block = [1; 512];
    /// disk.read(0, &mut block)?;
    /// assert_eq!(block, [0; 512]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn format(&mut self) -> Result<(), Error> {
        let nsid = self.nsid();
        let Some(connection) = &mut self.connection else {
            let what = format!("namespace {nsid} is that of a main tree");
            return Err(Error::Setting { what, todo: "format the store that it belongs to".into() });
        };
        Ok(connection.format(&mut self.driver, nsid)?)
    }

    /// Returns when everything written so far survives a power cut.
    ///
    /// # Errors
    /// [`Error::Host`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(0, &[7; 512])?; // survives the death of this process
    /// disk.flush()?; // and now a power cut as well
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self) -> Result<(), Error> {
        let ticket = self.queue.flush();
        self.finish(ticket).map(|_| ())
    }

    /// Closes the device in order: everything is flushed, an image is marked clean.
    ///
    /// # Errors
    /// [`enum@Error`]: the image stays marked as in use, and recovers at the next opening.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(0, &[7; 512])?;
    /// disk.close()?;
    /// let mut block = [0; 512];
    /// saker::Block::open(&format!("file:{}", path.display()))?.read(0, &mut block)?;
    /// assert_eq!(block, [7; 512]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(mut self) -> Result<(), Error> {
        let powered = self.flush();
        device::close(self.driver)?;
        powered
    }
}
