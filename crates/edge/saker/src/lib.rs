// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the pure crates meet the operating system: image files, threads, the clock, and the doors for
//! applications, [`Kv::open`], [`Saker::open`] and [`Block::open`].

pub mod backup;
mod backup_error;
pub mod block;
pub mod create;
mod device;
mod divide;
mod ensure;
pub mod error;
pub mod grow;
pub mod kv;
pub mod kv_cache;
pub mod main_tree;
mod part;
mod profiles;
mod raw;
pub mod salvage;
pub mod scrub;
pub mod secrets;
pub mod sessions;
mod settings;
mod shared;
pub mod store;
mod store_error;
mod trees;
pub mod url;
pub mod verify;

pub use backup::{
    Backup, BackupError, BackupNamespace, BackupOptions, Consistency, RestoreOptions, back_up, back_up_kv,
    read_backup, restore, restore_kv,
};
pub use block::{Block, SharedBlock};
pub use create::{CreatedImage, ImagePlan, NamespacePlan, create_image, new_uuid};
pub use device::records::device_config;
pub use device::{build_device, build_device_at, close_device, refuse_damaged, refuse_hybrid};
pub use ensure::Ensured;
pub use error::{Error, PlanError};
pub use grow::{Grown, grow_image};
pub use kv::{CommitThroughError, Keys, Kv, Pairs, ReadTransaction, Transaction};
pub use kv_cache::{KvCache, KvCacheStats};
pub use part::part_name;
pub use profiles::profile_named;
pub use raw::Raw;
#[doc(inline)]
pub use saker_device::stats::{Fits, NamespaceSnapshot, Stats};
#[doc(inline)]
pub use saker_device::{EngineKind, NamespaceConfig, NamespaceKind, Packing, Setting, Settings, Typed};
#[doc(inline)]
pub use saker_engine::write_gate::{Held, Hold, Period, Stalls, WriteControl};
#[doc(inline)]
pub use saker_engine::{WriteCondition, WriteStallCause};
#[doc(inline)]
pub use saker_host::group::{Form, Op, PairVersion};
#[doc(inline)]
pub use saker_host::retention::{RetentionOptions, RetentionOrder};
#[doc(inline)]
pub use saker_host::session::SyncError;
#[doc(inline)]
pub use saker_host::{
    CacheOptions, CachePolicy, CacheStats, Compound, DeviceIterator, GroupBuilder, GroupStats, HostError,
    KeyRange, KvError, PairBatch, QueuedGet, Require, ScanCursor, ScanOptions, ScanOrder, TransactionEnd,
    TransactionSet, Values, Versioned, WriteBatch,
};
pub use saker_image as image;
#[doc(inline)]
pub use saker_linux::Submission;
#[doc(inline)]
pub use saker_nvme::Key;
#[doc(inline)]
pub use saker_nvme::group::{SplitOutcome, TransactionId};
#[doc(inline)]
pub use saker_nvme::vendor_specific::{CommandClass, Counter, CounterKind, CounterOf};
#[doc(inline)]
pub use saker_runtime::{AnyDevice, AnyDriver, DeviceThread, Rest, any, panics, use_huge_pages};
pub use salvage::{Losses, Lost, Piece, Repaired, Salvaged, repair_image};
pub use scrub::{ScrubNews, Scrubbed, scrub};
pub use sessions::{Durable, Saker, SakerOptions, Session, Synced};
pub use settings::NamedSetting;
pub use shared::{Born, Shared};
pub use store::{Answer, AsyncStore, Spaces, Store, StoreTransaction};
pub use store_error::StoreError;
pub use url::{Backing, DeviceUrl, LinuxPlace, Salvage, TcpPlace, Timing, UrlError, VfioPlace, parse_size};
pub use verify::{Verified, check_image, image_namespaces, verify_image};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
struct Readme;

/// The examples of the page about this crate are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/api.md")]
struct Api;
