// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hybrid: tails with 56 bytes each, then the store with the whole pages (BandSlim, ICPP'24, section 3.2, which sends the
//! pages first).

use super::{Arrival, Gather, Open, Receiver, Taken, is_due};
use crate::transfer::{Hybrid as PagesAndTail, Pieces};
use saker_nvme::vendor_specific::opcode::{STORE_HYBRID, TAIL};
use saker_nvme::vendor_specific::{
    Fragment, HYBRID_PAGE_BYTES, HybridStore, Methods, parts_sum, tail_commands,
};
use saker_nvme::{KvCommand, Sqe, Status};
use saker_profile::Transfer;

pub struct Hybrid;

/// Tails of a store that has not come yet, and the number of the next one.
#[derive(Clone, Copy, Debug)]
pub struct Tails {
    nsid: u32,
    next: u32,
}

impl Receiver for Hybrid {
    type Open = Tails;

    #[inline]
    fn announced_by(opcode: u8) -> Option<Methods> {
        matches!(opcode, STORE_HYBRID | TAIL).then(|| Methods::default().with_hybrid(true))
    }

    #[inline]
    fn is_part(sqe: &Sqe) -> bool {
        matches!(sqe.opcode, STORE_HYBRID | TAIL)
    }

    #[inline]
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
        match arrival.sqe.opcode {
            TAIL => tail(gather, arrival.sqe),
            _ => store(gather, &arrival),
        }
    }

    fn price_ns(costs: &Transfer) -> u64 {
        costs.fragment_ns.get()
    }

    /// The store has nothing to gather.
    fn units(opcode: u8, _: u64) -> u64 {
        u64::from(opcode == TAIL)
    }
}

/// A tail. Number 0 begins, whatever was open. DW0: bytes gathered.
///
/// # Errors
/// 0Ch if it is not the one that is due, or more than a page; everything gathered is forgotten.
fn tail(gather: &mut Gather, sqe: &Sqe) -> Result<Taken, Status> {
    let fragment = Fragment::decode(sqe).map_err(|status| gather.refuse(status))?;
    let due = match gather.open {
        Open::Hybrid(Tails { nsid, next }) if is_due(sqe, fragment.sequence, nsid, next) => next,
        _ if fragment.sequence == 0 => {
            gather.close();
            0
        }
        _ => return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR)),
    };
    if due >= HYBRID_PAGE_BYTES.div_ceil(fragment.payload.len() as u32) {
        return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR));
    }
    gather.bytes.extend_from_slice(&fragment.payload);
    gather.open = Open::Hybrid(Tails { nsid: sqe.nsid.get(), next: due + 1 });
    Ok(Taken::More(gather.bytes.len() as u32))
}

/// The store that the tails were for.
///
/// # Errors
/// Those of Store and its data pointer; 0Ch if its tails, and no others, did not come just before it.
fn store(gather: &mut Gather, arrival: &Arrival<'_>) -> Result<Taken, Status> {
    let &Arrival { sqe, rule, value_bytes_max, space, .. } = arrival;
    let open = std::mem::replace(&mut gather.open, Open::Nothing);
    let store = HybridStore::decode_with(sqe, rule).map_err(|status| gather.refuse(status))?;
    if store.value_bytes > value_bytes_max {
        return Err(gather.refuse(Status::INVALID_VALUE_SIZE));
    }
    let expected = tail_commands(store.value_bytes);
    match open {
        Open::Hybrid(Tails { nsid, next }) if nsid == sqe.nsid.get() && next == expected => {}
        _ => return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR)),
    }
    let page_bytes = store.page_bytes();
    let pages = Pieces::of(sqe, page_bytes, space).map_err(|status| gather.refuse(status))?;
    let mut tail = std::mem::take(&mut gather.bytes);
    tail.truncate((store.value_bytes - page_bytes) as usize);
    let HybridStore { key, value_bytes, tail_sum, options } = store;
    if parts_sum(&tail) != tail_sum {
        return Err(Status::COMMAND_SEQUENCE_ERROR);
    }
    let pieces = Pieces::Hybrid(Box::new(PagesAndTail { pages, page_bytes, tail }));
    Ok(Taken::Whole(KvCommand::Store { key, value_bytes, options }, pieces))
}
