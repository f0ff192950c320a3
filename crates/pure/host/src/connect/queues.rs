// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Creating and deleting I/O queue pairs.

use std::sync::Arc;

use saker_link::HostQueuePair;
use saker_nvme::admin::{CreateCq, CreateSq, build};

use super::Connection;
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError};
use crate::kv_queue::KvQueue;

/// Size of a queue for key-value commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvQueueOptions {
    /// Entries of each of the two queues, 2 to 65,536; no more than the controller allows (CAP.MQES) are made.
    pub entries: u32,
    /// Commands in flight at most.
    pub slots: u16,
}

impl Connection {
    /// Creates an I/O queue pair with the lowest free identifier, without interrupts.
    ///
    /// # Errors
    /// [`ProtocolError::Queues`] if all granted ones are in use; [`HostError`] otherwise.
    pub fn create_queue(
        &mut self,
        driver: &mut impl Driver,
        entries: u32,
    ) -> Result<HostQueuePair, HostError> {
        let qid = (1..=self.queues_granted)
            .find(|qid| !self.queues_used.contains(qid))
            .ok_or(ProtocolError::Queues)?;
        let entries = entries.min(self.queue_entries_max);
        let pair = HostQueuePair::new(&self.port.space, &self.port.doorbells, qid, entries, entries)?;
        let cq = CreateCq {
            qid,
            entries,
            contiguous: true,
            interrupts_enabled: false,
            interrupt_vector: 0,
            base: pair.cq_iova(),
        };
        self.execute_admin(driver, build::create_cq(&cq))?;
        let sq = CreateSq { qid, entries, contiguous: true, priority: 0, cqid: qid, base: pair.sq_iova() };
        if let Err(error) = self.execute_admin(driver, build::create_sq(&sq)) {
            // The first error is the one to report, whether or not the completion queue can be deleted.
            drop(self.execute_admin(driver, build::delete_cq(qid)));
            return Err(error);
        }
        self.queues_used.insert(qid);
        Ok(pair)
    }

    /// Creates an I/O queue pair for commands to the key-value namespace `nsid`.
    ///
    /// # Errors
    /// As [`create_queue`](Self::create_queue), or if the DMA space has too little room for the slots.
    pub fn create_kv_queue(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
        options: KvQueueOptions,
    ) -> Result<KvQueue, HostError> {
        let pair = self.create_queue(driver, options.entries)?;
        let qid = pair.queue();
        match KvQueue::new(&self.port.space, pair, options.slots, nsid) {
            Ok(mut queue) => {
                queue.set_bar(Arc::clone(&self.port.bar));
                Ok(queue)
            }
            Err(error) => {
                self.delete_queue(driver, qid)?;
                Err(error.into())
            }
        }
    }

    /// Deletes the I/O queue pair `qid`, the submission queue first, as it must be. Commands in flight are aborted; keep
    /// the host's side until then.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete_queue(&mut self, driver: &mut impl Driver, qid: u16) -> Result<(), HostError> {
        self.execute_admin(driver, build::delete_sq(qid))?;
        self.execute_admin(driver, build::delete_cq(qid))?;
        self.queues_used.remove(&qid);
        Ok(())
    }
}
