// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's end of a queue pair whose device is elsewhere.

use std::sync::Arc;

use saker_nvme::Status;

use super::{DeviceCq, DeviceSq, Doorbells, PostError, RingError};
use crate::dma::DmaSpace;
use crate::entry::{Cqe, Sqe};

/// Where the two rings of a queue pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairPlace {
    /// QID of both.
    pub qid: u16,
    /// Base and entries of the submission queue.
    pub sq: (u64, u32),
    /// Base and entries of the completion queue.
    pub cq: (u64, u32),
}

/// Takes entries and posts completions, keeping those for which the ring has no room.
#[derive(Debug)]
pub struct RelayPair {
    qid: u16,
    sq: DeviceSq,
    cq: DeviceCq,
    unposted: Vec<Cqe>,
}

impl RelayPair {
    /// The queue pair at `place`.
    ///
    /// # Errors
    /// [`RingError`] if an address, a size or the identifier is not possible.
    pub fn new(
        space: &Arc<DmaSpace>,
        doorbells: &Arc<Doorbells>,
        place: PairPlace,
    ) -> Result<Self, RingError> {
        let PairPlace { qid, sq, cq } = place;
        let sq = DeviceSq::new(space, doorbells, qid, sq.0, sq.1)?;
        let cq = DeviceCq::new(space, doorbells, qid, cq.0, cq.1)?;
        Ok(Self { qid, sq, cq, unposted: Vec::new() })
    }

    /// QID.
    #[must_use]
    pub const fn qid(&self) -> u16 {
        self.qid
    }

    /// The next entry of the host's. A bad doorbell is the host library's fault; the queue goes on with the last good one.
    pub fn fetch(&mut self) -> Option<Sqe> {
        self.sq.fetch().ok().flatten()
    }

    /// Completes an entry of the host's.
    pub fn complete(&mut self, sqe: &Sqe, status: Status, result: u64) {
        let cqe = Cqe::new(result, self.sq.head(), self.qid, sqe.cid.get(), status);
        if !self.unposted.is_empty() || self.cq.post(&cqe).is_err() {
            self.unposted.push(cqe);
        }
    }

    /// Posts what had no room and has it now.
    pub fn post(&mut self) {
        let mut posted = 0;
        for cqe in &self.unposted {
            match self.cq.post(cqe) {
                Ok(()) => posted += 1,
                Err(PostError::Full | PostError::Doorbell(_)) => break,
            }
        }
        self.unposted.drain(..posted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostQueuePair;

    #[test]
    fn completions_without_room_wait_and_keep_their_order() {
        let (space, doorbells) = (DmaSpace::new(8, 1), Doorbells::new(2));
        let mut host = HostQueuePair::new(&space, &doorbells, 1, 16, 4).expect("made");
        let place = PairPlace { qid: 1, sq: (host.sq_iova(), 16), cq: (host.cq_iova(), 4) };
        let mut relay = RelayPair::new(&space, &doorbells, place).expect("made");
        assert_eq!(relay.fetch(), None);
        for cid in 0..8 {
            host.submit(&Sqe::new(2, 1).with_cid(cid)).expect("room");
        }
        host.ring();
        while let Some(sqe) = relay.fetch() {
            relay.complete(&sqe, Status::SUCCESS, u64::from(sqe.cid.get()) << 32);
        }
        let mut seen = Vec::new();
        while seen.len() < 8 {
            relay.post();
            let before = seen.len();
            while let Some(cqe) = host.poll() {
                seen.push((cqe.cid.get(), cqe.result() >> 32));
            }
            assert!(seen.len() > before, "a ring of 4 takes 3 at once");
            host.ring_cq();
        }
        assert_eq!(seen, (0..8).map(|cid| (cid, u64::from(cid))).collect::<Vec<_>>());
    }
}
