// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host library does with registers and the admin queue.

use std::time::Instant;

use saker_link::{PairPlace, RelayPair, gather, offset, prp_pieces, scatter};
use saker_nvme::regs::{Aqa, Cc, Csts};
use saker_nvme::transfer::{Transfer, admin_only_reads, contents_told, of_admin};
use saker_nvme::vendor_specific::{Capabilities, LID_CAPABILITIES};
use saker_nvme::{Sqe, Status, admin};

use crate::admin::{Decision, decide};
use crate::node::Outcome;
use crate::passthrough::Passthrough;
use crate::pauses::RETRY_PAUSE;

impl Passthrough {
    pub(crate) fn follow_registers(&mut self) {
        let changes = self.registers.changes();
        if changes == self.changes_seen {
            return;
        }
        self.changes_seen = changes;
        let cc = Cc(self.registers.load_u32(offset::CC).unwrap_or(0));
        let csts = match (cc.en(), self.queues.is_empty()) {
            (true, true) if self.enable() => Csts::default().with_rdy(true),
            (true, true) => Csts::default().with_cfs(true),
            (true, false) if cc.shn() != 0 => Csts::default().with_rdy(true).with_shst(Csts::SHST_COMPLETE),
            (true, false) => return,
            (false, _) => {
                self.queues.clear();
                Csts::default()
            }
        };
        let published = self.registers.publish_u32(offset::CSTS, csts.0);
        debug_assert!(published.is_ok(), "the block has CSTS");
    }

    /// Gives the admin queue its rings: the kernel has enabled the controller.
    fn enable(&mut self) -> bool {
        let aqa = Aqa(self.registers.load_u32(offset::AQA).unwrap_or(0));
        let base = |at| self.registers.load_u64(at).unwrap_or(0);
        let sq = (base(offset::ASQ), u32::from(aqa.asqs()) + 1);
        let cq = (base(offset::ACQ), u32::from(aqa.acqs()) + 1);
        let pair = RelayPair::new(&self.space, &self.doorbells, PairPlace { qid: 0, sq, cq });
        self.queues = pair.ok().map(Some).into_iter().collect();
        !self.queues.is_empty()
    }

    pub(crate) fn fetch_all(&mut self) -> bool {
        let mut any = false;
        for n in 0..self.queues.len() {
            while let Some(sqe) = self.fetch(n) {
                any = true;
                if n == 0 { self.admin(&sqe) } else { self.io(n, sqe) }
            }
        }
        any
    }

    fn fetch(&mut self, n: usize) -> Option<Sqe> {
        let pair = self.queues.get_mut(n)?.as_mut()?;
        pair.post();
        pair.fetch()
    }

    pub(crate) fn complete(&mut self, n: usize, sqe: &Sqe, status: Status, result: u64) {
        if let Some(Some(pair)) = self.queues.get_mut(n) {
            pair.complete(sqe, status, result);
        }
    }

    fn admin(&mut self, sqe: &Sqe) {
        let (status, result) = match decide(sqe, self.node.nsid) {
            Decision::Hold => return,
            Decision::Answer(status, result) => (status, result),
            Decision::Data(data) => (self.give(sqe, &data), 0),
            Decision::CreateCq(qid, base, entries) => {
                self.completion_queues.push((qid, base, entries));
                (Status::SUCCESS, 0)
            }
            Decision::CreateSq(qid, base, entries) => (self.create_queue(qid, base, entries), 0),
            Decision::DeleteSq(qid) => (self.delete_queue(qid), 0),
            Decision::Relay => self.relay(sqe),
        };
        self.complete(0, sqe, status, result);
    }

    /// Puts the data of an answer where the command wants it.
    fn give(&self, sqe: &Sqe, data: &[u8]) -> Status {
        let given = prp_pieces(sqe, data.len() as u32, &self.space);
        given.and_then(|pieces| scatter(&pieces, &self.space, data)).err().unwrap_or(Status::SUCCESS)
    }

    fn relay(&mut self, sqe: &Sqe) -> (Status, u64) {
        let Some(transfer) = of_admin(sqe) else { return (Status::INVALID_OPCODE, 0) };
        let Ok(bytes) = u32::try_from(transfer.bytes()) else { return (Status::INVALID_FIELD, 0) };
        let mut data = vec![0; bytes as usize];
        if let Transfer::ToDevice(_) = transfer {
            let brought = prp_pieces(sqe, bytes, &self.space);
            data = match brought.and_then(|pieces| gather(&pieces, &self.space)) {
                Ok(data) => data,
                Err(status) => return (status, 0),
            };
        }
        let outcome = self.ask(sqe, &mut data);
        if !outcome.status.is_success() {
            return (outcome.status, outcome.result);
        }
        if sqe.opcode == admin::opcode::GET_LOG_PAGE && sqe.cdw10.get() as u8 == LID_CAPABILITIES {
            // A PCIe controller has methods that need memory which host and device share.
            Capabilities::narrow(&mut data);
        }
        let told = contents_told(sqe, &data, |nsid| self.contents.get(&nsid).copied());
        self.contents.extend(told);
        let given = match transfer {
            Transfer::ToHost(_) => self.give(sqe, &data),
            Transfer::None | Transfer::ToDevice(_) => Status::SUCCESS,
        };
        (given, outcome.result)
    }

    /// Asks the kernel, again and again if it has no connection and the command only reads.
    fn ask(&mut self, sqe: &Sqe, data: &mut [u8]) -> Outcome {
        let deadline = Instant::now() + self.patience;
        loop {
            let outcome = Outcome::of(self.node.admin(sqe, data));
            let is_final = !outcome.is_without_path() || !admin_only_reads(sqe);
            if is_final || Instant::now() > deadline {
                return outcome;
            }
            self.repeated += 1;
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    fn create_queue(&mut self, qid: u16, base: u64, entries: u32) -> Status {
        let Some(at) = self.completion_queues.iter().position(|(cqid, ..)| *cqid == qid) else {
            return Status::INVALID_QUEUE_ID;
        };
        let (_, cq_base, cq_entries) = self.completion_queues.remove(at);
        let place = PairPlace { qid, sq: (base, entries), cq: (cq_base, cq_entries) };
        let Ok(pair) = RelayPair::new(&self.space, &self.doorbells, place) else {
            return Status::PRP_OFFSET_INVALID;
        };
        let n = usize::from(qid);
        if self.queues.len() <= n {
            self.queues.resize_with(n + 1, || None);
        }
        self.queues[n] = Some(pair);
        Status::SUCCESS
    }

    fn delete_queue(&mut self, qid: u16) -> Status {
        let slot = self.queues.get_mut(usize::from(qid)).filter(|_| qid > 0);
        slot.and_then(Option::take).map_or(Status::INVALID_QUEUE_ID, |_| Status::SUCCESS)
    }
}
