// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash FTLs against a BTreeMap, over flash so small that collections, evictions and displaced pairs are always near:
//! every way of knowing validity with every layout of sections.

mod counters;
mod deletes;
mod doubling;
mod fills;
mod histories;
mod lost_pages;
mod mappings;
mod marks;
mod memory;
mod nine_tenths;
mod rest;
mod rig;
