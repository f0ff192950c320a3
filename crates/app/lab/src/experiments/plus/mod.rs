// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash FTLs Original and Plus (Duffy, Kim, Kim).

pub mod ablation;
pub mod arithmetic;
pub mod capacity;
pub mod charges;
pub mod counts;
pub mod cpu;
mod device;
pub mod dftl;
mod ran;
mod shared;
mod size;
pub mod tail;
mod timed;
pub mod ycsb;
