// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a block namespace tells of itself, and what was counted.

use super::Block;
use saker_device::Stats;
use saker_host::host_kv::BlockQueue;
use saker_runtime::AnyDriver;

impl Block {
    /// Bytes of a block.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// let buffer = vec![0; 8 * disk.block_bytes() as usize]; // eight blocks
    /// assert_eq!(buffer.len(), 4096);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block_bytes(&self) -> u32 {
        self.queue.block_bytes()
    }

    /// Blocks of the namespace.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// let bytes = disk.blocks() * u64::from(disk.block_bytes());
    /// assert_eq!(bytes, 4 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks(&self) -> u64 {
        self.queue.blocks()
    }

    /// The number of the namespace.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// assert_eq!(disk.nsid(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nsid(&self) -> u32 {
        self.queue.queue().nsid()
    }

    /// Name of the device's profile.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// assert_eq!(disk.profile(), "tiny");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Bytes that Identify Controller gives as one command's largest transfer; `None` without limit.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// // `read` and `write` take any length: they cut it into commands.
    /// assert!(disk.transfer_bytes_max().is_none_or(|bytes| bytes >= 4096));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transfer_bytes_max(&self) -> Option<u64> {
        self.transfer_bytes_max
    }

    /// Events of a device that keeps time on a thread of this process, and how many of them came more than 5 us late. `None` for others.
    ///
    /// ```
    /// let mut disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny&timing=real")?;
    /// disk.write(0, &[7; 2048])?;
    /// let (events, late) = disk.lag().expect("it keeps time");
    /// assert!(events > 0 && late <= events);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lag(&self) -> Option<(u64, u64)> {
        self.driver.lag()
    }

    /// Everything countable; nothing while the device runs on a thread of its own.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(0, &[7; 1024])?;
    /// let stats = disk.stats().expect("the device is on this thread");
    /// assert_eq!((stats.namespaces[0].kind, stats.namespaces[0].blocks_written), ("block", 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&mut self) -> Option<Stats> {
        match &mut self.driver {
            AnyDriver::Inline(device) => Some(device.stats()),
            _ => None,
        }
    }
}
