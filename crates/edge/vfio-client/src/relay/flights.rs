// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that are with the device, and memory for their data.

use std::cell::OnceCell;
use std::sync::Arc;

use saker_link::{DmaRegion, DmaSpace, PAGE_BYTES, gather, prp_pieces, scatter};
use saker_nvme::transfer::Transfer;
use saker_nvme::{Sqe, Status, kv, prp, vendor_specific};

/// Pages of the longest transfer, with the list that names them.
pub const SLOT_PAGES_MAX: u32 = (2 << 20) / PAGE_BYTES as u32 + 2;

/// A command.
#[derive(Debug)]
pub struct Flight {
    pub sqe: Sqe,
    pub only_reads: bool,
    /// Block commands have the numbers of others.
    is_of_pairs: bool,
    transfer: Transfer,
    /// Where its data is in the library's memory.
    pieces: Vec<(u64, u32)>,
    /// Where it is in the device's: a page for the list, then the data.
    region: OnceCell<DmaRegion>,
}

impl Flight {
    /// A command of the library's.
    pub fn new(
        sqe: Sqe,
        transfer: Transfer,
        (only_reads, is_of_pairs): (bool, bool),
        local: &DmaSpace,
    ) -> Result<Self, Status> {
        let bytes = u32::try_from(transfer.bytes()).map_err(|_| Status::INVALID_FIELD)?;
        if bytes > (SLOT_PAGES_MAX - 2) * PAGE_BYTES as u32 {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = prp_pieces(&sqe, bytes, local)?;
        Ok(Self { sqe, only_reads, is_of_pairs, transfer, pieces, region: OnceCell::new() })
    }

    /// The same, not sent yet.
    pub fn anew(self) -> Self {
        Self { region: OnceCell::new(), ..self }
    }

    /// Puts its data where the device reaches it, and makes the entry that says so.
    pub fn send(&self, local: &DmaSpace, remote: &Arc<DmaSpace>) -> Result<Sqe, Status> {
        let bytes = self.transfer.bytes() as u32;
        if bytes == 0 {
            return Ok(self.sqe);
        }
        let room = PAGE_BYTES + bytes as usize;
        let region = remote.alloc_bytes(room).map_err(|_| Status::HOST_PATHING_ERROR)?;
        if let Transfer::ToDevice(_) = self.transfer {
            let data = gather(&self.pieces, local)?;
            region.write(PAGE_BYTES, &data).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        }
        let (list, data) = (region.iova(), region.iova() + PAGE_BYTES as u64);
        let mut written = Ok(());
        let prps = prp::build(data, bytes, PAGE_BYTES as u32, list, |at, entry| {
            written = written.and(remote.write_u64(at, entry));
        });
        let (prp1, prp2) = prps.map_err(|_| Status::INVALID_FIELD)?;
        written.map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        let _ = self.region.set(region);
        Ok(self.sqe.with_prp(prp1, prp2))
    }

    /// What the device has put there. Of a value no more than `result` says.
    pub fn received(&self, result: u64) -> Vec<u8> {
        let (Transfer::ToHost(bytes), Some(region)) = (self.transfer, self.region.get()) else {
            return Vec::new();
        };
        let bytes = if self.tells_length() { bytes.min(result & 0xFFFF_FFFF) } else { bytes };
        let mut data = vec![0; bytes as usize];
        if region.read(PAGE_BYTES, &mut data).is_err() {
            data.clear();
        }
        data
    }

    /// Whether DW0 of the completion says how many bytes there are.
    fn tells_length(&self) -> bool {
        use vendor_specific::opcode::{GROUP_RESULTS, ITERATOR_NEXT, RETRIEVE_VERSIONED};
        let code = self.sqe.opcode;
        matches!(code, kv::opcode::RETRIEVE | GROUP_RESULTS | ITERATOR_NEXT | RETRIEVE_VERSIONED)
            && self.is_of_pairs
    }

    /// Gives the library its data.
    pub fn deliver(&self, local: &DmaSpace, data: &[u8]) -> Result<(), Status> {
        if data.is_empty() { Ok(()) } else { scatter(&self.pieces, local, data) }
    }
}

/// Those of a queue, by CID.
#[derive(Debug, Default)]
pub struct Flights {
    by_cid: Vec<Option<Flight>>,
    count: usize,
}

impl Flights {
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn insert(&mut self, flight: Flight) {
        let cid = usize::from(flight.sqe.cid.get());
        if self.by_cid.len() <= cid {
            self.by_cid.resize_with(cid + 1, || None);
        }
        let before = self.by_cid[cid].replace(flight);
        self.count += usize::from(before.is_none());
    }

    pub fn remove(&mut self, cid: u16) -> Option<Flight> {
        let flight = self.by_cid.get_mut(usize::from(cid))?.take()?;
        self.count -= 1;
        Some(flight)
    }

    pub fn take_if(&mut self, which: impl Fn(&Flight) -> bool) -> Vec<Flight> {
        let taken: Vec<_> =
            self.by_cid.iter_mut().filter_map(|slot| slot.take_if(|flight| which(flight))).collect();
        self.count -= taken.len();
        taken
    }
}
