// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making and verifying images.

use std::path::Path;

use saker::{
    CreatedImage, EngineKind, Error as DeviceError, ImagePlan, NamespaceKind, NamespacePlan,
    NamespaceSnapshot, Settings, Typed, image_namespaces, new_uuid, verify_image,
};

use saker::image::{ImageError, Severity};

use super::opened::{failed, refused};
use crate::args::create::CreateArgs;
use crate::args::namespaces::NamespaceChoice;
use crate::error::CliError;
use crate::report::{Blocks, CheckReport, CheckedNamespace, CreateReport, CreatedNamespace, Finding, Holds};
use crate::size;

/// Makes an image file.
///
/// # Errors
/// `Usage` for a size or a name that makes no sense, `File` or `Failed` otherwise.
pub fn create(args: &CreateArgs) -> Result<CreateReport, CliError> {
    let name = if args.hybrid { EngineKind::LSM.name() } else { &args.engine };
    let engine = EngineKind::named(name).ok_or_else(|| {
        let there = format!("the engines there are: {}", EngineKind::names());
        CliError::usage(format!("there is no engine `{}`", args.engine), there)
    })?;
    let settings = settings(args, engine)?;
    let plan = plan(args, engine, settings).map_err(|e| refused(&e))?;
    let made =
        if args.force && args.image.is_file() { plan.replace(&args.image) } else { plan.create(&args.image) };
    let made = made.map_err(|e| not_made(args, &e))?;
    let there = image_namespaces(&args.image).map_err(|e| failed(&e))?;
    let namespaces = made.namespaces.iter().map(|n| created(n, &made, &there)).collect();
    let (image, profile) = (args.image.clone(), args.profile.clone());
    Ok(CreateReport {
        image,
        flash_bytes: made.flash_bytes,
        profile,
        engine: engine.name().into(),
        namespaces,
    })
}

/// Why an image was not made. This command can replace what is there.
fn not_made(args: &CreateArgs, error: &DeviceError) -> CliError {
    match error {
        DeviceError::Image(ImageError::Exists { path }) if *path == args.image => {
            let what = format!("{} exists already", path.display());
            CliError::failed(what, "choose another name, or replace it with --force")
        }
        error => refused(error),
    }
}

/// What is asked of the engine. All of it belongs to the image: the rest is for those who open it.
fn settings(args: &CreateArgs, engine: EngineKind) -> Result<Settings, CliError> {
    let mut typed = Typed::default();
    args.settings.iter().for_each(|(name, value)| typed.push(name, value));
    args.packing.iter().for_each(|policy| typed.push("packing", policy));
    if let Some(name) = typed.unknown(&[engine.settings()]) {
        let what = format!("the engine {} has no setting `{name}`", engine.name());
        let todo = match EngineKind::names_with(name) {
            with if with.is_empty() => format!("its settings for images are: {}", kept(engine)),
            with => format!("it is a setting of {with}"),
        };
        return Err(CliError::usage(what, todo));
    }
    let asked = typed.of(engine.settings(), |text| size::parse(text).ok());
    let asked = asked.map_err(|(what, todo)| CliError::usage(format!("--set {what}"), todo))?;
    let passing = engine.settings().iter().find(|s| s.place().is_none() && asked.get(s.name).is_some());
    match passing {
        None => Ok(asked),
        Some(setting) => {
            let what = format!("an image does not keep `{}`", setting.name);
            Err(CliError::usage(what, format!("write it in the device URL: file:IMAGE?{}=...", setting.name)))
        }
    }
}

/// The settings of an engine that an image keeps.
fn kept(engine: EngineKind) -> String {
    let kept: Vec<_> = engine.settings().iter().filter(|s| s.place().is_some()).map(|s| s.name).collect();
    if kept.is_empty() { "none".to_owned() } else { kept.join(", ") }
}

