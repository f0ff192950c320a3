// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run puts on the link without doorbells, from the layouts alone: entries of 64 bytes, completions of 16, and data.

use super::ways::Way;
use super::{Cell, Parameters};
use crate::experiments::bandslim::link_bytes;
use saker_host::Method;
use saker_link::Rule;

const ENTRY: u64 = 64;
const COMPLETION: u64 = 16;
const DOORBELLS: u64 = 8;
const PAGE: u64 = 4096;

/// Entries, completions and data that a run moved.
pub fn moved(cell: &Cell) -> u64 {
    let traffic = &cell.result.traffic;
    let doorbells = (traffic.sq_doorbells + traffic.cq_doorbells) * DOORBELLS / 2;
    traffic.bytes(&Rule::Protocol).total() - doorbells
}

/// What its layout gives; nothing where no layout says how many commands there are (adaptive, MMIO).
pub fn published(plan: &Parameters, cell: &Cell) -> Option<u64> {
    let pairs = cell.result.operations;
    let value = cell.value_bytes as u64;
    let flush = ENTRY + COMPLETION;
    let single = |method: Method| {
        let commands = if method == Method::Piggyback { bandslim_commands(value) } else { 1 };
        link_bytes(method, value).map(|bytes| bytes - commands * DOORBELLS)
    };
    let batch = match cell.way {
        Way::Single(method) => return single(method).map(|bytes| pairs * bytes + flush),
        Way::Saker(method) if cell.batch == 1 => return single(method).map(|bytes| pairs * bytes + flush),
        Way::Adaptive => return None,
        Way::Group | Way::Transaction | Way::Bulk if cell.batch == 1 => {
            return single(Method::Prp).map(|bytes| pairs * bytes + flush);
        }
        Way::Saker(_) => container(plan, value).min(u64::from(cell.batch)),
        Way::Group | Way::Transaction | Way::Bulk => u64::from(cell.batch),
    };
    if batch < 2 {
        return single(Method::Prp).map(|bytes| pairs * bytes + flush);
    }
    let (full, rest) = (pairs / batch, pairs % batch);
    let command = |pairs: u64| ENTRY + COMPLETION + payload(plan, value, pairs).next_multiple_of(PAGE);
    let last = match rest {
        0 => 0,
        1 => single(Method::Prp)?,
        rest => command(rest),
    };
    Some(full * command(batch) + last + flush)
}

/// Commands of a piggybacked value: 35 bytes in the first, 56 in each further one (BandSlim, section 3.2).
fn bandslim_commands(value: u64) -> u64 {
    1 + value.saturating_sub(35).div_ceil(56)
}

/// Bytes of a payload of so many stores (compound commands, Figure 1).
fn payload(plan: &Parameters, value: u64, pairs: u64) -> u64 {
    4 + pairs * entry(plan, value)
}

fn entry(plan: &Parameters, value: u64) -> u64 {
    4 + (plan.key_bytes as u64).next_multiple_of(4) + 4 + value.next_multiple_of(4)
}

/// Pairs that a container has room for.
fn container(plan: &Parameters, value: u64) -> u64 {
    (plan.container_bytes as u64 - 4) / entry(plan, value)
}
