// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Piggyback: a store with the first 35 bytes, transfer commands with 56 each (BandSlim, ICPP'24, section 3.2).

use super::{Arrival, GATHER_BYTES_MAX, Gather, Landing, Open, Plain, Receiver, Taken, is_due};
use saker_engine::{Source, SourceError};
use saker_link::DeviceSq;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::opcode::{STORE_PIGGYBACK, TRANSFER};
use saker_nvme::vendor_specific::{
    Fragment, Methods, PIGGYBACK_BYTES, PiggybackStore, TRANSFER_BYTES, parts_sum,
};
use saker_nvme::{Key, Sqe, Status};
use saker_profile::Transfer;

pub struct Piggyback;

/// A store and the number of the transfer that comes next.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    key: Key,
    value_bytes: u32,
    rest_sum: u16,
    options: StoreOptions,
    nsid: u32,
    next: u32,
}

impl Receiver for Piggyback {
    type Open = Begun;

    #[inline]
    fn announced_by(opcode: u8) -> Option<Methods> {
        matches!(opcode, STORE_PIGGYBACK | TRANSFER).then(|| Methods::default().with_piggyback(true))
    }

    #[inline]
    fn is_part(sqe: &Sqe) -> bool {
        match sqe.opcode {
            STORE_PIGGYBACK => sqe.cdw10.get() as usize > PIGGYBACK_BYTES,
            opcode => opcode == TRANSFER,
        }
    }

    #[inline]
    fn take(gather: &mut Gather, arrival: Arrival<'_>) -> Result<Taken, Status> {
        match arrival.sqe.opcode {
            STORE_PIGGYBACK => begin(gather, arrival.sqe, arrival.value_bytes_max),
            _ => go_on(gather, arrival.sqe),
        }
    }

    fn price_ns(costs: &Transfer) -> u64 {
        costs.fragment_ns.get()
    }

    fn units(_: u8, _: u64) -> u64 {
        1
    }

    #[inline(always)]
    fn is_short(opcode: u8) -> bool {
        opcode == STORE_PIGGYBACK
    }

    #[inline(always)]
    fn shortly<'q>(
        plain: Plain<'_>,
        _: impl FnOnce() -> Option<&'q DeviceSq>,
        landing: impl Landing,
    ) -> Option<Status> {
        let PiggybackStore { key, value_bytes, rest_sum, options, payload } =
            PiggybackStore::decode(plain.sqe).ok()?;
        let fits = value_bytes <= plain.value_bytes_max && value_bytes as usize <= PIGGYBACK_BYTES;
        if !fits || rest_sum != 0 || !plain.methods.piggyback() {
            return None;
        }
        landing.store(&key, &mut InEntry { payload: &payload, bytes: value_bytes }, options)
    }
}

/// A piggyback store. DW0 of one that waits for transfers: bytes that are missing.
///
/// # Errors
/// Those of Store; 85h for more than the namespace takes, 02h for more than can be gathered.
#[inline]
fn begin(gather: &mut Gather, sqe: &Sqe, value_bytes_max: u32) -> Result<Taken, Status> {
    gather.close();
    let PiggybackStore { key, value_bytes, rest_sum, options, payload } = PiggybackStore::decode(sqe)?;
    if value_bytes > value_bytes_max {
        return Err(Status::INVALID_VALUE_SIZE);
    }
    if value_bytes > GATHER_BYTES_MAX {
        return Err(Status::INVALID_FIELD);
    }
    let here = PIGGYBACK_BYTES.min(value_bytes as usize);
    gather.bytes.extend_from_slice(&payload[..here]);
    if here == value_bytes as usize {
        return Ok(gather.store(key, value_bytes, options));
    }
    let nsid = sqe.nsid.get();
    gather.open = Open::Piggyback(Begun { key, value_bytes, rest_sum, options, nsid, next: 1 });
    Ok(Taken::More(value_bytes - here as u32))
}

/// A transfer command.
///
/// # Errors
/// 0Ch if it is not the one that is due, or a part was another value's; the value is forgotten.
fn go_on(gather: &mut Gather, sqe: &Sqe) -> Result<Taken, Status> {
    let fragment = Fragment::decode(sqe).map_err(|status| gather.refuse(status))?;
    let Open::Piggyback(begun) = gather.open else {
        return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR));
    };
    if !is_due(sqe, fragment.sequence, begun.nsid, begun.next) {
        return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR));
    }
    let missing = begun.value_bytes as usize - gather.bytes.len();
    let here = TRANSFER_BYTES.min(missing);
    gather.bytes.extend_from_slice(&fragment.payload[..here]);
    if here == missing {
        if parts_sum(&gather.bytes[PIGGYBACK_BYTES..]) as u16 != begun.rest_sum {
            return Err(gather.refuse(Status::COMMAND_SEQUENCE_ERROR));
        }
        return Ok(gather.store(begun.key, begun.value_bytes, begun.options));
    }
    gather.open = Open::Piggyback(Begun { next: begun.next + 1, ..begun });
    Ok(Taken::More((missing - here) as u32))
}

/// A value that came in its command's entry.
struct InEntry<'a> {
    payload: &'a [u8],
    bytes: u32,
}

impl Source for InEntry<'_> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    /// By words, as the entry was fetched: one wide load of what was stored in parts would wait for the parts.
    #[inline]
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        let part = self.payload.get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        let (words, rest) = part.ok_or(SourceError)?.as_chunks::<8>();
        let (out_words, out_rest) = out.as_chunks_mut::<8>();
        // By number: a zip of both took 23 instructions more for a value of 32 bytes.
        let count = words.len().min(out_words.len());
        for n in 0..count {
            out_words[n] = u64::from_ne_bytes(words[n]).to_ne_bytes();
        }
        if rest.is_empty() {
            return Ok(());
        }
        for (to, from) in out_rest.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(())
    }
}
