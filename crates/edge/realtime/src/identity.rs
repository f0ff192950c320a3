//! Who a device in memory is: serial number, NQN and the identifiers of its namespaces derive from one number.
//!
//! Hosts take two namespaces with one identifier for one namespace that is reached in two ways. So each opening gives a device of
//! its own, unless `seed=` asks for the same one again. Served under a name, it is a device of that name: two
//! subsystems are never taken for one. What a device does depends on its seed alone.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::create::new_uuid;
use crate::error::Error;
use crate::url::DeviceUrl;

/// The number, for a device in memory with this seed.
pub(crate) fn in_memory(url: &DeviceUrl, seed: u64) -> Result<u64, Error> {
    let own = if url.is_seeded { seed } else { xxh3_64(&new_uuid()?) };
    Ok(url.nqn.as_ref().map_or(own, |nqn| xxh3_64_with_seed(nqn.as_bytes(), own)))
}
