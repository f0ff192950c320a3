// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace whose map is on flash: against a model, through power cuts, full, and beside a map in memory.

mod bench;
mod cuts;
mod full;
mod history;
mod lookups;
