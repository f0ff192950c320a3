// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is lost of a namespace.

use super::Lost;

/// A namespace of an image that is salvaged.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
/// # kv.put(b"sound", &[1; 1000])?;
/// # kv.put(b"spoilt", b"Here a bit will tip.")?;
/// # kv.close()?;
/// # let mut bytes = std::fs::read(&path)?;
/// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
/// #     bytes[at] ^= 1;
/// # }
/// # std::fs::write(&path, bytes)?;
/// use saker::{Losses, Lost, Salvaged};
/// let losses: Vec<Losses> = Salvaged::open(&path)?.losses()?;
/// assert_eq!((losses[0].nsid, losses[0].kind, losses[0].sound), (1, "kv", 1));
/// assert_eq!(losses[0].lost, [Lost::Pair(b"spoilt".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// Pairs that are sound; for blocks, blocks that are not all zero.
    pub sound: u64,
    /// What is lost.
    pub lost: Vec<Lost>,
    /// What was lost of which nobody knows what it said. If there is any, pairs and blocks that are found may be older than
    /// ones that were lost with it, and they are not given out.
    pub unknown: Vec<String>,
}

impl Losses {
    /// Whether all of it is sound.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// let losses = saker::Salvaged::open(&path)?.losses()?;
    /// assert!(losses.iter().all(saker::Losses::is_none), "a sound image loses nothing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_none(&self) -> bool {
        self.lost.is_empty() && self.unknown.is_empty()
    }
}
