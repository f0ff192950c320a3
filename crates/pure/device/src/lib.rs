//! The device: an NVMe controller with Key Value and block namespaces.
#![forbid(unsafe_code)]

pub mod controller;
