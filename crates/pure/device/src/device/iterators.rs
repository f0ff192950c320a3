// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of a queue that several hosts share: how many, and which there are.

use super::Device;

impl<T> Device<T> {
    /// A queue may have so many iterators in a namespace from now on: one that carries the commands of several hosts.
    pub fn allow_iterators(&mut self, per_queue_max: usize) {
        self.namespaces.iter_mut().for_each(|ns| ns.iterators.allow(per_queue_max));
    }

    /// Whether there is an iterator of that number.
    pub fn has_iterator(&self, nsid: u32, number: u32) -> bool {
        self.namespaces.iter().any(|ns| ns.config.nsid == nsid && ns.iterators.has(number))
    }
}
