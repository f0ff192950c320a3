// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Experiments: what is run, what is measured, what is claimed and whether it holds.
//!
//! An experiment is a plan (`plans/*.toml`: parameters, charts, claims) and a file in [`experiments`] that runs it on a
//! rig and judges every claim. Results are data ([`report`]); charts, pages and differences are made from them.
#![forbid(unsafe_code)]

pub mod chart;
mod context;
pub mod diff;
pub mod error;
pub mod experiments;
pub mod fit;
pub mod judge;
pub mod page;
pub mod plan;
pub mod report;
pub mod rig;
pub mod run;
pub mod settings;
mod shared_runs;
pub mod spread;
mod tolerance;

pub use error::LabError;
pub use plan::Settings;
pub use report::{Check, Evidence, Experiment, Origin, Point, Verdict};
