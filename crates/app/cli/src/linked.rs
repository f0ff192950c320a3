// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What does the work: where the crates of the program are joined in.

pub mod backup;
pub mod blocks;
pub mod comparison;
pub mod conform;
pub mod experiments;
pub mod files;
mod functions;
pub mod images;
mod log;
pub mod looked;
pub mod opened;
pub mod salvage;
mod scrubs;
pub mod serve;
mod supervised;
mod transactions;
mod ycsb;
