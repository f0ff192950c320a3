// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker.KvCache`.

use crate::errors::{pickled, raised};
use crate::memory::{Lent, all_to_read, slices, to_read, to_write};
use crate::stats::of_device;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use saker_handle::{Cache, Duration, Fault, RetentionOptions, RetentionOrder};

/// A device as a cache.
#[pyclass(subclass, frozen, weakref, module = "saker")]
pub struct KvCache {
    inner: Cache,
    url: String,
}

impl KvCache {
    fn call<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Cache) -> Result<R, Fault> + Send,
    ) -> PyResult<R> {
        py.detach(|| work(&self.inner)).map_err(|fault| raised(py, fault))
    }
}

fn options(bytes_max: Option<u64>, order: &str, ttl: Option<f64>) -> PyResult<RetentionOptions> {
    let order = match order {
        "lru" => RetentionOrder::Lru,
        "fifo" => RetentionOrder::Fifo,
        _ => return Err(PyValueError::new_err(format!("order `{order}`; write lru or fifo"))),
    };
    let ttl = match ttl {
        Some(seconds) if !(seconds > 0.0 && seconds <= TTL_SECONDS_MAX) => {
            return Err(PyValueError::new_err(format!(
                "a ttl of {seconds} s; write more than 0, at most {TTL_SECONDS_MAX:e}"
            )));
        }
        ttl => ttl.map(|seconds| Duration::from_nanos((seconds * 1e9) as u64)),
    };
    Ok(RetentionOptions { bytes_max, order, ttl })
}

/// Longest time that pairs may be told to stay.
const TTL_SECONDS_MAX: f64 = 1e9;

#[pymethods]
impl KvCache {
    #[new]
    #[pyo3(signature = (url, *, bytes_max = None, order = "lru", ttl = None))]
    fn new(
        py: Python<'_>,
        url: String,
        bytes_max: Option<u64>,
        order: &str,
        ttl: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(bytes_max, order, ttl)?;
        let inner = py.detach(|| Cache::open(&url, options)).map_err(|fault| raised(py, fault))?;
        Ok(Self { inner, url })
    }

    fn put_if_absent(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key_lent, value_lent) = (to_read(key)?, to_read(value)?);
        let (key_bytes, value_bytes) = (key_lent.as_slice(), value_lent.as_slice());
        self.call(key.py(), |cache| cache.put_if_absent(key_bytes, value_bytes))
    }

    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        let value = self.call(key.py(), |cache| cache.get(bytes))?;
        Ok(value.map(|value| PyBytes::new(key.py(), &value).into_any()).or(default))
    }

    fn get_into(&self, key: &Bound<'_, PyAny>, buffer: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let (key_lent, mut into) = (to_read(key)?, to_write(buffer)?);
        let (bytes, slice) = (key_lent.as_slice(), into.as_mut_slice());
        self.call(key.py(), |cache| cache.get_into(bytes, slice))
    }

    fn get_many_into(
        &self,
        keys: &Bound<'_, PyAny>,
        buffers: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Option<usize>>> {
        let lent = all_to_read(keys)?;
        let mut into = buffers.try_iter()?.map(|buffer| to_write(&buffer?)).collect::<PyResult<Vec<_>>>()?;
        alike(lent.len(), into.len())?;
        let mut pairs: Vec<_> =
            lent.iter().map(Lent::as_slice).zip(into.iter_mut().map(Lent::as_mut_slice)).collect();
        self.call(keys.py(), |cache| pairs.iter_mut().map(|(key, into)| cache.get_into(key, into)).collect())
    }

    fn put_many_if_absent(&self, keys: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
        let (lent, values_lent) = (all_to_read(keys)?, all_to_read(values)?);
        alike(lent.len(), values_lent.len())?;
        let (names, bytes) = (slices(&lent), slices(&values_lent));
        self.call(keys.py(), |cache| {
            names.iter().zip(&bytes).map(|(key, value)| cache.put_if_absent(key, value)).collect()
        })
    }

    fn exists(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<bool>> {
        let lent = all_to_read(keys)?;
        let bytes = slices(&lent);
        self.call(keys.py(), |cache| cache.exists(&bytes))
    }

    fn prefix(&self, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let lent = all_to_read(keys)?;
        let bytes = slices(&lent);
        self.call(keys.py(), |cache| cache.prefix(&bytes))
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |cache| cache.delete(bytes))
    }

    fn expire(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Cache::expire)
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Cache::clear)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Cache::close)
    }

    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, Cache::bytes)
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.inner.is_closed())
    }

    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counted, device) = self.call(py, Cache::stats)?;
        let named = match device {
            Some(device) => of_device(py, &device)?,
            None => PyDict::new(py),
        };
        for (name, number) in [
            ("hits", counted.hits),
            ("misses", counted.misses),
            ("stored", counted.stored),
            ("present", counted.present),
            ("evicted", counted.evicted),
            ("expired", counted.expired),
        ] {
            named.set_item(name, number)?;
        }
        Ok(named)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let lent = to_read(key)?;
        let bytes = lent.as_slice();
        self.call(key.py(), |cache| cache.exists(&[bytes])).map(|there| there.contains(&true))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickled("cache")
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let state = if self.closed(py) { "closed" } else { "open" };
        format!("<saker.KvCache {:?} {state}>", self.url)
    }
}

/// Lists that belong together.
fn alike(keys: usize, others: usize) -> PyResult<()> {
    if keys == others {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{keys} keys and {others} buffers: there must be as many")))
}
