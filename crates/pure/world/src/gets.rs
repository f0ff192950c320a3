// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the gets of a run took.

/// How long gets took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gets {
    /// How many.
    pub count: u64,
    /// Their times in nanoseconds, added up.
    pub sum_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl Gets {
    /// Nanoseconds of a get in the mean.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    /// Those of another thread, too.
    pub(crate) fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}
