// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker.Pairs` and `saker.Keys`: iterators over a device.

use crate::errors::{pickled, raised};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use saker_handle::{Pair, Scan, ScanOrder};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A scan, and the pairs of its last batch that were not given out.
struct Ahead {
    scan: Scan,
    ahead: Mutex<VecDeque<Pair>>,
}

impl Ahead {
    const fn new(scan: Scan) -> Self {
        Self { scan, ahead: Mutex::new(VecDeque::new()) }
    }

    /// The next pair. The lock of what is ahead is not held while the device is waited for.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Pair>> {
        if let Some(pair) = self.pop() {
            return Ok(Some(pair));
        }
        let batch = py.detach(|| self.scan.next_batch()).map_err(|fault| raised(py, fault))?;
        self.lock().extend(batch);
        Ok(self.pop())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Pair>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Pair> {
        self.lock().pop_front()
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.lock().clear();
        py.detach(|| self.scan.close()).map_err(|fault| raised(py, fault))
    }

    fn order(&self) -> &'static str {
        match self.scan.order() {
            ScanOrder::Bytes => "bytes",
            ScanOrder::Resumed => "resumed",
            ScanOrder::Device => "device",
        }
    }
}

/// Declares an iterator: what becomes of each pair.
macro_rules! iterators {
    ($($(#[$doc:meta])* $name:ident: $item:ident, $give:ident;)*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, weakref, module = "saker")]
        pub struct $name(Ahead);

        impl $name {
            pub const fn new(scan: Scan) -> Self {
                Self(Ahead::new(scan))
            }
        }

        #[pymethods]
        impl $name {
            fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, $item>>> {
                let next: Option<Pair> = self.0.next(py)?;
                next.map(|pair| $give(py, &pair)).transpose()
            }

            fn close(&self, py: Python<'_>) -> PyResult<()> {
                self.0.close(py)
            }

            #[getter]
            fn order(&self) -> &'static str {
                self.0.order()
            }

            fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            #[pyo3(signature = (*_raised))]
            fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
                self.0.close(py)
            }

            fn __reduce__(&self) -> PyResult<()> {
                pickled("scan")
            }
        }
    )*};
}

fn give_pair<'py>(py: Python<'py>, (key, value): &Pair) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, [PyBytes::new(py, key), PyBytes::new(py, value)])
}

fn give_key<'py>(py: Python<'py>, (key, _): &Pair) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, key))
}

iterators! {
    /// Pairs of a scan.
    Pairs: PyTuple, give_pair;
    /// Keys of a scan.
    Keys: PyBytes, give_key;
}
