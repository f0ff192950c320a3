//! Experiments: what is run, what is measured, what is claimed and whether it holds.
#![forbid(unsafe_code)]

pub mod compare;
pub mod motiv;

pub use compare::{Cell, CompareError, Input, Plan, Row, Timing, compare};
