//! `libsaker`: devices from C. `include/saker.h` is what users read; its comments say what each call does.
//!
//! A handle is a number, not a pointer: one that was closed, that never was, or that is of another kind is an error code. Every call looks
//! its handle up and holds the object while it runs, so another thread may close it meanwhile.

mod answer;
mod batch;
mod bytes;
mod registry;
mod scan;
mod store;
mod transaction;
