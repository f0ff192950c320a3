// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The admin queue, and the queue pairs that it makes.

use std::time::{Duration, Instant};

use saker_link::{DoorbellKind, HostQueuePair};
use saker_nvme::admin::{CreateCq, CreateSq, build};
use saker_nvme::regs::offset;
use saker_nvme::{Cqe, Sqe};

use super::{Function, PATIENCE, Pair};
use crate::error::VfioError;

/// Looks at a completion queue before it is waited for.
const SPINS: u32 = 2_000;

impl Function {
    /// Makes an I/O queue pair of so many entries each, with interrupts by vector 1 if `interrupts` says so.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn create_pair(&mut self, qid: u16, entries: u32, interrupts: bool) -> Result<Pair, VfioError> {
        let pair = HostQueuePair::new(&self.space, &self.doorbells, qid, entries, entries)?;
        let cq = CreateCq {
            qid,
            entries,
            contiguous: true,
            interrupts_enabled: interrupts,
            interrupt_vector: u16::from(interrupts),
            base: pair.cq_iova(),
        };
        let sq = CreateSq { qid, entries, contiguous: true, priority: 0, cqid: qid, base: pair.sq_iova() };
        for sqe in [build::create_cq(&cq), build::create_sq(&sq)] {
            self.admin(&sqe)?;
        }
        Ok(pair)
    }

    /// Carries out an admin command, whose data is where it says.
    ///
    /// # Errors
    /// [`VfioError::Admin`] if it is refused.
    pub fn admin(&mut self, sqe: &Sqe) -> Result<Cqe, VfioError> {
        let cqe = self.raw_admin(sqe)?;
        if cqe.status().is_success() { Ok(cqe) } else { Err(VfioError::Admin(cqe.status())) }
    }

    /// The same, whatever it is answered.
    ///
    /// # Errors
    /// [`VfioError`] if it is not answered.
    pub fn raw_admin(&mut self, sqe: &Sqe) -> Result<Cqe, VfioError> {
        self.next_cid = self.next_cid.wrapping_add(1);
        let sqe = sqe.with_cid(self.next_cid);
        let Some(mut admin) = self.admin.take() else { return Err(VfioError::Fatal(0)) };
        let answer = self.admin_on(&mut admin, &sqe);
        self.admin = Some(admin);
        answer
    }

    /// Submits an admin command that nobody waits for: its completion is dropped by the reset that has to follow.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn submit_admin(&mut self, sqe: &Sqe) -> Result<(), VfioError> {
        self.next_cid = self.next_cid.wrapping_add(1);
        let Some(admin) = &mut self.admin else { return Err(VfioError::Fatal(0)) };
        if admin.submit(&sqe.with_cid(self.next_cid)).is_err() {
            return Err(VfioError::Fatal(0));
        }
        admin.ring();
        self.tell(0, DoorbellKind::SqTail)
    }

    fn admin_on(&mut self, admin: &mut HostQueuePair, sqe: &Sqe) -> Result<Cqe, VfioError> {
        if admin.submit(sqe).is_err() {
            return Err(VfioError::Fatal(0));
        }
        admin.ring();
        self.tell(0, DoorbellKind::SqTail)?;
        let begun = Instant::now();
        let mut spins = 0;
        let cqe = loop {
            if let Some(cqe) = admin.poll() {
                break cqe;
            }
            spins += 1;
            if spins > SPINS {
                self.rest(Duration::from_millis(10))?;
                if begun.elapsed() > PATIENCE {
                    return Err(VfioError::Fatal(self.register(offset::CSTS)?));
                }
            }
        };
        admin.ring_cq();
        self.tell(0, DoorbellKind::CqHead)?;
        Ok(cqe)
    }
}
