//! Host and device joined, in virtual time or without time. Everything here is deterministic: the same seed
//! gives the same bytes, times and digest on any machine.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod disk_kv;
pub mod groups;
pub mod history;
pub mod host_side;
pub mod joined;
pub mod layers;
pub mod prepared;
pub mod result;
pub mod running;
pub mod saker;

pub use calibrate::{Calibration, Load, calibrate, calibrate_at};
pub use disk_kv::{retrieve_bytes, run_disk_groups, run_disk_kv};
pub use groups::{Group, GroupLimits};
pub use host_side::{block_depth, run_host_kv};
pub use joined::{Clocked, Inline};
pub use layers::{Layers, ValueLog};
pub use prepared::Prepared;
pub use result::{Job, ReadPath, RunResult, Side};
pub use running::Running;
pub use saker::run_saker;
