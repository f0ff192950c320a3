// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that make no sense, and fields that have no meaning.

use saker_nvme::{NSID_ALL, Sqe, Status, kv};

use super::values::WITH_KEY;
use crate::session::{Checked, Session, demand, value};
use crate::subject::{Broken, Data};
use crate::verdict::Verdict;

/// Runs `check` beside a pair that nothing of it may touch.
fn beside(session: &mut Session<'_>, check: impl FnOnce(&mut Session<'_>, &[u8]) -> Checked) -> Checked {
    let (key, expected) = (session.key()?, value(50, 3000));
    session.store(&key, &expected, 0)?;
    let verdict = check(session, &key)?;
    if let Some(wrong) = session.is_stored(&key, &expected)? {
        return Ok(Verdict::Fail(format!("a pair was touched: {wrong}")));
    }
    session.delete(&key)?;
    Ok(verdict)
}

/// What a command of each kind says when `spoil` has had its way with the entry.
fn each(
    session: &mut Session<'_>,
    key: &[u8],
    spoil: impl Fn(&mut Sqe),
) -> Result<Vec<(&'static str, Status)>, Broken> {
    let mut seen = Vec::new();
    for (opcode, name, room) in WITH_KEY {
        let mut sqe = session.sized(opcode, key, room);
        spoil(&mut sqe);
        let data = match opcode {
            kv::opcode::STORE => Data::Send(vec![0xEE; room as usize]),
            _ if room == 0 => Data::None,
            _ => Data::Receive(room),
        };
        seen.push((name, session.one(sqe, data)?.status));
    }
    Ok(seen)
}

pub(super) fn opcode(session: &mut Session<'_>) -> Checked {
    beside(session, |session, key| {
        // Bits 1:0 clear: no data. None of them is an opcode of the base specification or of a command set.
        for opcode in [0x38, 0x3C, 0x48, 0x5C, 0x74] {
            let status = session.one(session.sqe(opcode, key), Data::None)?.status;
            demand!(status.is(Status::INVALID_OPCODE), "opcode {opcode:02X}h: {status}");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn namespace(session: &mut Session<'_>) -> Checked {
    if !session.subject().is_direct() {
        return Ok(Verdict::Skipped("a kernel takes commands for its namespace only".into()));
    }
    beside(session, |session, key| {
        for nsid in [0, 0xFFFF_FFF0] {
            for (name, status) in each(session, key, |sqe| sqe.nsid = nsid.into())? {
                demand!(
                    status.is(Status::INVALID_NAMESPACE_OR_FORMAT),
                    "{name} with NSID {nsid:X}h: {status}"
                );
            }
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn all_namespaces(session: &mut Session<'_>) -> Checked {
    if !session.subject().is_direct() {
        return Ok(Verdict::Skipped("a kernel takes commands for its namespace only".into()));
    }
    beside(session, |session, key| {
        for (name, status) in each(session, key, |sqe| sqe.nsid = NSID_ALL.into())? {
            let is_refused =
                status.is(Status::INVALID_FIELD) || status.is(Status::INVALID_NAMESPACE_OR_FORMAT);
            demand!(is_refused, "{name}: {status}");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn fused(session: &mut Session<'_>) -> Checked {
    if !session.subject().is_direct() {
        return Ok(Verdict::Skipped("a kernel lets nobody set the flags".into()));
    }
    beside(session, |session, key| {
        for (name, status) in each(session, key, |sqe| sqe.flags |= 1)? {
            demand!(!status.is_success(), "{name} as the first of a fused pair: {status}");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn reserved(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    let expected = value(51, 4);
    let mut sqe = session.sized(kv::opcode::STORE, &key, 4);
    sqe.cdw11 = (key.len() as u32 | 0xFFFF_F800).into();
    (sqe.cdw12, sqe.cdw13) = (u32::MAX.into(), u32::MAX.into());
    let stored = session.one(sqe, Data::Send(expected.clone()))?.status;
    let exists = session.exist(&key)?;
    demand!(stored.is_success() == exists.is_success(), "Store: {stored}, afterwards Exist: {exists}");
    if stored.is_success()
        && let Some(wrong) = session.is_stored(&key, &expected)?
    {
        return Ok(Verdict::Fail(wrong));
    }
    session.delete(&key)?;
    Ok(Verdict::Open(if stored.is_success() { "ignored".into() } else { format!("refused: {stored}") }))
}

pub(super) fn flush(session: &mut Session<'_>) -> Checked {
    beside(session, |session, _| {
        let flush = Sqe::new(kv::opcode::FLUSH, session.subject().nsid());
        let status = session.one(flush, Data::None)?.status;
        demand!(status.is_success(), "{status}");
        Ok(Verdict::Pass)
    })
}
