//! host
#![forbid(unsafe_code)]
pub mod host_kv;
