// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The path of the engine: stores by commands, one after the other, into the LSM store of a device in virtual time, whose policy
//! says where values go in the value log.
//!
//! Only values are programmed: one memtable holds all entries, and no manifest is due, since tables and manifests are the same for
//! every policy. The ring has as many pages as the profile's buffer, and can be lost, so that a Flush programs its last page too.

use super::oracle::Count;
use super::records::{self, Ground};
use super::{Arrival, Packed, Policy, buffer, plain};
use crate::error::LabError;
use crate::rig::complete;
use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_engine::lsm::settings::asking_for;
use saker_host::{Pacing, TransferOptions, TransferPolicy};
use saker_profile::Profile;
use saker_world::{Job, Op, StoreKind, run_virtual};

/// Bytes of keys: BandSlim's.
const KEY_BYTES: u32 = 4;
/// Least flash of a run.
const FLASH_BYTES_MIN: u64 = 1 << 30;
/// Flash for each byte that a policy can program, so that nothing is collected.
const FLASH_PARTS: u64 = 3;
/// Bytes of a memory page.
const UNIT_BYTES: u64 = 4096;
/// A memtable that is never full.
const WRITE_BUFFER_BYTES: u64 = 1 << 32;

/// Stores of a workload on a profile.
pub struct Path<'a> {
    build: Build,
    transfer: TransferPolicy,
    values: &'a [Arrival],
}

impl<'a> Path<'a> {
    /// Values that go by `transfer`, which sends each as it is to arrive.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn new(
        profile: &Profile,
        seed: u64,
        transfer: TransferPolicy,
        values: &'a [Arrival],
    ) -> Result<Self, LabError> {
        let mut profile = profile.clone();
        profile.geometry.power_safe_ring_slots.value = buffer(&profile).pages;
        profile.power.capacitor.value = false;
        let mut build = Build::kv(&profile, flash_bytes(values), seed)?.with_engine(EngineKind::LSM);
        build.config.checkpoint_bytes = Some(u64::MAX);
        build.compact = true;
        build.ask(&Settings::told(&[("write_buffer_size", WRITE_BUFFER_BYTES)]));
        Ok(Self { build, transfer, values })
    }

    /// The same where a store waits for the pages that it fills.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn waiting(&self) -> Result<Self, LabError> {
        let mut profile = self.build.profile.clone();
        profile.firmware.programs_awaited.value = true;
        Self::new(&profile, self.build.config.identity, self.transfer.clone(), self.values)
    }

    /// The oracle's count of what a policy of the paper comes to. A quarter of the ring may wait to be filled.
    pub fn count(&self, policy: Policy) -> Option<Count> {
        let ground = Ground {
            key: u64::from(KEY_BYTES),
            segment: self.build.shape.geometry.segment_bytes(),
            held: u64::from(self.build.ring_slots()) / 4,
        };
        records::count(policy, &plain(self.values), ground)
    }

    /// What a policy comes to.
    ///
    /// # Errors
    /// [`LabError`], also when a store was refused.
    pub fn run(&self, policy: Policy) -> Result<Packed, LabError> {
        let mut build = self.build.clone();
        build.ask(&asking_for(policy.of_engine()));
        let transfer = TransferOptions {
            policy: self.transfer.clone(),
            pacing: Pacing::Passthrough,
            ..TransferOptions::default()
        };
        let operations = (0..).zip(self.values).map(|(n, value)| put(n, value.bytes())).collect();
        let job = Job { threads: 1, depth: 1, operations, flush: true, transfer };
        let mut done = run_virtual(StoreKind::Disk, &build, &[job])?;
        let done = complete(done.pop().unwrap_or_default(), policy.name())?;
        Ok(Packed {
            stores: self.values.len() as u64,
            bytes: self.values.iter().map(|value| u64::from(value.bytes())).sum(),
            pages: done.value_log.pages,
            copied: done.value_log.copied_bytes,
            us: done.latency.mean() / 1000.0,
        })
    }
}

/// A store of a key of its own.
fn put(number: u32, bytes: u32) -> Op {
    // An odd factor permutes the numbers, so keys come in no order.
    Op::Put(number.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec(), vec![number as u8; bytes as usize])
}

fn flash_bytes(values: &[Arrival]) -> u64 {
    let taken = |value: &Arrival| (u64::from(value.bytes()).div_ceil(UNIT_BYTES) + 1) * UNIT_BYTES;
    (values.iter().map(taken).sum::<u64>() * FLASH_PARTS).max(FLASH_BYTES_MIN)
}
