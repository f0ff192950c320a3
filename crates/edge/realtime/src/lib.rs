//! Where the pure crates meet the operating system: image files, threads, the clock, and the door for
//! applications ([`Kv::open`]).

pub mod any;
pub mod bench;
mod huge_pages;
pub mod image;
pub mod kv;
pub mod url;

pub use any::{AnyDevice, AnyTurn, DeviceThread};
pub use kv::{Error, Kv, check_image, create_image};
pub use saker_device::stats::{NamespaceSnapshot, Snapshot};
pub use url::DeviceUrl;
