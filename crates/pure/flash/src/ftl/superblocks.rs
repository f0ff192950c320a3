// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pool of superblocks. Owners lease them within their quota; the least worn one goes first.

use saker_segment_store::SegmentId;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    quota: u32,
    held: u32,
}

/// Who has which superblock.
#[derive(Clone, Debug, Default)]
pub struct Superblocks {
    /// Free ones by wear.
    free: BTreeSet<(u32, SegmentId)>,
    owner: Vec<u16>,
    /// By owner: owners are namespace numbers, which are small.
    leases: Vec<Lease>,
    retired: u32,
}

impl Superblocks {
    /// A pool of `count` superblocks, none of them free yet.
    pub fn new(count: u32) -> Self {
        Self { owner: vec![0; count as usize], ..Self::default() }
    }

    /// Lets an owner hold up to `quota` superblocks.
    pub fn set_quota(&mut self, owner: u16, quota: u32) {
        self.lease_mut(owner).quota = quota;
    }

    /// An erased superblock becomes free.
    pub fn add_free(&mut self, id: SegmentId, epoch: u32) {
        let owner = std::mem::take(&mut self.owner[id.0 as usize]);
        if owner != 0 {
            self.lease_mut(owner).held -= 1;
        }
        self.free.insert((epoch, id));
    }

    /// A superblock found with data of an owner.
    pub fn adopt(&mut self, id: SegmentId, owner: u16) {
        self.owner[id.0 as usize] = owner;
        self.lease_mut(owner).held += 1;
    }

    /// A superblock that cannot be erased leaves the pool.
    pub fn retire(&mut self, id: SegmentId) {
        let owner = std::mem::take(&mut self.owner[id.0 as usize]);
        if owner != 0 {
            let lease = self.lease_mut(owner);
            lease.held -= 1;
            lease.quota = lease.quota.saturating_sub(1);
        }
        self.retired += 1;
    }

    /// Leases the least worn free superblock.
    pub fn lease(&mut self, owner: u16) -> Option<SegmentId> {
        if self.available(owner) == 0 {
            return None;
        }
        let (_, id) = self.free.pop_first()?;
        self.adopt(id, owner);
        Some(id)
    }

    /// Superblocks an owner could still lease.
    #[inline]
    pub fn available(&self, owner: u16) -> u32 {
        let lease = self.leases.get(usize::from(owner)).copied().unwrap_or_default();
        lease.quota.saturating_sub(lease.held).min(self.free.len() as u32)
    }

    /// Superblocks an owner may hold in all.
    #[inline]
    pub fn quota(&self, owner: u16) -> u32 {
        self.leases.get(usize::from(owner)).map_or(0, |l| l.quota)
    }

    fn lease_mut(&mut self, owner: u16) -> &mut Lease {
        let n = usize::from(owner);
        if self.leases.len() <= n {
            self.leases.resize(n + 1, Lease::default());
        }
        &mut self.leases[n]
    }

    /// Superblocks of an owner.
    pub fn of(&self, owner: u16) -> impl Iterator<Item = SegmentId> + '_ {
        self.owner.iter().enumerate().filter(move |(_, o)| **o == owner).map(|(n, _)| SegmentId(n as u32))
    }

    /// The owner of a superblock; 0 for nobody.
    pub fn owner(&self, id: SegmentId) -> u16 {
        self.owner[id.0 as usize]
    }

    /// Superblocks lost to failed erases.
    pub fn retired(&self) -> u32 {
        self.retired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_hold_and_the_least_worn_goes_first() {
        let mut pool = Superblocks::new(3);
        for (n, wear) in [(0, 5), (1, 2), (2, 9)] {
            pool.add_free(SegmentId(n), wear);
        }
        pool.set_quota(1, 2);
        pool.set_quota(2, 1);
        assert_eq!(pool.lease(1), Some(SegmentId(1)));
        assert_eq!(pool.lease(1), Some(SegmentId(0)));
        assert_eq!(pool.lease(1), None);
        assert_eq!(pool.available(2), 1);
        pool.add_free(SegmentId(1), 3);
        assert_eq!(pool.available(1), 1);
        pool.retire(SegmentId(0));
        assert_eq!((pool.quota(1), pool.available(1), pool.retired()), (1, 1, 1));
    }
}
