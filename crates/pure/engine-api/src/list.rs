// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys in an engine's own order.

use crate::capabilities::{Capability, Unsupported};
use crate::context::Context;
use crate::kv::KvError;
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;

/// Lists of keys ([`Capability::List`]; KV command set: List).
pub trait List {
    /// Shows keys from `from` on (empty: from the first) in the engine's order, while `visit` says so. `from` itself need
    /// not exist: the order is total over all possible keys, so a page of results costs what it returns. With anything but
    /// `Done`, what was shown does not count.
    ///
    /// # Errors
    /// [`KvError::KeySize`] for a `from` that cannot be a key; [`KvError::Unsupported`] without the capability.
    fn list<M: SegmentStore, W: Meter>(
        &mut self,
        from: &[u8],
        visit: impl FnMut(&[u8]) -> bool,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let _ = (from, visit, cx);
        Step::Done(Err(Unsupported(Capability::List).into()))
    }
}
