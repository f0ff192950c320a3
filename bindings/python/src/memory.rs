// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of Python objects, lent to a call: objects with the buffer protocol, and tensors that have none.
//!
//! A buffer is exported while it is lent, so nobody resizes it. Who writes to it from another thread meanwhile races, as with
//! `readinto` of a file.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Flags of `PyObject_GetBuffer` (Python, "Buffer Protocol"): contiguous bytes; the same to be written.
const READ: i32 = 0;
const WRITE: i32 = 1;

/// Bytes that an object lends.
pub struct Lent<'py> {
    at: *mut u8,
    bytes: usize,
    hold: Hold<'py>,
}

/// What keeps the bytes in place.
enum Hold<'py> {
    /// An object whose memory does not move.
    Object { _object: Bound<'py, PyAny> },
    /// An export, which is given back.
    Export(Box<ffi::Py_buffer>),
}

/// Bytes of `object` to read: of `bytes`, anything contiguous with the buffer protocol, or a tensor of the CPU.
pub fn to_read<'py>(object: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let slice = bytes.as_bytes();
        let hold = Hold::Object { _object: object.clone() };
        return Ok(Lent { at: slice.as_ptr().cast_mut(), bytes: slice.len(), hold });
    }
    lent(object, READ)
}

/// Bytes of `object` to write.
pub fn to_write<'py>(object: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
    lent(object, WRITE)
}

fn lent<'py>(object: &Bound<'py, PyAny>, flags: i32) -> PyResult<Lent<'py>> {
    let mut export = Box::new(ffi::Py_buffer::new());
    // SAFETY: the object is alive and the interpreter attached; the export is a place for the answer, and does not move.
    if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *export, flags) } == 0 {
        let (at, bytes) = (export.buf.cast(), usize::try_from(export.len).unwrap_or(0));
        return Ok(Lent { at, bytes, hold: Hold::Export(export) });
    }
    let refused = PyErr::fetch(object.py());
    if object.hasattr("data_ptr")? { of_tensor(object) } else { Err(refused) }
}

/// Bytes of a tensor of the CPU, as PyTorch has them: it has no buffer protocol.
fn of_tensor<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
    let device: String = tensor.getattr("device")?.getattr("type")?.extract()?;
    if device != "cpu" {
        return Err(PyTypeError::new_err(format!("the tensor is on `{device}`; copy it to the CPU first")));
    }
    if !tensor.call_method0("is_contiguous")?.is_truthy()? {
        return Err(PyValueError::new_err("the tensor is not contiguous"));
    }
    let at: usize = tensor.call_method0("data_ptr")?.extract()?;
    let elements: usize = tensor.call_method0("numel")?.extract()?;
    let element_bytes: usize = tensor.call_method0("element_size")?.extract()?;
    let bytes = elements.checked_mul(element_bytes).filter(|bytes| at != 0 || *bytes == 0);
    let bytes = bytes.ok_or_else(|| PyValueError::new_err("the tensor has no memory"))?;
    let hold = Hold::Object { _object: tensor.clone() };
    Ok(Lent { at: std::ptr::with_exposed_provenance_mut(at), bytes, hold })
}

impl Lent<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: the object lends as many bytes there, and keeps them in place while this is alive.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }

    /// The bytes to be written, of what was lent to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as above; and `to_write` has made sure that they may be written.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.bytes) }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Hold::Export(export) = &mut self.hold {
            // SAFETY: it was exported by `PyObject_GetBuffer` and is given back once; a `Lent` is on an attached thread, as the
            // lifetime of the other variant says.
            unsafe { ffi::PyBuffer_Release(&raw mut **export) };
        }
    }
}

/// The memory of each object of an iterable.
pub fn all_to_read<'py>(objects: &Bound<'py, PyAny>) -> PyResult<Vec<Lent<'py>>> {
    objects.try_iter()?.map(|object| to_read(&object?)).collect()
}

/// Their bytes.
pub fn slices<'a>(all: &'a [Lent<'_>]) -> Vec<&'a [u8]> {
    all.iter().map(Lent::as_slice).collect()
}
