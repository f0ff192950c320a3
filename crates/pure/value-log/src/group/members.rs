// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the members of a planned group lie in its record.

use super::plan::{Plan, Planned};
use super::seal::{Role, Seal, WORD_BYTES, padded};
use crate::RecordAddr;
use crate::record::HEADER_BYTES;
use saker_log::LogAddr;

/// Seals every member of a payload.
pub fn seal_members<P>(plan: &Plan<P>, payload: &mut [u8]) {
    for p in &plan.members {
        let (key, value) = (&p.member.key, &p.member.value);
        let end = padded(if value.start == 0 { key.end } else { value.end });
        let member = &mut payload[key.start as usize - 4..end as usize];
        let seal = Seal::of(p.role, (key.end - key.start) as u8, value.end - value.start, member);
        seal.staying(p.stays).write(member);
    }
}

/// Where a member of the record at `log_addr` lies.
#[inline]
pub fn member_loc<P>(p: &Planned<P>, log_addr: LogAddr) -> RecordAddr {
    let (key, value) = (&p.member.key, &p.member.value);
    let begin = key.start - WORD_BYTES;
    let end = padded(if p.role == Role::Pair { value.end } else { key.end });
    let position = log_addr.0 + u64::from(HEADER_BYTES + begin);
    RecordAddr::member(position, end - begin, (key.end - key.start) as u8)
}
