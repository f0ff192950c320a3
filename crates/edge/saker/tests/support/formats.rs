// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process does that is killed in its admin commands: in turn it stores a version of all pairs, saves a feature, and
//! formats the namespace.

use saker::Raw;
use saker_host::RawData;
use saker_nvme::admin::feature::{KvConfig, fid};
use saker_nvme::admin::{FeatureSelect, FormatNvm, GetFeatures, SetFeatures, build};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Status};

/// Pairs of a version.
pub const PAIRS: u32 = 30;
const VALUE_BYTES: u32 = 3000;

/// A part of the work. Round `n` stores version `n + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Store,
    Save,
    Format,
}

impl Part {
    /// Part number `n` of all, and its round.
    pub fn of(n: u64) -> (Self, u64) {
        ([Self::Store, Self::Save, Self::Format][(n % 3) as usize], n / 3)
    }
}

fn value(n: u32, version: u64) -> Vec<u8> {
    let bytes = version.to_le_bytes().into_iter().chain(n.to_le_bytes());
    bytes.cycle().take(VALUE_BYTES as usize).collect()
}

fn key(n: u32) -> Key {
    Key::new(format!("key {n}").as_bytes()).expect("a short key")
}

/// The feature after a round.
fn is_error(round: u64) -> bool {
    round.is_multiple_of(2)
}

/// Does part `n`; false if it was not answered with success.
pub fn perform(raw: &mut Raw, n: u64) -> bool {
    let (part, round) = Part::of(n);
    let nsid = raw.nsid();
    match part {
        Part::Store => store(raw, round + 1),
        Part::Save => {
            let cdw11 = KvConfig::default().with_delete_missing_is_error(is_error(round)).0;
            let command = SetFeatures { nsid, fid: fid::KV_CONFIG, save: true, cdw11 };
            raw.admin(build::set_features(&command), 0).is_ok_and(|(status, ..)| status.is_success())
        }
        Part::Format => {
            let command = FormatNvm { nsid, format_index: 0, secure_erase: 1 };
            raw.admin(build::format_nvm(&command), 0).is_ok_and(|(status, ..)| status.is_success())
        }
    }
}

fn store(raw: &mut Raw, version: u64) -> bool {
    let nsid = raw.nsid();
    let values: Vec<_> = (0..PAIRS).map(|n| value(n, version)).collect();
    let commands = values.iter().zip(0..).map(|(value, n)| {
        (kv::store(nsid, &key(n), VALUE_BYTES, StoreOptions::NONE), RawData::ToDevice(value))
    });
    let answers = raw.io(commands, |done| done.status.is_success());
    answers.is_ok_and(|answers| answers.iter().all(|ok| *ok))
}

/// What is left when `ended` parts were acknowledged and the next may have begun. Returns whether pairs are there.
///
/// # Panics
/// When that cannot be.
pub fn verify(raw: &mut Raw, ended: u64) -> bool {
    let ((part, round), nsid) = (Part::of(ended), raw.nsid());
    let reads =
        (0..PAIRS).map(|n| (kv::retrieve(nsid, &key(n), VALUE_BYTES), RawData::FromDevice(VALUE_BYTES)));
    let found = raw.io(reads, |done| (done.status, done.into_vec())).expect("reads");
    let versions: Vec<Option<u64>> =
        (0..).zip(found).map(|(n, (status, bytes))| version(n, status, &bytes)).collect();
    let newest = Some(round + 1);
    let (all, none) = (versions.iter().all(|v| *v == newest), versions.iter().all(Option::is_none));
    match part {
        // The Format before is acknowledged: nothing of an earlier version is left.
        Part::Store => {
            assert!(versions.iter().all(|v| v.is_none() || *v == newest), "{ended} parts: {versions:?}")
        }
        Part::Save => assert!(all, "{ended} parts: {versions:?}"),
        Part::Format => assert!(all || none, "{ended} parts, a mixture: {versions:?}"),
    }
    let get = GetFeatures { nsid, fid: fid::KV_CONFIG, select: FeatureSelect::Saved, cdw11: 0 };
    let (status, saved, _) = raw.admin(build::get_features(&get), 0).expect("an answer");
    let saved = KvConfig(saved as u32).delete_missing_is_error();
    assert!(status.is_success());
    let before = round.checked_sub(1).is_some_and(is_error);
    match part {
        Part::Store => assert_eq!(saved, before, "{ended} parts: the feature"),
        Part::Save => assert!(saved == before || saved == is_error(round), "{ended} parts: the feature"),
        Part::Format => assert_eq!(saved, is_error(round), "{ended} parts: the feature"),
    }
    !none
}

fn version(n: u32, status: Status, bytes: &[u8]) -> Option<u64> {
    if status.is(Status::KEY_DOES_NOT_EXIST) {
        return None;
    }
    assert!(status.is_success(), "pair {n}: {status:?}");
    let version = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    assert!(bytes[..VALUE_BYTES as usize] == value(n, version), "pair {n} is torn");
    Some(version)
}
