//! The size of the DMA log table (section 3.3.3), from the profile's geometry.

use crate::error::LabError;
use crate::report::Point;
use crate::run::{Context, Outcome};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    capacity_bytes: u64,
    memory_page_bytes: u64,
    size_field_bits: u32,
    limit_bytes: u64,
}

/// Runs bandslim-dlt.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let page_bytes = u64::from(profile.geometry.page_bytes.get());
    let entries = profile.firmware.write_buffer_bytes.get() / page_bytes;
    let page_bits = bits(plan.capacity_bytes / page_bytes);
    let place_bits = bits(page_bytes / plan.memory_page_bytes);
    let entry_bits = page_bits + place_bits + plan.size_field_bits;
    let table_bytes = u64::from(entry_bits) * entries / 8;
    let full_bits = bits(plan.capacity_bytes);
    let mut point = Point::at([("profile", json!(profile.name))]);
    let numbers = [
        ("full_address_bits", f64::from(full_bits)),
        ("nand_page_bits", f64::from(page_bits)),
        ("memory_page_bits", f64::from(place_bits)),
        ("entry_bits", f64::from(entry_bits)),
        ("entries", entries as f64),
        ("table_bytes", table_bytes as f64),
    ];
    numbers.iter().for_each(|(name, value)| point.add(name, *value));
    let mut book = cx.book();
    let all: Vec<f64> = numbers.iter().map(|(_, value)| *value).collect();
    let within = if table_bytes <= plan.limit_bytes { "within" } else { "above" };
    let note = format!("{table_bytes} B packed: {within} the published bound of {} B.", plan.limit_bytes);
    book.numbers("AC-bandslim-dlt-1", &all, note);
    Ok(Outcome { checks: book.finish(), series: vec![point] })
}

/// Bits that number `count` things.
const fn bits(count: u64) -> u32 {
    count.next_power_of_two().trailing_zeros()
}
