// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker.Transaction`.

use crate::errors::{pickled, raised};
use crate::memory::to_read;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use saker_handle::{Fault, Require, SplitOutcome, TransactionEnd, TransactionId};

/// A transaction that is being put together.
#[pyclass(frozen, weakref, module = "saker")]
pub struct Transaction {
    inner: saker_handle::Transaction,
}

/// The ID of a transaction: the host's 16 bytes, and a number.
pub fn id(host: &Bound<'_, PyAny>, number: u64) -> PyResult<TransactionId> {
    let bytes = to_read(host)?.as_slice().to_vec();
    let host = bytes.try_into().map_err(|wrong: Vec<u8>| {
        PyValueError::new_err(format!("a host's ID of {} bytes; it has 16", wrong.len()))
    })?;
    Ok(TransactionId { host, number })
}

/// In words.
pub const fn outcome(told: SplitOutcome) -> &'static str {
    match told {
        SplitOutcome::Done | SplitOutcome::DoneBefore => "done",
        SplitOutcome::NotDone => "not done",
        SplitOutcome::Open => "open",
    }
}

impl Transaction {
    pub const fn new(inner: saker_handle::Transaction) -> Self {
        Self { inner }
    }

    fn call<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&saker_handle::Transaction) -> Result<R, Fault> + Send,
    ) -> PyResult<R> {
        py.detach(|| work(&self.inner)).map_err(|fault| raised(py, fault))
    }

    fn require(&self, key: &Bound<'_, PyAny>, what: Require) -> PyResult<()> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |txn| txn.require(bytes, what))
    }
}

#[pymethods]
impl Transaction {
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        let value = self.call(key.py(), |txn| txn.get(bytes))?;
        Ok(value.map(|value| PyBytes::new(key.py(), &value).into_any()).or(default))
    }

    fn exists(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |txn| txn.exists(bytes))
    }

    fn put(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key_lent, value_lent) = (to_read(key)?, to_read(value)?);
        let (key_bytes, value_bytes) = (key_lent.as_slice(), value_lent.as_slice());
        self.call(key.py(), |txn| txn.put(key_bytes, value_bytes))
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |txn| txn.delete(bytes))
    }

    fn require_absent(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require(key, Require::Absent)
    }

    fn require_present(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require(key, Require::Present)
    }

    fn require_value(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = to_read(value)?.as_slice().to_vec();
        self.require(key, Require::Value(value))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, saker_handle::Transaction::commit)
    }

    fn commit_through(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, saker_handle::Transaction::commit_through)
    }

    fn commit_as(&self, host: &Bound<'_, PyAny>, number: u64) -> PyResult<bool> {
        let id = id(host, number)?;
        self.call(host.py(), |txn| txn.commit_as(id)).map(|end| end == TransactionEnd::Done)
    }

    fn abort(&self) {
        self.inner.abort();
    }

    #[getter]
    fn ended(&self) -> bool {
        self.inner.is_ended()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Commits, unless something was raised or it has ended.
    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        if raised.get_item(0).is_ok_and(|class| !class.is_none()) {
            self.abort();
            return Ok(());
        }
        if self.ended() { Ok(()) } else { self.commit(py) }
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickled("transaction")
    }
}
