// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The experiments: each has a plan in `plans/` and a file here that runs it.

mod bandslim;
mod batching;
mod byteexpress;
mod compound;
mod kvaccel;
mod lsm_ranges;
mod plus;
mod saker_cache;
mod saker_motiv;
mod saker_tree;
mod saker_write;
mod transfer_all;

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::plan::Plan;

/// A plan and what runs it.
pub struct Entry {
    text: &'static str,
    /// Runs it.
    pub run: fn(&Context<'_>) -> Result<Outcome, LabError>,
}

impl Entry {
    /// The committed plan.
    pub fn plan(&self) -> Plan {
        Plan::parse(self.text).unwrap_or_else(|e| panic!("a committed plan: {e}"))
    }
}

macro_rules! entry {
    ($file:literal, $run:path) => {
        Entry { text: include_str!(concat!("../../plans/", $file, ".toml")), run: $run }
    };
}

/// All of them, in the order in which they are listed.
pub static ALL: [Entry; 56] = [
    entry!("saker-motiv", saker_motiv::run),
    entry!("saker-write-batch", saker_write::run_batch),
    entry!("saker-write-io", saker_write::run_io),
    entry!("saker-read-cache", saker_cache::read::run),
    entry!("saker-tpcc", saker_cache::tpcc::run),
    entry!("saker-tpcc-smallcache", saker_cache::tpcc::run_small),
    entry!("bandslim-fig3", bandslim::fig3::run),
    entry!("bandslim-fig4", bandslim::packing::fig4::run),
    entry!("bandslim-fig8", bandslim::fig8::run),
    entry!("bandslim-fig9", bandslim::fig9::run),
    entry!("bandslim-fig10", bandslim::fig10::run),
    entry!("bandslim-fig11", bandslim::packing::fig11::run),
    entry!("bandslim-fig12", bandslim::packing::fig12::run),
    entry!("packing-all", bandslim::packing::all::run),
    entry!("lsm-ranges", lsm_ranges::run),
    entry!("bandslim-threshold", bandslim::threshold::run),
    entry!("bandslim-dlt", bandslim::dlt::run),
    entry!("bandslim-arithmetic", bandslim::arithmetic::run),
    entry!("talk-fig2", bandslim::fig10::run_talk),
    entry!("talk-traffic-amp", bandslim::fig3::run_talk),
    entry!("byteexpress-fig5", byteexpress::run),
    entry!("transfer-all", transfer_all::run),
    entry!("batching-all", batching::run),
    entry!("compound-tkey", compound::tkey::run),
    entry!("compound-fig1", compound::layout::run),
    entry!("compound-fig2", compound::pairs::run),
    entry!("compound-fig3-kvceph", compound::kvceph::run),
    entry!("compound-ablation", compound::gathering::run),
    entry!("compound-bulk", compound::bulk::run),
    entry!("kvaccel-slowdown", kvaccel::timelines::slowdown),
    entry!("kvaccel-stall-avoid", kvaccel::timelines::stall_avoid),
    entry!("kvaccel-throughput", kvaccel::throughput::throughput),
    entry!("kvaccel-p99", kvaccel::throughput::tail),
    entry!("kvaccel-efficiency", kvaccel::throughput::efficiency),
    entry!("kvaccel-pcie-idle", kvaccel::link::idle),
    entry!("kvaccel-pcie-use", kvaccel::link::usage),
    entry!("kvaccel-rollback", kvaccel::rollback::run),
    entry!("kvaccel-range", kvaccel::range::run),
    entry!("kvaccel-sweep", kvaccel::sweep::run),
    entry!("kvaccel-adaptive", kvaccel::adaptive::run),
    entry!("plus-memory", plus::arithmetic::memory),
    entry!("plus-gc-overhead", plus::arithmetic::gc_overhead),
    entry!("plus-capacity", plus::capacity::capacity),
    entry!("plus-lookup", plus::arithmetic::lookup),
    entry!("plus-mapping-footprint", plus::arithmetic::mapping_footprint),
    entry!("plus-fig3-left", plus::counts::kv_data),
    entry!("plus-fig3-mid", plus::counts::table_data),
    entry!("plus-invmap-io", plus::counts::invalid_mappings),
    entry!("plus-collision", plus::counts::collisions),
    entry!("plus-ycsb", plus::ycsb::ycsb),
    entry!("plus-charges", plus::charges::run),
    entry!("plus-fig3-right", plus::ycsb::small_values),
    entry!("plus-ablation", plus::ablation::run),
    entry!("plus-tail", plus::tail::run),
    entry!("plus-dftl", plus::dftl::run),
    entry!("plus-cpu", plus::cpu::run),
];

#[cfg(test)]
mod tests;
