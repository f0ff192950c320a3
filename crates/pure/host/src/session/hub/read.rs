// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the newest value of a key is: in the read cache, in a container, or in the device.

use saker_nvme::Key;
use saker_sim::{Meter, Unit};

use super::super::container::Write;
use super::super::wire::Wire;
use super::Hub;
use crate::cache::CacheStats;

impl<W: Wire> Hub<W> {
    /// Shows the newest value of a key, if it is in the read cache. Nothing else has to be looked at: what is there is kept
    /// up to date by writes, under the lock of the key's stripe.
    #[inline]
    pub fn cached<R>(&self, key: &Key, meter: &mut impl Meter, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.shared.cache.as_ref()?.get(key, meter, read)
    }

    /// Whether the key is in the read cache, and so exists.
    #[must_use]
    pub fn is_cached(&self, key: &Key) -> bool {
        self.shared.cache.as_ref().is_some_and(|cache| cache.contains(key))
    }

    /// Enters what the device answered into the read cache, unless anything has changed in the key's stripe since
    /// [`look`](Self::look) gave `version`. False if it had, or there is no cache.
    pub fn fill(&self, key: &Key, value: &[u8], version: u64, meter: &mut impl Meter) -> bool {
        let Some(cache) = &self.shared.cache else { return false };
        meter.work(Unit::Lock, 1);
        let stripe = self.shared.index.lock(self.shared.index.stripe_of(key));
        let is_current = stripe.version() == version;
        if is_current {
            cache.insert(key, value, meter);
        }
        is_current
    }

    /// Counters of the read cache; zeros without one.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.shared.cache.as_ref().map_or_else(CacheStats::default, crate::cache::ReadCache::stats)
    }

    /// Shows the newest write of a key that the device may not have yet; otherwise the version of the key's stripe: the
    /// device's answer is current as long as that stays.
    ///
    /// # Errors
    /// The version.
    pub fn look<R>(
        &self,
        key: &Key,
        meter: &mut impl Meter,
        read: impl FnOnce(Write<'_>) -> R,
    ) -> Result<R, u64> {
        let stripe_number = self.shared.index.stripe_of(key);
        loop {
            meter.work(Unit::Lock, 1);
            meter.work(Unit::Probe, 1);
            let mut stripe = self.shared.index.lock(stripe_number);
            let Some(entry) = stripe.find(key) else { return Err(stripe.version()) };
            if let Some(parked) = &entry.parked {
                return Ok(read(parked.write()));
            }
            let place = entry.place.expect("an entry has a place or a parked write");
            // Lanes come before stripes, so the stripe is let go first. By then the write may have come to its end.
            drop(stripe);
            let lane = self.lanes[usize::from(place.lane)].lock();
            if let Some(container) = lane.book.find(place.container) {
                return Ok(read(container.write(place.piece)));
            }
        }
    }
}
