// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The values of the controller's features.

use std::collections::{BTreeMap, BTreeSet};

use saker_nvme::Status;
use saker_nvme::admin::feature::{AsyncEventConfig, CommandSetProfile, NumberOfQueues, WriteAtomicity, fid};

use super::temperature::Thresholds;

/// OAES of any controller: the events that can be switched on beside the critical warnings.
pub(in crate::controller) const EVENTS_SUPPORTED: AsyncEventConfig =
    AsyncEventConfig(0).with_namespace_attribute(true);

/// Critical warnings of the health log, bits 4:0 of feature 0Bh.
const CRITICAL_WARNINGS: u32 = 0x1F;

/// THR and TIME of Interrupt Coalescing.
const COALESCING: u32 = 0xFFFF;

/// PS of Power Management, bits 4:0.
const POWER_STATE: u32 = 0x1F;

/// CD of Interrupt Vector Configuration, bit 16.
const COALESCING_DISABLED: u32 = 1 << 16;

/// Values in force, or the defaults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::controller) struct Values {
    pub arbitration: u32,
    pub temperature: Thresholds,
    pub write_cache: bool,
    /// Queues granted.
    pub queues: NumberOfQueues,
    pub interrupt_coalescing: u32,
    /// Vectors without coalescing.
    uncoalesced: BTreeSet<u16>,
    pub atomicity: WriteAtomicity,
    /// TLER of each block namespace that has one.
    pub retry_times: BTreeMap<u32, u16>,
    pub events: AsyncEventConfig,
    /// What [`events`](Self::events) may be beside the critical warnings.
    pub events_supported: AsyncEventConfig,
    pub keep_alive_ms: u32,
}

impl Values {
    /// The defaults: a write cache is on, and every queue is granted until the host asks for fewer.
    pub fn new(queue_pairs_max: u16) -> Self {
        let most = queue_pairs_max - 1;
        Self {
            arbitration: 0,
            temperature: Thresholds::default(),
            write_cache: true,
            queues: NumberOfQueues::default().with_submission(most).with_completion(most),
            interrupt_coalescing: 0,
            uncoalesced: BTreeSet::new(),
            atomicity: WriteAtomicity::default(),
            retry_times: BTreeMap::new(),
            events: AsyncEventConfig::default(),
            events_supported: EVENTS_SUPPORTED,
            keep_alive_ms: 0,
        }
    }

    /// Grants what is asked for, up to the maximum; returns what is granted, 0's based.
    pub fn grant_queues(&mut self, asked: u32, queue_pairs_max: u16) -> Result<u32, Status> {
        let asked = NumberOfQueues(asked);
        if asked.submission() == u16::MAX || asked.completion() == u16::MAX {
            return Err(Status::INVALID_FIELD);
        }
        let most = queue_pairs_max - 1;
        self.queues = NumberOfQueues::default()
            .with_submission(asked.submission().min(most))
            .with_completion(asked.completion().min(most));
        Ok(self.queues.0)
    }

    /// Sets a feature that has neither an action nor a result.
    pub fn set(&mut self, fid: u8, value: u32, queue_pairs_max: u16) -> Result<(), Status> {
        match fid {
            fid::ARBITRATION => self.arbitration = value,
            fid::POWER_MANAGEMENT if value & POWER_STATE == 0 => {}
            fid::TEMPERATURE_THRESHOLD => self.temperature.set(value)?,
            fid::INTERRUPT_COALESCING => self.interrupt_coalescing = value & COALESCING,
            fid::INTERRUPT_VECTOR => self.set_interrupt_vector(value, queue_pairs_max)?,
            fid::WRITE_ATOMICITY => {
                let disabled = WriteAtomicity(value).disable_normal();
                self.atomicity = WriteAtomicity::default().with_disable_normal(disabled);
            }
            fid::ASYNC_EVENT_CONFIG => {
                self.events = AsyncEventConfig(value & (self.events_supported.0 | CRITICAL_WARNINGS));
            }
            fid::KEEP_ALIVE_TIMER => self.keep_alive_ms = value,
            fid::COMMAND_SET_PROFILE if CommandSetProfile(value).combination() == 0 => {}
            fid::COMMAND_SET_PROFILE => return Err(Status::COMMAND_SET_COMBINATION_REJECTED),
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(())
    }

    /// Interrupt Vector Configuration of the vector in bits 15:0 of `cdw11`.
    pub fn interrupt_vector(&self, cdw11: u32, queue_pairs_max: u16) -> Result<u32, Status> {
        let vector = check_vector(cdw11, queue_pairs_max)?;
        let disabled = if self.uncoalesced.contains(&vector) { COALESCING_DISABLED } else { 0 };
        Ok(u32::from(vector) | disabled)
    }

    fn set_interrupt_vector(&mut self, cdw11: u32, queue_pairs_max: u16) -> Result<(), Status> {
        let vector = check_vector(cdw11, queue_pairs_max)?;
        if cdw11 & COALESCING_DISABLED != 0 {
            self.uncoalesced.insert(vector);
        } else {
            self.uncoalesced.remove(&vector);
        }
        Ok(())
    }
}

/// There is one vector for each completion queue, the admin queue's being 0.
fn check_vector(cdw11: u32, queue_pairs_max: u16) -> Result<u16, Status> {
    let vector = cdw11 as u16;
    if vector <= queue_pairs_max { Ok(vector) } else { Err(Status::INVALID_FIELD) }
}
