// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compiled half of the package `saker`. Each class adds Python's types to one of `saker_handle` and nothing else; every call that
//! may wait for a device does so detached from the interpreter.

mod batch;
mod cache;
mod errors;
mod memory;
mod scan;
mod stats;
mod store;
mod transaction;

use pyo3::prelude::*;
use std::path::PathBuf;

/// Classes of errors: name and parent, in the order of their numbers.
#[pyfunction]
fn error_classes() -> Vec<(&'static str, &'static str)> {
    saker_handle::Class::ALL.iter().map(|class| (class.name(), class.parent().name())).collect()
}

/// Makes an image with one namespace of pairs, and returns the bytes of its flash.
#[pyfunction]
#[pyo3(signature = (path, size, *, profile = "default", engine = "hash_store", seed = 1))]
fn create(
    py: Python<'_>,
    path: PathBuf,
    size: &str,
    profile: &str,
    engine: &str,
    seed: u64,
) -> PyResult<u64> {
    py.detach(|| saker_handle::create(&path, size, profile, engine, seed))
        .map_err(|fault| errors::raised(py, fault))
}

/// The compiled half of `saker`.
#[pymodule]
fn _saker(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<store::Store>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<scan::Pairs>()?;
    module.add_class::<scan::Keys>()?;
    module.add_class::<cache::KvCache>()?;
    module.add_function(wrap_pyfunction!(create, module)?)?;
    module.add_function(wrap_pyfunction!(error_classes, module)?)
}
