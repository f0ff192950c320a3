// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The records of namespaces in the header block.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::{ERASING, Fault, LATER_SETTINGS, MAPS_ON_FLASH, Wire};
use crate::ImageConfig;
use crate::config::{NAMESPACES_MAX, NamespaceKind, NamespaceRecord, check_namespaces};
use saker_engine::EngineKind;
use std::collections::BTreeSet;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct WireNamespace {
    nsid: U32,
    pub(super) kind: u8,
    pub(super) engine: u8,
    reserved: [u8; 2],
    quota_segments: U32,
    block_bytes: U32,
    blocks: U64,
    pub(super) flags: U32,
    value_bytes_max: U32,
    seed: U64,
    reserved2: [u8; 24],
}

const _: () = assert!(size_of::<WireNamespace>() == 64);

pub(super) fn put_namespaces(wire: &mut Wire, records: &[NamespaceRecord]) {
    assert!(records.len() <= NAMESPACES_MAX, "the configuration was validated");
    assert!(
        records.iter().all(|r| r.engine.code().is_some()),
        "the configuration has no engine without a number"
    );
    wire.namespaces = (records.len() as u32).into();
    let has_later = records.iter().any(NamespaceRecord::has_later_settings);
    let has_maps = records.iter().any(|record| record.map_cache_bytes() > 0);
    let others = wire.incompatible.get() & !(LATER_SETTINGS | MAPS_ON_FLASH);
    let later = if has_later { LATER_SETTINGS } else { 0 };
    wire.incompatible = (others | later | if has_maps { MAPS_ON_FLASH } else { 0 }).into();
    wire.records.as_mut_bytes().fill(0);
    for (out, record) in wire.records.iter_mut().zip(records) {
        out.nsid = record.nsid.into();
        out.kind = match record.kind {
            NamespaceKind::Kv => 1,
            NamespaceKind::Block => 2,
        };
        out.engine = record.engine.code().unwrap_or(u8::MAX);
        out.quota_segments = record.quota_segments.into();
        out.block_bytes = record.block_bytes.into();
        out.blocks = record.blocks.into();
        out.flags = record.flags.into();
        out.value_bytes_max = record.value_bytes_max.into();
        out.seed = record.seed.into();
    }
}

pub(super) fn decode_namespaces(wire: &Wire) -> Result<Vec<NamespaceRecord>, Fault> {
    let count = wire.namespaces.get() as usize;
    let records =
        wire.records.get(..count).ok_or_else(|| Fault::Bad(format!("it counts {count} namespaces")))?;
    let records: Vec<_> = records.iter().map(decode_namespace).collect::<Result<_, _>>()?;
    check_namespaces(&records).map_err(Fault::Bad)?;
    let has_maps = records.iter().any(|record| record.map_cache_bytes() > 0);
    if has_maps != (wire.incompatible.get() & MAPS_ON_FLASH != 0) {
        return Err(Fault::Bad("what it says of maps on flash contradicts itself".into()));
    }
    Ok(records)
}

/// Names the namespaces whose erasure has begun; programs that do not know of that must not open the image until it ends.
pub(super) fn put_erasing(wire: &mut Wire, namespaces: &BTreeSet<u16>) {
    assert!(namespaces.len() <= NAMESPACES_MAX, "namespaces of this image");
    wire.erasing.as_mut_bytes().fill(0);
    wire.erasing.iter_mut().zip(namespaces).for_each(|(out, nsid)| *out = (*nsid).into());
    let others = wire.incompatible.get() & !ERASING;
    wire.incompatible = (others | if namespaces.is_empty() { 0 } else { ERASING }).into();
}

pub(super) fn decode_erasing(wire: &Wire, config: &ImageConfig) -> Result<BTreeSet<u16>, Fault> {
    let named: BTreeSet<u16> =
        wire.erasing.iter().map(|nsid| U16::get(*nsid)).filter(|nsid| *nsid != 0).collect();
    let exists = |nsid: &u16| config.namespaces.iter().any(|record| record.nsid == u32::from(*nsid));
    if let Some(stranger) = named.iter().find(|nsid| !exists(nsid)) {
        return Err(Fault::Bad(format!("namespace {stranger}, which is being erased, does not exist")));
    }
    if named.is_empty() != (wire.incompatible.get() & ERASING == 0) {
        return Err(Fault::Bad("what it says of erasures contradicts itself".into()));
    }
    Ok(named)
}

fn decode_namespace(wire: &WireNamespace) -> Result<NamespaceRecord, Fault> {
    let kind = match wire.kind {
        1 => NamespaceKind::Kv,
        2 => NamespaceKind::Block,
        other => return Err(Fault::Bad(format!("namespace kind {other} does not exist"))),
    };
    let unknown = || Fault::Unsupported(format!("an engine this program does not know ({})", wire.engine));
    let record = NamespaceRecord {
        nsid: wire.nsid.get(),
        kind,
        engine: EngineKind::from_code(wire.engine).ok_or_else(unknown)?,
        quota_segments: wire.quota_segments.get(),
        block_bytes: wire.block_bytes.get(),
        blocks: wire.blocks.get(),
        flags: wire.flags.get(),
        value_bytes_max: wire.value_bytes_max.get(),
        seed: wire.seed.get(),
    };
    // An engine that does not know how its pages were written would take them for damaged.
    if record.is_known() {
        return Ok(record);
    }
    Err(Fault::Unsupported(format!(
        "settings of engine {} that this program does not know",
        record.engine.name()
    )))
}
