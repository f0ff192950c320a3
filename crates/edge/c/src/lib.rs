// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `libsaker`: devices from C. `include/saker.h`, which cbindgen makes of this crate, is what users read.
//!
//! A handle looks like a pointer and is a number: nobody follows it. One that was closed, that never was, or that is of another kind is
//! an error code. Every call looks its handle up and holds the object while it runs, so another thread may close it meanwhile. Whatever
//! comes from C is looked at before it is used: pointers for null, lengths, flags; memory may be aligned as it likes, and may overlap.

mod answer;
mod batch;
mod bytes;
mod class;
mod facts;
mod many;
mod misuse;
mod registry;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod transaction;
