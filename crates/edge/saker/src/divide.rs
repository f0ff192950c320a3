// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How flash is divided among namespaces.

use crate::error::{Error, PlanError};
use crate::image::{MAP_CACHE_MAX, MAP_CACHE_UNIT, NAMESPACES_MAX};
use saker_assembly::BuildError;
use saker_assembly::{SEGMENTS_MIN, profiles_where, shape_for};
use saker_device::NamespaceConfig;
use saker_flash::nand::Shape;
use saker_flash::page_map::PageMapConfig;
use saker_profile::Profile;
use saker_segment_store::Geometry;
use saker_segment_store::header::HEADER_BYTES;

/// A namespace as it is asked for.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// use saker::{ImagePlan, NamespacePlan};
/// let pairs = NamespacePlan::Kv { flash_bytes: Some(8 << 20) };
/// let blocks = NamespacePlan::Block { bytes: None, block_bytes: 512 }; // on what is left
/// let plan = ImagePlan { namespaces: vec![pairs, blocks], ..ImagePlan::kv(24 << 20, "tiny", 1) };
/// assert_eq!(plan.create(&path)?.namespaces.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespacePlan {
    /// Key-value pairs.
    Kv {
        /// Bytes of flash, rounded down to whole superblocks; `None`: what the others leave.
        flash_bytes: Option<u64>,
    },
    /// Logical blocks.
    Block {
        /// Bytes of its blocks, exactly (rounded down to whole blocks); the flash they need is more. `None`: as many
        /// as fit into what the others leave.
        bytes: Option<u64>,
        /// Bytes of a block. Flash pages must hold whole blocks.
        block_bytes: u32,
    },
    /// The same, with their map on flash (DFTL) and not in memory.
    BlockOnFlash {
        /// Bytes of its blocks, as of others.
        bytes: Option<u64>,
        /// Bytes of a block.
        block_bytes: u32,
        /// Memory of the cached mapping table, rounded down to whole KiB: 1 KiB at least, and an entry for each of four flash pages'
        /// blocks.
        map_cache_bytes: u64,
    },
}

impl NamespacePlan {
    /// The size asked for.
    pub(crate) const fn bytes(&self) -> Option<u64> {
        match *self {
            Self::Kv { flash_bytes: bytes }
            | Self::Block { bytes, .. }
            | Self::BlockOnFlash { bytes, .. } => bytes,
        }
    }

    /// Of blocks: the size asked for, bytes of a block, memory of the cached mapping table.
    const fn blocks(&self) -> Option<(Option<u64>, u32, u64)> {
        match *self {
            Self::Kv { .. } => None,
            Self::Block { bytes, block_bytes } => Some((bytes, block_bytes, 0)),
            Self::BlockOnFlash { bytes, block_bytes, map_cache_bytes } => {
                Some((bytes, block_bytes, map_cache_bytes / MAP_CACHE_UNIT * MAP_CACHE_UNIT))
            }
        }
    }
}

/// Shape of the flash and the namespaces on it, numbered from 1 in the order of `plans`. A namespace has at least as
/// many superblocks as a whole device needs, so superblocks become small enough for the smallest one.
///
/// # Errors
/// [`PlanError`], or the profile needs more flash.
pub(crate) fn divide(
    profile: &Profile,
    bytes: u64,
    seed: u64,
    plans: &[NamespacePlan],
) -> Result<(Shape, Vec<NamespaceConfig>), Error> {
    check(plans)?;
    cut(profile, bytes, seed, plans).map_err(|mut error| {
        if let Error::Plan(PlanError::TooSmall { fitting, .. })
        | Error::Build(BuildError::TooSmall { fitting, .. }) = &mut error
        {
            *fitting = profiles_where(|profile| cut(profile, bytes, seed, plans).is_ok());
        }
        error
    })
}

fn cut(
    profile: &Profile,
    bytes: u64,
    seed: u64,
    plans: &[NamespacePlan],
) -> Result<(Shape, Vec<NamespaceConfig>), Error> {
    let shape = shape_for(profile, bytes, smallest(bytes, plans))?;
    let division = Division { profile, geometry: shape.geometry, seed };
    let quotas = division.quotas(plans)?;
    let numbered = plans.iter().zip(quotas).zip(1..);
    Ok((shape, numbered.map(|((plan, quota), nsid)| division.namespace(nsid, plan, quota)).collect()))
}

fn check(plans: &[NamespacePlan]) -> Result<(), PlanError> {
    let count = plans.len();
    if count == 0 || count > NAMESPACES_MAX {
        return Err(PlanError::Count { count, max: NAMESPACES_MAX });
    }
    let without = plans.iter().filter(|p| p.bytes().is_none()).count();
    if without > 1 { Err(PlanError::Rest) } else { Ok(()) }
}

/// Bytes of the smallest namespace, about: what chooses the size of superblocks.
fn smallest(bytes: u64, plans: &[NamespacePlan]) -> u64 {
    let asked: u64 = plans.iter().filter_map(NamespacePlan::bytes).fold(0, u64::saturating_add);
    let rest = bytes.saturating_sub(asked);
    plans.iter().map(|p| p.bytes().unwrap_or(rest)).min().unwrap_or(bytes).min(bytes)
}

struct Division<'a> {
    profile: &'a Profile,
    geometry: Geometry,
    seed: u64,
}

