// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Golden bytes, round trips and models of the wire crate, one file for each concern.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod admin;
mod dhchap;
mod entries;
mod fabrics;
mod features;
mod golden;
mod group;
mod identify;
mod identify_lists;
mod indirect;
mod iterators;
mod keys;
mod kv;
mod kv_list;
mod log;
mod nvm;
mod prp;
mod regs;
mod sgl;
mod status;
mod tcp;
mod vendor;
mod vendor_pages;
mod versioned;
