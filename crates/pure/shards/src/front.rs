// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host sees: registers, doorbells and queues.

use crate::Sharded;
use saker_host::{Driver, Port};
use saker_link::{BarBuffer, DmaSpace, Doorbells, PairPlace, Registers, RelayPair, offset};
use saker_nvme::regs::{Aqa, Cap, Cc, Csts};
use saker_nvme::{Sqe, Status};
use std::sync::Arc;

/// I/O queue pairs.
pub(crate) const QUEUE_PAIRS: u16 = 64;
/// CAP.MQES, 0's based.
const QUEUE_ENTRIES_MAX: u16 = 4095;
/// NVMe 2.0.
const VERSION: u32 = 0x0002_0000;

#[derive(Debug)]
pub(crate) struct Front {
    pub space: Arc<DmaSpace>,
    registers: Arc<Registers>,
    pub doorbells: Arc<Doorbells>,
    bar: Arc<BarBuffer>,
    changes_seen: u32,
    /// By QID; the admin queue is the first.
    pub queues: Vec<Option<RelayPair>>,
    /// Completion queues whose submission queue is to come: QID, base, entries.
    pub completion_queues: Vec<(u16, u64, u32)>,
}

impl Front {
    pub fn new(space: Arc<DmaSpace>) -> Self {
        let registers = Arc::new(Registers::new());
        let cap = Cap::default()
            .with_mqes(QUEUE_ENTRIES_MAX)
            .with_cqr(true)
            .with_css(Cap::CSS_NVM | Cap::CSS_IO_SETS)
            .with_to(1);
        let published = registers
            .publish_u64(offset::CAP, cap.0)
            .and_then(|()| registers.publish_u32(offset::VS, VERSION))
            .and_then(|()| registers.publish_u32(offset::CSTS, Csts::default().0));
        debug_assert!(published.is_ok(), "the block has these registers");
        Self {
            space,
            registers,
            doorbells: Doorbells::new(QUEUE_PAIRS + 1),
            bar: BarBuffer::new(QUEUE_PAIRS),
            changes_seen: 0,
            queues: Vec::new(),
            completion_queues: Vec::new(),
        }
    }

    pub fn port(&self) -> Port {
        Port {
            space: Arc::clone(&self.space),
            registers: Arc::clone(&self.registers),
            doorbells: Arc::clone(&self.doorbells),
            bar: Arc::clone(&self.bar),
        }
    }

    /// The next entry of a queue, once what had no room is posted.
    pub fn fetch(&mut self, n: usize) -> Option<Sqe> {
        let pair = self.queues.get_mut(n)?.as_mut()?;
        pair.post();
        pair.fetch()
    }

    /// A queue that is gone gets nothing.
    pub fn complete(&mut self, n: usize, sqe: &Sqe, status: Status, result: u64) {
        if let Some(Some(pair)) = self.queues.get_mut(n) {
            pair.complete(sqe, status, result);
        }
    }

    /// Gives the admin queue its rings.
    fn enable(&mut self) -> bool {
        let aqa = Aqa(self.registers.load_u32(offset::AQA).unwrap_or(0));
        let base = |at| self.registers.load_u64(at).unwrap_or(0);
        let sq = (base(offset::ASQ), u32::from(aqa.asqs()) + 1);
        let cq = (base(offset::ACQ), u32::from(aqa.acqs()) + 1);
        let pair = RelayPair::new(&self.space, &self.doorbells, PairPlace { qid: 0, sq, cq });
        self.queues = pair.ok().map(Some).into_iter().collect();
        !self.queues.is_empty()
    }

    fn publish(&self, csts: Csts) {
        let published = self.registers.publish_u32(offset::CSTS, csts.0);
        debug_assert!(published.is_ok(), "the block has CSTS");
    }
}

impl<T: Driver> Sharded<T> {
    pub(crate) fn follow_registers(&mut self) {
        let changes = self.front.registers.changes();
        if changes == self.front.changes_seen {
            return;
        }
        self.front.changes_seen = changes;
        let cc = Cc(self.front.registers.load_u32(offset::CC).unwrap_or(0));
        let csts = match (cc.en(), self.front.queues.is_empty()) {
            (true, true) if self.front.enable() => Csts::default().with_rdy(true),
            (true, true) => Csts::default().with_cfs(true),
            (true, false) if cc.shn() != 0 => Csts::default().with_rdy(true).with_shst(Csts::SHST_COMPLETE),
            (true, false) => return,
            (false, _) => {
                self.settle();
                self.front.queues.clear();
                Csts::default()
            }
        };
        self.front.publish(csts);
    }
}
