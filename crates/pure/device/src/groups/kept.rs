// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a namespace keeps for groups: results that wait to be fetched, and which life it is in.

use saker_nvme::group::GroupId;
use std::collections::VecDeque;

/// Results kept for hosts that have not fetched them, by number and in bytes: the oldest go first.
const KEPT_MAX: usize = 256;
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Which life of a namespace it is: versions of pairs are told apart by it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Life {
    /// Of the flash.
    pub power_ons: u64,
    /// Of the namespace, in this run.
    pub erasures: u32,
}

/// Results by identification, of one namespace. They are in DRAM: a power cycle loses them.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub(super) results: VecDeque<(GroupId, Vec<u8>)>,
    bytes: usize,
    pub(super) life: Life,
}

impl Kept {
    /// Nothing, after so many power-ons.
    pub fn after(power_ons: u64) -> Self {
        Self { life: Life { power_ons, erasures: 0 }, ..Self::default() }
    }

    /// Which life it is.
    #[inline]
    pub fn life(&self) -> Life {
        self.life
    }

    pub(super) fn keep(&mut self, id: GroupId, results: Vec<u8>) {
        self.take(&id);
        self.bytes += results.len();
        self.results.push_back((id, results));
        while self.results.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some((_, dropped)) = self.results.pop_front() else { break };
            self.bytes -= dropped.len();
        }
    }

    pub(super) fn position(&self, id: &GroupId) -> Option<usize> {
        self.results.iter().position(|(kept, _)| kept == id)
    }

    pub(super) fn take(&mut self, id: &GroupId) {
        if let Some((_, taken)) = self.position(id).and_then(|n| self.results.remove(n)) {
            self.bytes -= taken.len();
        }
    }

    /// The namespace is erased: forgets everything, and another life begins.
    pub fn clear(&mut self) {
        let life = Life { erasures: self.life.erasures + 1, ..self.life };
        *self = Self { life, ..Self::default() };
    }
}
