// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults as exceptions: `saker.errors` has a class of each name.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;
use saker_handle::Fault;

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The exception of a fault.
#[cold]
pub fn raised(py: Python<'_>, fault: Fault) -> PyErr {
    exception(py, fault).unwrap_or_else(|error| error)
}

fn exception(py: Python<'_>, fault: Fault) -> PyResult<PyErr> {
    let classes = CLASSES.get_or_try_init(py, || py.import("saker.errors").map(Bound::unbind))?;
    let class = classes.bind(py).getattr(fault.class.name())?;
    let key = fault.key.map(|key| PyBytes::new(py, &key));
    Ok(PyErr::from_value(class.call1((fault.text, key, fault.status))?))
}

/// What is refused where an object would be pickled.
pub fn pickled<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!(
        "a {what} cannot be pickled: it is an open device of this process; pass the URL"
    )))
}
