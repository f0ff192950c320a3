//! Where the members of a planned group lie in its record.

use super::plan::{Plan, Planned};
use super::seal::{Role, Seal, WORD_BYTES, padded};
use crate::Loc;
use crate::record::HEADER_BYTES;
use saker_log::Spot;

/// Seals every member of a payload.
pub fn seal_members<P>(plan: &Plan<P>, payload: &mut [u8]) {
    for p in &plan.members {
        let (key, value) = (&p.member.key, &p.member.value);
        let end = padded(if value.start == 0 { key.end } else { value.end });
        let member = &mut payload[key.start as usize - 4..end as usize];
        Seal::of(p.role, (key.end - key.start) as u8, value.end - value.start, member).write(member);
    }
}

/// Where a member of the record at `spot` lies.
#[inline]
pub fn member_loc<P>(p: &Planned<P>, spot: Spot) -> Loc {
    let (key, value) = (&p.member.key, &p.member.value);
    let begin = key.start - WORD_BYTES;
    let end = padded(if p.role == Role::Pair { value.end } else { key.end });
    let position = spot.0 + u64::from(HEADER_BYTES + begin);
    Loc::member(position, end - begin, (key.end - key.start) as u8)
}
