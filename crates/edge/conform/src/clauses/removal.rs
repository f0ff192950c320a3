// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Exist and Delete.

use saker_nvme::Status;
use saker_nvme::admin::feature::{FeatureSelect, fid};
use saker_nvme::admin::{GetFeatures, SetFeatures, build};

use crate::session::{Checked, Session, demand};
use crate::subject::Broken;
use crate::verdict::Verdict;

pub(super) fn exist(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    let before = session.exist(&key)?;
    demand!(before.is(Status::KEY_DOES_NOT_EXIST), "before Store: {before}");
    session.store(&key, b"there", 0)?;
    let with = session.exist(&key)?;
    demand!(with.is_success(), "after Store: {with}");
    session.delete(&key)?;
    let after = session.exist(&key)?;
    demand!(after.is(Status::KEY_DOES_NOT_EXIST), "after Delete: {after}");
    Ok(Verdict::Pass)
}

pub(super) fn delete(session: &mut Session<'_>) -> Checked {
    let (gone, kept) = (session.key()?, session.key()?);
    session.store(&gone, b"gone", 0)?;
    session.store(&kept, b"kept", 0)?;
    let status = session.delete(&gone)?;
    demand!(status.is_success(), "Delete: {status}");
    let seen = session.retrieve(&gone, 64)?.status;
    demand!(seen.is(Status::KEY_DOES_NOT_EXIST), "Retrieve of the deleted key: {seen}");
    if let Some(wrong) = session.is_stored(&kept, b"kept")? {
        return Ok(Verdict::Fail(format!("the other key: {wrong}")));
    }
    session.delete(&kept)?;
    Ok(Verdict::Pass)
}

pub(super) fn again(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    for round in 0..5_u8 {
        let status = session.store(&key, &[round; 300], 0)?;
        demand!(status.is_success(), "Store in round {round}: {status}");
        if let Some(wrong) = session.is_stored(&key, &[round; 300])? {
            return Ok(Verdict::Fail(format!("round {round}: {wrong}")));
        }
        let status = session.delete(&key)?;
        demand!(status.is_success(), "Delete in round {round}: {status}");
    }
    Ok(Verdict::Pass)
}

/// Feature 20h as it is.
fn feature(session: &mut Session<'_>) -> Result<(Status, u32), Broken> {
    let nsid = session.subject().nsid();
    let command = GetFeatures { nsid, fid: fid::KV_CONFIG, select: FeatureSelect::Current, cdw11: 0 };
    let answer = session.subject().admin(&build::get_features(&command), 0)?;
    Ok((answer.status, answer.dw0))
}

fn set_feature(session: &mut Session<'_>, cdw11: u32) -> Result<Status, Broken> {
    let nsid = session.subject().nsid();
    let command = SetFeatures { nsid, fid: fid::KV_CONFIG, save: false, cdw11 };
    Ok(session.subject().admin(&build::set_features(&command), 0)?.status)
}

/// Sets EDNEK, deletes a key that is not there, and puts EDNEK back.
fn delete_with(session: &mut Session<'_>, ednek: u32, expected: Status) -> Checked {
    let (status, before) = feature(session)?;
    demand!(status.is_success(), "Get Features 20h: {status}");
    let status = set_feature(session, ednek)?;
    if status.is(Status::OPERATION_DENIED) {
        return Ok(Verdict::Skipped("Set Features 20h is not allowed here".into()));
    }
    demand!(status.is_success(), "Set Features 20h to {ednek}: {status}");
    let (_, now) = feature(session)?;
    let key = session.key()?;
    let deleted = session.delete(&key)?;
    let restored = set_feature(session, before)?;
    demand!(now == ednek, "Get Features tells {now} after {ednek} was set");
    demand!(deleted.is(expected), "Delete: {deleted}");
    demand!(restored.is_success(), "Set Features back to {before}: {restored}");
    Ok(Verdict::Pass)
}

pub(super) fn lenient(session: &mut Session<'_>) -> Checked {
    delete_with(session, 0, Status::SUCCESS)
}

pub(super) fn strict(session: &mut Session<'_>) -> Checked {
    delete_with(session, 1, Status::KEY_DOES_NOT_EXIST)
}
