// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way back from a manifest.

use super::Configured;
use crate::ordered::Store;
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{SegmentStore, Step};
use std::fmt::Debug;

/// Recovery of the structure.
pub trait Rebuild: Configured {
    /// What recovery reads in a manifest, until it is adopted.
    type Named: Clone + Debug + Default;

    /// Takes a chunk of a manifest; `false` if it is none.
    fn enter_chunk(store: &mut Store<Self>, named: &mut Self::Named, chunk: &[u8]) -> bool;

    /// The manifest is whole. Says what is wrong with it.
    fn adopt(store: &mut Store<Self>, named: &mut Self::Named) -> Result<(), &'static str>;

    /// One piece of reading what the manifest names.
    fn load<M: SegmentStore>(
        store: &mut Store<Self>,
        named: &mut Self::Named,
        m: &M,
    ) -> Step<Result<Progress, Damage>> {
        let _ = (store, named, m);
        Step::Done(Ok(Progress::Finished))
    }

    /// Counts what it needs and refers to, and gives back what nothing does.
    fn settle<M: SegmentStore>(store: &mut Store<Self>, named: Self::Named, m: &mut M);
}
