//! Counters as a dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use saker_handle::Stats;

/// Counters of a device by their names; all are whole numbers.
pub fn of_device<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let counted = PyDict::new(py);
    let sum = |of: fn(&saker_handle::NamespaceSnapshot) -> u64| stats.namespaces.iter().map(of).sum::<u64>();
    for (name, number) in [
        ("commands", stats.device.commands),
        ("pairs", sum(|ns| ns.store.pairs)),
        ("pair_bytes", sum(|ns| ns.store.pair_bytes)),
        ("user_bytes_written", sum(|ns| ns.store.user_bytes_written)),
        ("gc_bytes_copied", sum(|ns| ns.store.gc_bytes_copied)),
        ("capacity_bytes", sum(|ns| ns.capacity_bytes)),
        ("live_bytes", sum(|ns| ns.live_bytes)),
        ("pages_programmed", stats.flash.pages_programmed),
        ("pages_read", stats.flash.pages_read),
        ("segments_erased", stats.flash.segments_erased),
    ] {
        counted.set_item(name, number)?;
    }
    Ok(counted)
}