impl Division<'_> {
    fn quotas(&self, plans: &[NamespacePlan]) -> Result<Vec<u32>, PlanError> {
        let wanted = plans.iter().map(|plan| self.quota(plan)).collect::<Result<Vec<_>, _>>()?;
        let sum: u64 = wanted.iter().flatten().map(|q| u64::from(*q)).sum();
        let (there, segment) = (u64::from(self.geometry.segments), self.geometry.segment_bytes());
        if sum > there {
            return Err(PlanError::TooLarge { needed: sum.saturating_mul(segment), there: there * segment });
        }
        let quotas: Vec<_> = wanted.iter().map(|q| q.unwrap_or((there - sum) as u32)).collect();
        match quotas.iter().zip(1..).find(|(quota, _)| **quota < SEGMENTS_MIN) {
            None => Ok(quotas),
            Some((quota, nsid)) => Err(PlanError::TooSmall {
                nsid,
                there: u64::from(*quota) * segment,
                least: u64::from(SEGMENTS_MIN) * segment,
                fitting: Vec::new(),
            }),
        }
    }

    /// Superblocks of a namespace; `None`: what the others leave.
    fn quota(&self, plan: &NamespacePlan) -> Result<Option<u32>, PlanError> {
        let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let Some((bytes, block_bytes, map_cache)) = plan.blocks() else {
            return Ok(plan.bytes().map(|bytes| clamp(bytes / self.geometry.segment_bytes())));
        };
        self.check_block(block_bytes)?;
        if matches!(plan, NamespacePlan::BlockOnFlash { .. }) {
            self.check_map_cache(block_bytes, map_cache)?;
        }
        let blocks = bytes.map(|bytes| bytes / u64::from(block_bytes));
        Ok(blocks.map(|blocks| clamp(self.segments_for(blocks, block_bytes, map_cache))))
    }

    /// The fewest superblocks that carry so many blocks.
    fn segments_for(&self, blocks: u64, block_bytes: u32, map_cache: u64) -> u64 {
        let carried = |n: u64| {
            let quota = u32::try_from(n).unwrap_or(u32::MAX);
            let config = PageMapConfig::new(1, &self.geometry, quota, true, block_bytes);
            config.with_map_cache(&self.geometry, quota, map_cache).blocks
        };
        let bytes = u128::from(blocks) * u128::from(block_bytes);
        // Twice the blocks is more than maps and spare room take.
        let enough = bytes * 2 / u128::from(self.geometry.segment_bytes()) + 64;
        let (mut low, mut high) =
            (u64::from(SEGMENTS_MIN), u64::try_from(enough).unwrap_or(u64::MAX).min(u32::MAX.into()));
        while low < high {
            let middle = low.midpoint(high);
            if carried(middle) >= blocks { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// A cached mapping table has room for what one step needs, and the header of an image for its size.
    fn check_map_cache(&self, block_bytes: u32, bytes: u64) -> Result<(), PlanError> {
        let least = PageMapConfig::map_cache_bytes_min(&self.geometry, block_bytes).max(MAP_CACHE_UNIT);
        let least = least.next_multiple_of(MAP_CACHE_UNIT);
        if (least..=MAP_CACHE_MAX).contains(&bytes) {
            return Ok(());
        }
        Err(PlanError::MapCache { least, most: MAP_CACHE_MAX })
    }

    /// Pages hold whole blocks, and their out-of-band area 16 bytes for each.
    fn check_block(&self, asked: u32) -> Result<(), PlanError> {
        let g = &self.geometry;
        let room = (g.oob_bytes as usize).saturating_sub(HEADER_BYTES) as u32 / 16;
        let suits = |bytes: u32| {
            bytes <= g.page_bytes && g.page_bytes.is_multiple_of(bytes) && g.page_bytes / bytes <= room
        };
        let sizes: Vec<u32> = (9..=16).map(|bits| 1 << bits).filter(|bytes| suits(*bytes)).collect();
        if sizes.contains(&asked) {
            return Ok(());
        }
        let suited = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
        Err(PlanError::BlockBytes { asked, profile: self.profile.name.clone(), suited })
    }

    fn namespace(&self, nsid: u32, plan: &NamespacePlan, quota: u32) -> NamespaceConfig {
        let Some((bytes, block_bytes, map_cache_bytes)) = plan.blocks() else {
            // Each namespace has a key order of its own; the first has the image's.
            let seed = if nsid == 1 { self.seed } else { self.own_seed(nsid) };
            return NamespaceConfig::kv(nsid, &self.geometry, quota, seed);
        };
        let capacitor = self.profile.power.capacitor.get();
        let largest = NamespaceConfig::block(nsid, &self.geometry, quota, capacitor, block_bytes);
        let largest = largest.with_map_cache(&self.geometry, capacitor, map_cache_bytes);
        let Some(bytes) = bytes else { return largest };
        let blocks = bytes / u64::from(block_bytes);
        let kind = saker_device::NamespaceKind::Block { block_bytes, blocks, map_cache_bytes };
        NamespaceConfig { kind, ..largest }
    }

    fn own_seed(&self, nsid: u32) -> u64 {
        saker_sim::Seed(self.seed).child("namespace").index(u64::from(nsid)).0
    }
}
