// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong between an application and its device. Each text is one line that says what to do.
//!
//! The parts of these errors have their names here.
//!
//! ```
//! use saker::error::{BuildError, EnvelopeError, HostError, KeyLengthError, LinuxError, MemoryError, ProfileError, VfioError};
//! use saker::error::{ProtocolError, Refused, RemoteError, Status, SubmitError};
//! use saker::StoreError;
//! #[derive(Debug)]
//! enum Layer {
//!     Opening(Option<(BuildError, LinuxError, ProfileError, RemoteError, VfioError)>),
//!     Host(Option<(EnvelopeError, KeyLengthError, MemoryError, ProtocolError, Refused, SubmitError)>),
//!     Device(Status),
//! }
//! fn layer(error: &StoreError) -> Layer {
//!     match error {
//!         StoreError::Host(HostError::Status(status)) => Layer::Device(*status),
//!         StoreError::Host(_) => Layer::Host(None),
//!         _ => Layer::Opening(None),
//!     }
//! }
//! assert!(matches!(layer(&StoreError::Closed), Layer::Opening(None)));
//! ```

pub use crate::backup_error::BackupError;
pub use crate::image::ImageError;
pub use crate::url::UrlError;
#[doc(inline)]
pub use saker_assembly::BuildError;
#[doc(inline)]
pub use saker_host::{EnvelopeError, HostError, KvError, MemoryError, ProtocolError, SubmitError};
#[doc(inline)]
pub use saker_initiator::RemoteError;
#[doc(inline)]
pub use saker_linux::LinuxError;
#[doc(inline)]
pub use saker_nvme::group::Refused;
#[doc(inline)]
pub use saker_nvme::{KeyLengthError, Status};
#[doc(inline)]
pub use saker_profile::ProfileError;
#[doc(inline)]
pub use saker_vfio_client::VfioError;

use saker_assembly::{or_profile, written};
use thiserror::Error;

/// Why a device cannot be opened or used.
///
/// ```
/// use saker::{Error, Kv};
/// match Kv::open("mem:?size=4MiB&profile=tiny&nsid=7") {
///     Err(Error::Missing { nsid, there }) => assert_eq!((nsid, &there[..]), (7, "1 (kv)")),
///     other => panic!("{other:?}"),
/// }
/// let error = Kv::open("file:no/such/disk.img").unwrap_err();
/// assert!(matches!(error, Error::Image(_)), "{error}"); // its text is one line for a user
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error)]
pub enum Error {
    /// The URL makes no sense.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// An option of the URL that the engines of an image do not take.
    #[error("{what}; {todo}")]
    Setting {
        /// What does not fit.
        what: String,
        /// What to do.
        todo: String,
    },
    /// A main tree that the program brings along cannot be used.
    #[error("the tree at the host does not open: {0}")]
    MainTree(String),
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The size makes no sense.
    #[error("{}; {}", .0, .0.remedy())]
    Build(#[from] BuildError),
    /// The namespaces make no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The image cannot be opened.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image is damaged.
    #[error("namespace {nsid} is damaged: {what}; run `saker check` on the image")]
    Damaged {
        /// Which namespace.
        nsid: u32,
        /// What is wrong.
        what: String,
    },
    /// A backup cannot be made, read or restored.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The device refused, or did not answer.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The target cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The namespace behind the kernel's driver cannot be used.
    #[error(transparent)]
    Linux(#[from] LinuxError),
    /// The device behind a socket cannot be used.
    #[error(transparent)]
    VfioUser(#[from] VfioError),
    /// The store over both namespaces does not open.
    #[error(transparent)]
    Hybrid(#[from] saker_hybrid::OpenError),
    /// The device is not in this process.
    #[error("a tcp, vfio-user or /dev device cannot be served again; name one with mem: or file:")]
    NotLocal,
    /// The device has no namespace of that kind.
    #[error("the device has no {wanted} namespace; it has {there}")]
    NoNamespace {
        /// `key-value` or `block`.
        wanted: &'static str,
        /// What there is: `1 (kv), 2 (block)`.
        there: String,
    },
    /// The namespace that was asked for is of another kind, or is none.
    #[error("namespace {nsid} is no {wanted} namespace; the device has {there}")]
    OtherNamespace {
        /// The one asked for.
        nsid: u32,
        /// `key-value` or `block`.
        wanted: &'static str,
        /// What there is: `1 (kv), 2 (block)`.
        there: String,
    },
    /// There is no namespace of that number.
    #[error("there is no namespace {nsid}; the device has {there}")]
    Missing {
        /// The one asked for.
        nsid: u32,
        /// What there is: `1 (kv), 2 (block)`.
        there: String,
    },
    /// Every session that was asked for is open.
    #[error("all sessions are open; drop one, or open the device with more (SakerOptions)")]
    NoSession,
    /// A length that is no whole number of blocks, or a range beyond the end of a block namespace.
    #[error("{0}")]
    Range(String),
}

/// Why flash cannot be divided as asked.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// use saker::{Error, ImagePlan, NamespacePlan, PlanError};
/// let namespaces = vec![NamespacePlan::Block { bytes: None, block_bytes: 1000 }];
/// let plan = ImagePlan { namespaces, ..ImagePlan::kv(4 << 20, "tiny", 1) };
/// let Err(Error::Plan(error)) = plan.create(&path) else { panic!("pages hold no such blocks") };
/// assert!(matches!(&error, PlanError::BlockBytes { asked: 1000, .. }));
/// assert!(error.to_string().contains("; give 512"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// None, or more than an image records.
    #[error("{count} namespaces are asked for; an image has 1 to {max}")]
    Count {
        /// As many as asked for.
        count: usize,
        /// The most.
        max: usize,
    },
    /// Blocks that flash pages do not hold.
    #[error("blocks of {asked} bytes do not fit the pages of profile {profile}; give {suited}")]
    BlockBytes {
        /// Bytes asked for.
        asked: u32,
        /// The profile.
        profile: String,
        /// Sizes that fit.
        suited: String,
    },
    /// A cached mapping table that is too small for one step of a map on flash, or too large to be told in an image.
    #[error("the cached mapping table of a map on flash has {least} to {most} bytes; give one in between")]
    MapCache {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The namespaces need more flash than there is.
    #[error(
        "the namespaces need {needed} bytes of flash and there are {there}; give a larger --size or smaller namespaces"
    )]
    TooLarge {
        /// Bytes they need.
        needed: u64,
        /// Bytes there are.
        there: u64,
    },
    /// A namespace that is too small to work.
    #[error(
        "namespace {nsid} would have {} of flash and needs at least {}; give it more, or a larger --size{}",
        written(*there), written(*least), or_profile(fitting)
    )]
    TooSmall {
        /// Which.
        nsid: u32,
        /// Its flash.
        there: u64,
        /// The least.
        least: u64,
        /// Built-in profiles on which the namespaces have enough.
        fitting: Vec<&'static str>,
    },
    /// An image only grows.
    #[error("the image has {there} bytes of flash and does not shrink; give at least {} bytes", there + step)]
    NotLarger {
        /// Bytes of flash that it has.
        there: u64,
        /// Bytes of a superblock.
        step: u64,
    },
    /// Several namespaces could have what is new.
    #[error("the image has several namespaces ({there}); say whose the new flash is with --namespace N")]
    Whose {
        /// Their numbers.
        there: String,
    },
    /// Neither the flash nor every namespace has a size.
    #[error("nothing says how large the image is; give --size, or every namespace a size")]
    NoSize,
    /// More than one namespace without a size.
    #[error("more than one namespace has no size; give all but one a size")]
    Rest,
}
