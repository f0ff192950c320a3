// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker.Store`.

use crate::batch::Batch;
use crate::errors::{pickled, raised};
use crate::memory::{all_to_read, slices, to_read, to_write};
use crate::scan::{Keys, Pairs};
use crate::stats;
use crate::transaction::{Transaction, id, outcome};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use saker_handle::{Class, Fault, ScanWish};

/// Pairs of `put_many` that leave together.
const TOGETHER_PAIRS: usize = 1024;

/// Bytes of values of `put_many` that leave together at most, apart from the last one.
const TOGETHER_BYTES: usize = 4 << 20;

/// The compiled half of `saker.Store`.
#[pyclass(subclass, frozen, weakref, module = "saker._saker")]
pub struct Store {
    inner: saker_handle::Store,
    url: String,
}

impl Store {
    /// Calls the device, detached.
    fn call<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&saker_handle::Store) -> Result<R, Fault> + Send,
    ) -> PyResult<R> {
        py.detach(|| work(&self.inner)).map_err(|fault| raised(py, fault))
    }
}

/// Which pairs a scan is to see.
pub fn wish(
    (start, stop, prefix): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, &Bound<'_, PyAny>),
    backwards: bool,
    limit: Option<u64>,
    keys_only: bool,
) -> PyResult<ScanWish> {
    let bytes = |object: &Bound<'_, PyAny>| to_read(object).map(|lent| lent.as_slice().to_vec());
    let (start, stop, prefix) = (bytes(start)?, bytes(stop)?, bytes(prefix)?);
    Ok(ScanWish { start, stop, prefix, keys_only, backwards, limit: limit.unwrap_or(0) })
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, url: String) -> PyResult<Self> {
        let inner = py.detach(|| saker_handle::Store::open(&url)).map_err(|fault| raised(py, fault))?;
        Ok(Self { inner, url })
    }

    fn put(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key_lent, value_lent) = (to_read(key)?, to_read(value)?);
        let (key_bytes, value_bytes) = (key_lent.as_slice(), value_lent.as_slice());
        self.call(key.py(), |store| store.put(key_bytes, value_bytes))
    }

    fn put_if_absent(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key_lent, value_lent) = (to_read(key)?, to_read(value)?);
        let (key_bytes, value_bytes) = (key_lent.as_slice(), value_lent.as_slice());
        self.call(key.py(), |store| store.put_if_absent(key_bytes, value_bytes))
    }

    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        let value = self.call(key.py(), |store| store.get(bytes))?;
        Ok(value.map(|value| PyBytes::new(key.py(), &value).into_any()).or(default))
    }

    fn get_into(&self, key: &Bound<'_, PyAny>, buffer: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let (key_lent, mut into) = (to_read(key)?, to_write(buffer)?);
        let (bytes, slice) = (key_lent.as_slice(), into.as_mut_slice());
        self.call(key.py(), |store| store.get_into(bytes, slice))
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |store| store.delete(bytes))
    }

    fn exists(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |store| store.exists(bytes))
    }

    fn multi_get<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let lent = all_to_read(keys)?;
        let bytes = slices(&lent);
        let values = self.call(keys.py(), |store| store.multi_get(&bytes))?;
        Ok(values.into_iter().map(|value| value.map(|value| PyBytes::new(keys.py(), &value))).collect())
    }

    fn multi_exists(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
        let lent = all_to_read(keys)?;
        let bytes = slices(&lent);
        self.call(keys.py(), |store| store.multi_exist(&bytes))
    }

    fn put_many(&self, pairs: &Bound<'_, PyAny>) -> PyResult<()> {
        let items = if pairs.hasattr("items")? { pairs.call_method0("items")? } else { pairs.clone() };
        let mut items = items.try_iter()?;
        loop {
            let mut lent = Vec::with_capacity(TOGETHER_PAIRS);
            let mut bytes = 0;
            for item in items.by_ref() {
                let (key, value) = pair(&item?)?;
                bytes += value.as_slice().len();
                lent.push((key, value));
                if lent.len() >= TOGETHER_PAIRS || bytes >= TOGETHER_BYTES {
                    break;
                }
            }
            if lent.is_empty() {
                return Ok(());
            }
            let together: Vec<_> =
                lent.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
            self.call(pairs.py(), |store| store.put_many(together.into_iter()))?;
        }
    }

    #[pyo3(signature = (*, atomic = false))]
    fn batch(slf: Bound<'_, Self>, atomic: bool) -> Batch {
        Batch::new(slf.get().inner.clone(), atomic)
    }

    fn txn(&self, py: Python<'_>) -> PyResult<Transaction> {
        self.call(py, saker_handle::Store::begin).map(Transaction::new)
    }

    fn transaction_outcome(&self, host: &Bound<'_, PyAny>, number: u64) -> PyResult<&'static str> {
        let id = id(host, number)?;
        self.call(host.py(), |store| store.transaction_outcome(id)).map(outcome)
    }

    #[pyo3(signature = (start, stop, prefix, reverse, limit))]
    fn _scan(
        &self,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
        prefix: &Bound<'_, PyAny>,
        reverse: bool,
        limit: Option<u64>,
    ) -> PyResult<Pairs> {
        let wish = wish((start, stop, prefix), reverse, limit, false)?;
        self.call(start.py(), |store| store.scan(&wish)).map(Pairs::new)
    }

    #[pyo3(signature = (start, stop, prefix, reverse, limit))]
    fn _scan_keys(
        &self,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
        prefix: &Bound<'_, PyAny>,
        reverse: bool,
        limit: Option<u64>,
    ) -> PyResult<Keys> {
        let wish = wish((start, stop, prefix), reverse, limit, true)?;
        self.call(start.py(), |store| store.scan(&wish)).map(Keys::new)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, saker_handle::Store::flush)
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, saker_handle::Store::format)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, saker_handle::Store::close)
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.inner.is_closed())
    }

    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    #[getter]
    fn profile(&self, py: Python<'_>) -> PyResult<String> {
        self.call(py, saker_handle::Store::profile)
    }

    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for setting in self.call(py, saker_handle::Store::settings)? {
            named.set_item(setting.name, (setting.value, setting.kind))?;
        }
        Ok(named)
    }

    fn set_setting(&self, py: Python<'_>, name: &str, value: &str) -> PyResult<()> {
        self.call(py, |store| store.set_setting(name, value))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let counted = self.call(py, saker_handle::Store::stats)?;
        counted.map(|counted| stats::of_device(py, &counted)).transpose()
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.get(key, None)?.ok_or_else(|| raised(key.py(), missing(key)))
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(key, value)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.delete(key)? { Ok(()) } else { Err(raised(key.py(), missing(key))) }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.exists(key)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickled("store")
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let state = if self.closed(py) { "closed" } else { "open" };
        format!("<saker.Store {:?} {state}>", self.url)
    }
}

/// Both halves of a pair.
fn pair<'py>(item: &Bound<'py, PyAny>) -> PyResult<(crate::memory::Lent<'py>, crate::memory::Lent<'py>)> {
    let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
    Ok((to_read(&key)?, to_read(&value)?))
}

/// There is no such key.
fn missing(key: &Bound<'_, PyAny>) -> Fault {
    let key = to_read(key).map(|lent| lent.as_slice().to_vec()).ok();
    let text = format!("there is no key \"{}\"", key.as_deref().unwrap_or_default().escape_ascii());
    Fault { class: Class::NotFound, text, key, status: Some(0x87) }
}
