// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a command counts for in the health log (Base 2.0, section 5.16.1.3; KV 1.0d, section 1.4.2; NVM 1.0, section
//! 1.4.2).
//!
//! | command | counts as |
//! |---|---|
//! | Store, Write | a write of its value, its blocks |
//! | Retrieve, Read, Compare | a read of what went to the host, of its blocks |
//! | Verify | data read, and no command of the host's |
//! | Copy | a write of what was copied |
//! | Write Zeroes | a write without data |
//! | vendor stores and retrieves of one pair | as Store and Retrieve, however the value came |
//! | groups | one write of the payload if it may write, one read of what went to the host if anything did |
//! | parts of transactions | a write of the payload |
//! | pairs from iterators | a read of what went to the host |
//! | all others | nothing |
//!
//! Commands that fail count for nothing, but a Compare that finds a difference has read.

use super::{Inner, Reply, Request};
use crate::stats::HealthCounters;
use saker_nvme::nvm::NvmCommand;
use saker_nvme::{KvCommand, Status};

impl Request {
    /// Counts a command that ended with `reply`.
    pub fn count_work(&self, reply: &Reply, work: &mut HealthCounters) {
        if !reply.status.is_success() && !reply.status.is(Status::COMPARE_FAILURE) {
            return;
        }
        match self {
            Self::Kv(KvCommand::Store { value_bytes, .. }, _) => work.wrote(*value_bytes),
            Self::Kv(KvCommand::Retrieve { .. }, _) => work.read(reply.bytes_out),
            Self::Versioned(..) => work.read(reply.bytes_out),
            Self::Small(command, _) => work.read(reply.dw0.min(command.bytes_max)),
            Self::Block(NvmCommand::Write { .. }, pieces) => work.wrote(pieces.bytes()),
            Self::Block(NvmCommand::WriteZeroes { .. }, _) => work.wrote(0),
            Self::Block(NvmCommand::Read { .. } | NvmCommand::Compare { .. }, pieces) => {
                work.read(pieces.bytes());
            }
            Self::Inner(inner) => match &**inner {
                Inner::Verify(_, bytes) => work.bytes_read += bytes,
                Inner::Copy(copy) => work.wrote(copy.bytes()),
            },
            Self::Group(group) => count_group(group.is_write().then(|| group.bytes_in()), reply, work),
            Self::Indirect(indirect) => indirect.count_work(reply.bytes_out, work),
            Self::Iterator(_) => count_group(None, reply, work),
            Self::Split(split) if split.bytes_in() > 0 => work.wrote(split.bytes_in()),
            Self::Kv(..) | Self::Block(..) | Self::Split(_) => {}
        }
    }
}

fn count_group(written: Option<u32>, reply: &Reply, work: &mut HealthCounters) {
    if let Some(bytes) = written {
        work.wrote(bytes);
    }
    if reply.bytes_out > 0 {
        work.read(reply.bytes_out);
    }
}
