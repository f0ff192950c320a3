// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The size of the DMA log table (section 3.3.3), from the profile's geometry.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;

/// What the paper says beside the geometry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    capacity_bytes: u64,
    memory_page_bytes: u64,
    size_field_bits: u32,
    limit_bytes: u64,
}

/// The table's fields and entries.
#[derive(Debug)]
pub struct Table {
    full_address_bits: u32,
    nand_page_bits: u32,
    memory_page_bits: u32,
    entry_bits: u32,
    entries: u64,
}

impl Table {
    /// One entry for each NAND page of the write buffer.
    pub fn of(plan: &Parameters, profile: &Profile) -> Self {
        let page_bytes = u64::from(profile.geometry.page_bytes.get());
        let nand_page_bits = bits(plan.capacity_bytes / page_bytes);
        let memory_page_bits = bits(page_bytes / plan.memory_page_bytes);
        Self {
            full_address_bits: bits(plan.capacity_bytes),
            nand_page_bits,
            memory_page_bits,
            entry_bits: nand_page_bits + memory_page_bits + plan.size_field_bits,
            entries: profile.firmware.write_buffer_bytes.get() / page_bytes,
        }
    }

    /// Its size, packed.
    pub fn bytes(&self) -> u64 {
        u64::from(self.entry_bits) * self.entries / 8
    }
}

/// Runs bandslim-dlt.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let table = Table::of(&plan, &profile);
    let numbers = [
        ("full_address_bits", f64::from(table.full_address_bits)),
        ("nand_page_bits", f64::from(table.nand_page_bits)),
        ("memory_page_bits", f64::from(table.memory_page_bits)),
        ("entry_bits", f64::from(table.entry_bits)),
        ("entries", table.entries as f64),
        ("table_bytes", table.bytes() as f64),
    ];
    let mut point = Point::at([("profile", json!(profile.name))]);
    numbers.iter().for_each(|(name, value)| point.add(name, *value));
    let within = if table.bytes() <= plan.limit_bytes { "within" } else { "above" };
    let note = format!("{} B packed: {within} the published bound of {} B.", table.bytes(), plan.limit_bytes);
    let mut book = cx.book();
    book.numbers("AC-bandslim-dlt-1", &numbers.map(|(_, value)| value), note);
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

/// Bits that number `count` things.
const fn bits(count: u64) -> u32 {
    count.next_power_of_two().trailing_zeros()
}
