// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who a device in memory is: serial number, NQN and the identifiers of its namespaces derive from one number.
//!
//! Hosts take two namespaces with one identifier for one namespace that is reached in two ways. So each opening gives a device of
//! its own, unless `seed=` asks for the same one again. Served under a name, it is a device of that name: two
//! subsystems are never taken for one. What a device does depends on its seed alone.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::error::Error;
use crate::image;
use crate::url::DeviceUrl;
use std::io::Read as _;
use std::path::Path;

/// The number, for a device in memory with this seed.
pub(crate) fn in_memory(url: &DeviceUrl, seed: u64) -> Result<u64, Error> {
    let own = if url.is_seeded { seed } else { xxh3_64(&new_uuid()?) };
    Ok(url.nqn.as_ref().map_or(own, |nqn| xxh3_64_with_seed(nqn.as_bytes(), own)))
}

/// A UUID that no other image has: the kernel's random numbers (RFC 9562, version 4; random(4)).
///
/// # Errors
/// [`enum@Error`] when the kernel's random numbers cannot be read.
///
/// ```
/// let (one, other) = (saker::new_uuid()?, saker::new_uuid()?);
/// assert_ne!(one, other);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn new_uuid() -> Result<[u8; 16], Error> {
    let path = Path::new("/dev/urandom");
    let mut uuid = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut uuid));
    read.map_err(|source| image::ImageError::Io { path: path.to_path_buf(), doing: "read", source })?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
