// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a driver knows ahead. An engine may ignore it: no result depends on a hint.

use crate::capabilities::{Capability, Unsupported};
use crate::kv::KvError;
use saker_sim::Meter;

/// Hints of what is to come.
pub trait Hints {
    /// A command about that key is on its way: what it will look up may be touched. Changes nothing
    /// ([`Capability::PrefetchHint`]).
    #[inline]
    fn prefetch_hint<W: Meter>(&self, key: &[u8], meter: &mut W) {
        let _ = (key, meter);
    }

    /// So many pairs will come: memory for their index is brought in, so that the first touches of it cost nothing later, and it
    /// may be laid out for all of them ([`Capability::Reserve`]).
    fn reserve(&mut self, pairs: u64) {
        let _ = pairs;
    }

    /// Binds keys under a name, so that access to one brings the others: the prefetch groups of compound commands.
    ///
    /// # Errors
    /// [`KvError::CapacityExceeded`] for more keys than can be bound; [`KvError::Unsupported`] without [`Capability::Bind`].
    fn bind(&mut self, name: &[u8], keys: &mut dyn ExactSizeIterator<Item = &[u8]>) -> Result<(), KvError> {
        let _ = (name, keys);
        Err(Unsupported(Capability::Bind).into())
    }
}
