// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker.Batch`.

use crate::errors::{pickled, raised};
use crate::memory::to_read;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use saker_handle::Writes;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes that leave together.
#[pyclass(frozen, weakref, module = "saker")]
pub struct Batch {
    store: saker_handle::Store,
    writes: Mutex<Writes>,
    atomic: bool,
}

impl Batch {
    pub fn new(store: saker_handle::Store, atomic: bool) -> Self {
        Self { store, writes: Mutex::default(), atomic }
    }

    /// Never held while the device is waited for.
    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Batch {
    fn put(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, value) = (to_read(key)?, to_read(value)?);
        self.writes().put(key.as_slice(), value.as_slice());
        Ok(())
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = to_read(key)?;
        self.writes().delete(key.as_slice());
        Ok(())
    }

    fn clear(&self) {
        self.writes().clear();
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let writes = std::mem::take(&mut *self.writes());
        if writes.is_empty() {
            return Ok(());
        }
        let carried_out = py.detach(|| self.store.write(&writes.into_batch(self.atomic)));
        carried_out.map_err(|fault| raised(py, fault))
    }

    #[getter]
    const fn atomic(&self) -> bool {
        self.atomic
    }

    fn __len__(&self) -> usize {
        self.writes().len()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        if raised.get_item(0).is_ok_and(|class| !class.is_none()) {
            self.clear();
            return Ok(());
        }
        self.commit(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickled("batch")
    }
}
