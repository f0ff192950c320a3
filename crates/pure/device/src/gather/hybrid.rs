//! Hybrid: tails with 56 bytes each, then the store with the whole pages (BandSlim, ICPP'24, section 3.2, which sends the
//! pages first).

use super::{Gather, Open, Taken, is_due};
use crate::transfer::{Hybrid, Pieces};
use saker_link::DmaSpace;
use saker_nvme::vendor::{Fragment, HYBRID_PAGE_BYTES, HybridStore, parts_sum, tail_commands};
use saker_nvme::{KvCommand, Sqe, Status};

impl Gather {
    /// A tail. Number 0 begins, whatever was open. DW0: bytes gathered.
    ///
    /// # Errors
    /// 0Ch if it is not the one that is due, or more than a page; everything gathered is forgotten.
    pub fn tail(&mut self, sqe: &Sqe) -> Result<Taken, Status> {
        let fragment = Fragment::decode(sqe).map_err(|status| self.refuse(status))?;
        let due = match self.open {
            Open::Tails { nsid, next } if is_due(sqe, fragment.sequence, nsid, next) => next,
            _ if fragment.sequence == 0 => {
                self.close();
                0
            }
            _ => return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR)),
        };
        if due >= HYBRID_PAGE_BYTES.div_ceil(fragment.payload.len() as u32) {
            return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR));
        }
        self.bytes.extend_from_slice(&fragment.payload);
        self.open = Open::Tails { nsid: sqe.nsid.get(), next: due + 1 };
        Ok(Taken::More(self.bytes.len() as u32))
    }

    /// The store that the tails were for.
    ///
    /// # Errors
    /// Those of Store and its PRPs; 0Ch if its tails, and no others, did not come just before it.
    pub fn hybrid(&mut self, sqe: &Sqe, value_bytes_max: u32, space: &DmaSpace) -> Result<Taken, Status> {
        let open = std::mem::replace(&mut self.open, Open::Nothing);
        let store = HybridStore::decode(sqe).map_err(|status| self.refuse(status))?;
        if store.value_bytes > value_bytes_max {
            return Err(self.refuse(Status::INVALID_VALUE_SIZE));
        }
        let expected = tail_commands(store.value_bytes);
        match open {
            Open::Tails { nsid, next } if nsid == sqe.nsid.get() && next == expected => {}
            _ => return Err(self.refuse(Status::COMMAND_SEQUENCE_ERROR)),
        }
        let page_bytes = store.page_bytes();
        let pages = Pieces::of_prps(sqe, page_bytes, space).map_err(|status| self.refuse(status))?;
        let mut tail = std::mem::take(&mut self.bytes);
        tail.truncate((store.value_bytes - page_bytes) as usize);
        let HybridStore { key, value_bytes, tail_sum, options } = store;
        if parts_sum(&tail) != tail_sum {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        let pieces = Pieces::Hybrid(Box::new(Hybrid { pages, page_bytes, tail }));
        Ok(Taken::Whole(KvCommand::Store { key, value_bytes, options }, pieces))
    }
}
