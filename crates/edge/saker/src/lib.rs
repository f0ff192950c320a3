//! Where the pure crates meet the operating system: image files, threads, the clock, and the doors for
//! applications, [`Kv::open`], [`Saker::open`] and [`Block::open`].

pub mod block;
pub mod create;
mod device;
pub mod error;
pub mod kv;
pub mod kv_cache;
mod profiles;
mod raw;
pub mod salvage;
pub mod sessions;
pub mod url;
pub mod verify;

pub use block::Block;
pub use create::{CreatedImage, ImagePlan, NamespacePlan, create_image, new_uuid};
pub use device::records::device_config;
pub use device::{build_device, close_device};
pub use error::{Error, PlanError};
pub use kv::Kv;
pub use kv_cache::{KvCache, KvCacheStats};
pub use profiles::profile_named;
pub use raw::Raw;
pub use saker_device::stats::{Fits, NamespaceSnapshot, Stats};
pub use saker_device::{EngineKind, NamespaceConfig, NamespaceKind, Packing, Setting, Settings, Typed};
pub use saker_host::retention::{RetentionOptions, RetentionOrder};
pub use saker_host::{
    CacheOptions, CachePolicy, CacheStats, DeviceIterator, GroupStats, KeyRange, PairBatch, ScanOptions,
    ScanOrder, WriteBatch,
};
pub use saker_image as image;
pub use saker_linux::Submission;
pub use saker_runtime::{AnyDevice, AnyDriver, DeviceThread, any, panics, use_huge_pages};
pub use salvage::{Losses, Lost, Piece, Repaired, Salvaged, repair_image};
pub use sessions::{Saker, SakerOptions};
pub use url::{DeviceUrl, LinuxPlace, Salvage, TcpPlace};
pub use verify::{Verified, check_image, image_namespaces, verify_image};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
struct Readme;

/// The examples of the page about this crate are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/api.md")]
struct Api;
