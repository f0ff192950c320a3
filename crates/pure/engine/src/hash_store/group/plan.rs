// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a group will do, as far as it depends on the index.

use super::super::HashStore;
use crate::mix::IndexKey;
use saker_engine_api::{GroupError, GroupOp, GroupSource, KvError};
use saker_sim::Meter;
use saker_value_log::group::Placed;
use saker_value_log::group::seal::Role;

impl Placed for IndexKey {
    /// Places are mixed already: any bits of them will do.
    #[inline]
    fn spread(self) -> usize {
        self.head() as usize ^ usize::from(self.key_bytes())
    }
}

impl HashStore {
    /// Reads a payload into the plan. The index is asked for its lines on the way.
    #[inline]
    pub(super) fn plan<G: GroupSource, W: Meter>(
        &mut self,
        source: &G,
        payload: &[u8],
        w: &mut W,
    ) -> Result<(), GroupError<G::Malformed>> {
        let Self { plan, index, config, .. } = self;
        let early = w.touches() && !source.only_writes();
        plan.read(source, payload, config.value_bytes_max, |key| {
            let place = index.place(key);
            if let Some(place) = place
                && early
            {
                index.touch(place, w);
            }
            place
        })
    }

    /// Gives their roles to the members that do not store.
    pub(super) fn assign(&mut self) {
        let Self { plan, index, .. } = self;
        for p in plan.members.iter_mut().filter(|p| p.member.op != GroupOp::Store) {
            (p.role, p.result) = match (p.member.op, p.place) {
                (_, None) => (Role::Nothing, Err(KvError::KeySize)),
                (GroupOp::Delete, Some(place)) if index.get(place).is_some() => (Role::Tombstone, Ok(())),
                (GroupOp::Retrieve, Some(_)) => (Role::Nothing, Ok(())),
                (_, Some(place)) => (Role::Nothing, index.get(place).map(|_| ()).ok_or(KvError::NotFound)),
            };
        }
    }
}
