// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BandSlim (ICPP'24) and what is measured as it measures: stores one at a time, by one method after the other.

pub mod arithmetic;
pub mod dlt;
pub mod fig10;
pub mod fig3;
pub mod fig8;
pub mod fig9;
mod oracle;
pub mod packing;
mod sweep;
pub mod threshold;

pub(in crate::experiments) use oracle::{link_bytes, piggyback_commands};
pub(in crate::experiments) use sweep::{Common, Grid, otherwise, sizes};