fn plan(args: &CreateArgs, engine: EngineKind, settings: Settings) -> Result<ImagePlan, DeviceError> {
    let choice = |choice: &NamespaceChoice| match *choice {
        NamespaceChoice::Kv { flash_bytes } => NamespacePlan::Kv { flash_bytes },
        NamespaceChoice::Block { bytes, block_bytes, map_cache: None } => {
            NamespacePlan::Block { bytes, block_bytes }
        }
        NamespaceChoice::Block { bytes, block_bytes, map_cache: Some(map_cache_bytes) } => {
            NamespacePlan::BlockOnFlash { bytes, block_bytes, map_cache_bytes }
        }
    };
    let mut namespaces: Vec<_> = args.namespaces.iter().map(choice).collect();
    if namespaces.is_empty() {
        namespaces.push(NamespacePlan::Kv { flash_bytes: None });
    }
    // Whoever gives a seed wants the same image again; others want one that hosts tell from all others.
    let uuid = if args.seed.is_some() { None } else { Some(new_uuid()?) };
    let (seed, profile) = (args.key_seed(), args.profile.clone());
    if let (true, Some(bytes)) = (args.hybrid, args.size) {
        return Ok(ImagePlan { uuid, ..ImagePlan::hybrid_with(bytes, &profile, seed, &settings)? });
    }
    Ok(ImagePlan { bytes: args.size, profile, seed, uuid, engine, settings, namespaces })
}

fn created(n: &saker::NamespaceConfig, made: &CreatedImage, there: &[NamespaceSnapshot]) -> CreatedNamespace {
    let (kind, blocks) = match n.kind {
        NamespaceKind::Kv { .. } => ("kv", None),
        NamespaceKind::Block { block_bytes, blocks, map_cache_bytes } => {
            ("block", Some(Blocks { block_bytes, blocks, map_cache_bytes }))
        }
    };
    let flash_bytes = u64::from(n.quota_segments) * made.segment_bytes;
    let is_it = |s: &&NamespaceSnapshot| s.nsid == n.nsid && s.kind == "kv";
    let holds = there.iter().find(is_it).map(|s| Holds {
        capacity_bytes: s.capacity_bytes,
        fits: s.fits.iter().map(|f| (format!("pairs_of_{}_bytes", f.value_bytes), f.pairs)).collect(),
    });
    CreatedNamespace { nsid: n.nsid, kind, flash_bytes, blocks, holds }
}

/// Verifies an image file without changing it. Damage is a finding, no error.
///
/// # Errors
/// `File` or `Failed` when it cannot be read at all.
pub fn check(image: &Path) -> Result<CheckReport, CliError> {
    let blank = CheckReport {
        image: image.to_path_buf(),
        records: 0,
        bytes: 0,
        torn: 0,
        namespaces: Vec::new(),
        damage: Vec::new(),
        repairable: Vec::new(),
        losses: None,
        next: Vec::new(),
    };
    let found = match verify_image(image, &mut |_| {}) {
        Ok(found) => found,
        Err(DeviceError::Damaged { nsid, what }) => {
            let damage = vec![Finding { place: format!("namespace {nsid}"), what }];
            return Ok(super::salvage::add_losses(CheckReport { damage, ..blank }));
        }
        Err(e) => return Err(failed(&e)),
    };
    let of = |severity| {
        let wanted = found.report.findings.iter().filter(move |f| f.severity == severity);
        wanted.map(|f| finding(&f.what)).collect()
    };
    Ok(super::salvage::add_losses(CheckReport {
        records: found.namespaces.iter().map(|n| n.store.pairs).sum(),
        bytes: found.report.counts.bytes_in_use,
        torn: found.report.counts.pages_torn,
        namespaces: found.namespaces.iter().map(checked).collect(),
        damage: of(Severity::Damage),
        repairable: of(Severity::Repairable),
        ..blank
    }))
}

/// A finding's words begin with the place.
fn finding(what: &str) -> Finding {
    let (place, what) = what.split_once(": ").unwrap_or(("file", what));
    Finding { place: place.into(), what: what.into() }
}

fn checked(n: &NamespaceSnapshot) -> CheckedNamespace {
    CheckedNamespace { nsid: n.nsid, kind: n.kind, records: n.store.pairs, live_bytes: n.live_bytes }
}
