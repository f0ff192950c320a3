// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who counts the work of a store at the host. The engine is compiled for either here, once, and not into callers.

use saker_sim::CpuMeter;

/// Where notes of the work go.
#[derive(Debug)]
pub enum Work<'m> {
    /// Nowhere.
    Free,
    /// Into a meter.
    Counted(&'m mut CpuMeter),
}

/// The same call with the one meter or the other.
macro_rules! with_meter {
    ($work:expr, $meter:ident => $call:expr) => {
        match $work {
            $crate::host_kv::Work::Free => {
                let $meter = &mut saker_sim::Free;
                $call
            }
            $crate::host_kv::Work::Counted($meter) => $call,
        }
    };
}

pub(super) use with_meter;
