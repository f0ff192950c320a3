// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters as a dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use saker_handle::{Stats, counters};

/// Counters of a device by their names; all are whole numbers.
pub fn of_device<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let counted = PyDict::new(py);
    for (name, number) in counters(stats) {
        counted.set_item(name, number)?;
    }
    Ok(counted)
}
