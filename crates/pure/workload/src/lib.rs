// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a seed to operations, and nothing else: which key, which kind, how large, and which bytes.
//!
//! The same plan gives the same operations on every machine. Nothing here knows a store, a queue or a clock, and
//! no generator needs memory in proportion to its keys.
#![forbid(unsafe_code)]

pub mod bijection;
pub mod distribution;
mod error;
pub mod key;
pub mod kv_cache;
pub mod mix;
pub mod plan;
pub mod records;
pub mod size;
pub mod suite;
pub mod tpcc;
pub mod twitter;
pub mod value;
pub mod ycsb;

pub use bijection::Permutation;
pub use distribution::{Distribution, Picker, Skewed, Zipf};
pub use error::WorkloadError;
pub use key::{KeyForm, KeySpace};
pub use mix::{Kind, Mix};
pub use plan::{Operation, Operations, Plan};
pub use records::{Record, RecordSet, SizeClass};
pub use size::{Share, SizePicker, Sizes};
pub use suite::{Suite, SuiteOptions};
pub use value::ValueSource;
pub use ycsb::{CoreWorkload, PropertyError};
