// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A group of nothing but pairs that are stored, the usual one: what becomes of it depends on nothing, so one look at each member
//! seals it and says where it belongs.

use super::super::HashStore;
use crate::mix::IndexKey;
use saker_engine_api::{Answers, GroupError, GroupSource, Version};
use saker_log::LogAddr;
use saker_sim::Meter;
use saker_value_log::RecordAddr;
use saker_value_log::group::seal::{Role, Seal, WORD_BYTES};
use saker_value_log::group::{Placed, Seen};
use saker_value_log::record::HEADER_BYTES;

/// The pairs of a group, and memory for them that is used again and again.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Where each belongs, and where it lies.
    entries: Vec<(IndexKey, RecordAddr)>,
    /// Bytes that they count with.
    counted: u64,
    /// Bytes of their keys and values.
    user_bytes: u64,
    seen: Seen,
}

impl Pairs {
    fn clear(&mut self) {
        self.entries.clear();
        (self.counted, self.user_bytes) = (0, 0);
    }

    #[inline]
    fn take(&mut self, place: IndexKey, addr: RecordAddr, user_bytes: u32) {
        self.entries.push((place, addr));
        self.counted += u64::from(addr.record_bytes());
        self.user_bytes += u64::from(user_bytes);
    }

    /// Position of a pair whose key appeared before, if any.
    fn duplicate(&mut self) -> Option<u64> {
        // Places are mixed already: any bits of them will do.
        let n = self.seen.repeated(&self.entries, |(place, _)| Some(place.spread()), |a, b| a.0 == b.0)?;
        Some(self.entries[n].1.position())
    }
}

impl HashStore {
    /// Reads and seals a payload that has landed at `log_addr`. False if there is a member that cannot be stored: the payload is as it
    /// came then.
    #[inline]
    pub(super) fn plan_pairs<G: GroupSource>(
        &mut self,
        source: &G,
        payload: &mut [u8],
        log_addr: LogAddr,
    ) -> Result<bool, GroupError<G::Malformed>> {
        let Self { pairs, index, config, .. } = self;
        let begin = log_addr.0 + u64::from(HEADER_BYTES);
        let mut are_pairs = true;
        pairs.clear();
        let parsed = source.parse_mut(payload, &mut |member, bytes| {
            let (key_bytes, value_bytes) = (member.key_bytes(), member.value_bytes());
            let key = &bytes[WORD_BYTES as usize..(WORD_BYTES + key_bytes) as usize];
            match index.place(key) {
                Some(place) if value_bytes <= config.value_bytes_max => {
                    let position = begin + u64::from(member.key.start - WORD_BYTES);
                    let addr = RecordAddr::member(position, bytes.len() as u32, place.key_bytes());
                    Seal::of(Role::Pair, place.key_bytes(), value_bytes, bytes).write(bytes);
                    pairs.take(place, addr, key_bytes + value_bytes);
                }
                _ => are_pairs = false,
            }
        });
        parsed.map_err(GroupError::Malformed)?;
        if !are_pairs {
            for (_, addr) in &pairs.entries {
                let at = (addr.position() - begin) as usize;
                Seal::unseal(&mut payload[at..at + addr.bytes() as usize]);
            }
            return Ok(false);
        }
        if let Some(position) = pairs.duplicate() {
            return Err(GroupError::Duplicate((position - begin) as u32));
        }
        self.credit.pay_group(self.pairs.entries.len() as u64, self.pairs.counted);
        Ok(true)
    }

    /// Enters the pairs of a group that is in the log.
    pub(super) fn apply_pairs<W: Meter, A: Answers>(&mut self, answers: &mut A, w: &mut W) {
        let pairs = std::mem::take(&mut self.pairs);
        let members = pairs.entries.len() as u32;
        answers.begin(members, Version(self.version));
        for (place, addr) in &pairs.entries {
            self.enter_soon(*place, *addr, w);
        }
        answers.all_done(members);
        self.stats.user_bytes_written += pairs.user_bytes;
        self.version += 1;
        self.charge(u64::from(members), pairs.user_bytes, w);
        self.pairs = pairs;
    }
}
