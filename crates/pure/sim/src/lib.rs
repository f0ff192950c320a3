//! The clockwork every model runs on: time as an argument, events in a total order, resources that
//! are reserved only when a step is ready, seeds in a tree, digests of whole runs, and profiles that
//! say what everything costs.
#![forbid(unsafe_code)]

pub mod profile;
