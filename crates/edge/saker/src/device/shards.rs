// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device in memory that consists of several, each with its share of the flash and of the keys.

use super::settings::{refuse_idle, settings_of};
use super::{identity, refuse_workers};
use crate::error::Error;
use crate::profiles::profile_named;
use crate::url::{Backing, DeviceUrl, Timing};
use saker_assembly::{Build, BuildError, port, written};
use saker_device::Attachment;
use saker_host::Port;
use saker_link::DmaSpace;
use saker_nvme::vendor_specific::Methods;
use saker_runtime::{AnyDevice, AnyDriver, DeviceThread};
use saker_shards::{Shard, Sharded};
use std::sync::Arc;

/// Queue pairs of a shard: the dispatcher needs one.
const QUEUE_PAIRS: u16 = 1;

/// Starts the shards of a URL and what hands commands to them.
pub(crate) fn start(url: &DeviceUrl) -> Result<(AnyDriver, Port, String), Error> {
    let Backing::Memory { bytes, profile, seed, engine, shards, .. } = &url.place else {
        return Err(Error::NotLocal);
    };
    super::cpus::refuse_missing(url)?;
    let profile = profile_named(profile)?;
    let space = space(url.depth, *shards);
    let identity = identity::in_memory(url, *seed)?;
    let settings = settings_of(url, &[*engine])?;
    settings.iter().try_for_each(|asked| refuse_idle(*engine, asked, asked))?;
    let shard = |n: u16| {
        let seed = seed.wrapping_add(u64::from(n));
        let built = Build::kv(&profile, *bytes / u64::from(*shards), seed);
        let build = built.map_err(|error| too_small(error, *bytes, *shards))?.with_engine(*engine);
        let mut build = build.asked(&settings)?;
        refuse_workers(&build.config.namespaces, url)?;
        build.config.identity = identity.wrapping_add(u64::from(n));
        let host = Attachment::new(Arc::clone(&space), QUEUE_PAIRS);
        let driver = running(build, &host, url, u64::from(*shards));
        Ok::<_, Error>(Shard::open(port(&host), driver, 1, url.depth)?)
    };
    let all = (0..*shards).map(shard).collect::<Result<Vec<_>, Error>>()?;
    let sharded = Sharded::new(all, space);
    let port = sharded.port();
    Ok((AnyDriver::Sharded(Box::new(sharded)), port, profile.name))
}

/// Each shard has its part of the size: that is what is wrong, and not the size alone.
fn too_small(error: BuildError, bytes: u64, shards: u16) -> Error {
    let BuildError::TooSmall { asked, profile, least, .. } = &error else { return error.into() };
    let what = format!(
        "option `shards={shards}`: a shard has {} of the {}, too few for profile {profile}: it needs at least {}",
        written(*asked),
        written(bytes),
        written(*least)
    );
    let enough = format!("size={} or more", written(least.saturating_mul(u64::from(shards))));
    let todo = match bytes / least {
        0 => format!("give {enough}"),
        1 => format!("leave shards out, or give {enough}"),
        most => format!("give shards={most} or fewer, or {enough}"),
    };
    Error::Setting { what, todo }
}

/// A shard's device, on this thread or its own.
fn running(mut build: Build, host: &Attachment, url: &DeviceUrl, shards: u64) -> AnyDriver {
    build.faults = url.faults;
    // The dispatcher takes whole commands with a key in the entry, and groups.
    build.config.methods = Methods::default()
        .with_groups(true)
        .with_groups_both_ways(true)
        .with_transactions(true)
        .with_retrieve_versioned(true);
    let mut device = match url.timing {
        Timing::Off => AnyDevice::Untimed(Box::new(build.untimed(host.clone()))),
        Timing::Real => AnyDevice::Timed(Box::new(build.timed(host.clone()))),
    };
    if url.prefault > 0 {
        device.bring_in(url.prefault.div_ceil(shards));
    }
    if url.threads == 0 {
        AnyDriver::Inline(device)
    } else {
        AnyDriver::Thread(DeviceThread::start_on(device, &url.device_cpus))
    }
}

/// Memory for the host's commands and as many of every shard.
fn space(depth: u16, shards: u16) -> Arc<DmaSpace> {
    let (depth, ends) = (u32::from(depth), u32::from(shards) + 1);
    DmaSpace::new((depth * 4 + 512) * ends, (depth * 2 + 64) * ends)
}
