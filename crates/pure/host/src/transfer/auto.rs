// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cheapest method of all that the device carries: by link bytes, which are arithmetic, or by time, which was measured.

use super::{Available, Method};
use saker_link::{Rule, Traffic};
use std::sync::Arc;

/// What is to be little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Bytes over the link, by the rule `protocol`.
    Bytes,
    /// Response time, by these measurements.
    Time(Arc<CostTable>),
}

/// Chooses by the objective; ties go to the method named first in [`Method::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auto {
    /// What is to be little.
    pub objective: Objective,
}

/// One of each, by [`Method::index`].
pub type ByMethod<T> = [T; Method::ALL.len()];

/// Response times by size, for each method that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostTable {
    /// Sizes in bytes, ascending, each with nanoseconds by [`Method::index`]; `None` where the method does not carry it.
    pub rows: Vec<(u32, ByMethod<Option<u64>>)>,
}

impl CostTable {
    /// The row of the smallest measured size that is not below `bytes`: costs are steps that rise with the size.
    fn row(&self, bytes: u32) -> Option<&ByMethod<Option<u64>>> {
        let n = self.rows.partition_point(|(size, _)| *size < bytes);
        self.rows.get(n).map(|(_, costs)| costs)
    }
}

impl Auto {
    /// The method for a value of `bytes` bytes. Beyond what was measured: PRPs.
    #[must_use]
    pub fn choose(&self, bytes: u32, available: &Available) -> Method {
        let row = match &self.objective {
            Objective::Bytes => None,
            Objective::Time(table) => match table.row(bytes) {
                Some(row) => Some(row),
                None => return Method::Prp,
            },
        };
        let cost = |method: Method| match row {
            None => Some(link_bytes(method, bytes)),
            Some(row) => row[method.index()],
        };
        let carried = Method::ALL.into_iter().filter(|m| available.carries(*m, bytes));
        carried.filter_map(|m| Some((cost(m)?, m))).min().map_or(Method::Prp, |(_, m)| m)
    }
}

/// Bytes over the link of a store that rings once, by the rule `protocol`.
fn link_bytes(method: Method, bytes: u32) -> u64 {
    let once = Traffic { sq_doorbells: 1, cq_doorbells: 1, ..method.traffic(bytes) };
    once.bytes(&Rule::Protocol).total()
}
