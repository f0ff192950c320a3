// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value size of Fig. 11 on both paths.

use crate::context::Context;
use crate::error::LabError;
use crate::experiments::bandslim::packing::board::TreeCost;
use crate::experiments::bandslim::packing::clock::Times;
use crate::experiments::bandslim::packing::path::Path;
use crate::experiments::bandslim::packing::workload::sizes;
use crate::experiments::bandslim::packing::{Packed, Policy, buffer};
use saker_flash::packing::Arrival;
use saker_host::{Method, TransferPolicy};
use saker_workload::Suite;
use serde_json::json;

/// A size: baseline, packing, and packing of piggybacked values, on the board's path with programs beside later stores and with stores
/// that wait, and on the engine's likewise.
pub struct Row {
    pub bytes: u32,
    pub beside: [Packed; 3],
    pub waiting: [Packed; 3],
    pub engine: [Packed; 3],
    pub engine_waiting: [Packed; 3],
    /// Runs whose pages and copies are the oracle's, of records on the engine's path and of bare values on the board's.
    pub as_counted: [usize; 2],
}

impl Row {
    pub fn measure(cx: &Context<'_>, bytes: u32, operations: u64) -> Result<Self, LabError> {
        let profile = cx.profile()?;
        let sizes = sizes(Suite::A, operations, bytes, cx.seed)?;
        let paged: Vec<_> = sizes.iter().map(|n| Arrival::Dma(*n)).collect();
        let small: Vec<_> = sizes.iter().map(|n| Arrival::Piggybacked(*n)).collect();
        let ways = [(Policy::Block, &paged), (Policy::All, &paged), (Policy::All, &small)];
        let shape = buffer(&profile);
        let times = Times::measure(&profile, cx.seed, &[paged[0], small[0]])?;
        let board = |times: &Times| ways.map(|(policy, values)| Packed::bare(policy, shape, values, times));
        let (beside, waiting) = (board(&times), board(&times.waiting()));
        let is_bare = |((policy, values), run): (&(Policy, &Vec<Arrival>), &Packed)| {
            run.is(policy.bare(values, u64::from(shape.pages)))
        };
        let bare = ways.iter().zip(&waiting).filter(|pair| is_bare(*pair)).count();
        let path = |method, values| Path::new(&profile, cx.seed, TransferPolicy::Fixed(method), values);
        let (paged, small) = (path(Method::Prp, &paged)?, path(Method::Piggyback, &small)?);
        let of = |paged: &Path<'_>, small: &Path<'_>| -> Result<[Packed; 3], LabError> {
            Ok([paged.run(Policy::Block)?, paged.run(Policy::All)?, small.run(Policy::All)?])
        };
        let engine = of(&paged, &small)?;
        let counts = [paged.count(Policy::Block), paged.count(Policy::All), small.count(Policy::All)];
        let records = engine.iter().zip(counts).filter(|(run, count)| run.is(*count)).count();
        let engine_waiting = of(&paged.waiting()?, &small.waiting()?)?;
        Ok(Self { bytes, beside, waiting, engine, engine_waiting, as_counted: [records, bare] })
    }

    /// The times that are judged.
    pub fn judged(&self, tree: &TreeCost) -> [Packed; 3] {
        self.waiting.map(|run| run.with_index(tree.ns(true)))
    }
}

/// Points of all rows, as judged and on the engine's path.
pub fn series(rows: &[Row], tree: &TreeCost) -> Vec<crate::report::Point> {
    let names = [("baseline", Policy::Block), ("packing", Policy::All), ("piggy+pack", Policy::All)];
    let of = |row: &Row, (path, runs): (&str, [Packed; 3])| {
        let bytes = row.bytes;
        let point = |(run, (name, policy)): (&Packed, &(&str, Policy))| {
            let place =
                [("value_bytes", json!(bytes)), ("configuration", json!(name)), ("path", json!(path))];
            run.point(place, *policy)
        };
        runs.iter().zip(&names).map(point).collect::<Vec<_>>()
    };
    let ways = |row: &Row| {
        [
            ("board", row.judged(tree)),
            ("engine", row.engine),
            ("engine, programs awaited", row.engine_waiting),
        ]
    };
    rows.iter()
        .flat_map(|row| ways(row).into_iter().flat_map(|way| of(row, way)).collect::<Vec<_>>())
        .collect()
}
