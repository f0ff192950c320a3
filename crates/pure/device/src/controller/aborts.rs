// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Abort (Base 2.0, section 5.1): how many are under way.

use saker_nvme::Status;

use super::outcome::{Action, Decision, Outcome};

/// Aborts that may be under way at once; ACL is one less.
pub(super) const ABORTS_MAX: u8 = 4;

/// DW0 of an Abort that aborted nothing.
const NOT_ABORTED: u32 = 1;

#[derive(Debug, Default)]
pub(super) struct Aborts {
    under_way: u8,
}

impl Aborts {
    /// `queue_exists`: whether `sqid` is a submission queue. If not, there is nothing to abort, which is no error.
    pub fn begin(&mut self, sqid: u16, cid: u16, queue_exists: bool) -> Decision {
        if self.under_way == ABORTS_MAX {
            return Err(Status::ABORT_LIMIT_EXCEEDED);
        }
        if !queue_exists {
            return Ok(Outcome::dw0(NOT_ABORTED));
        }
        self.under_way += 1;
        Ok(Outcome { dw0: NOT_ABORTED, ..Outcome::act(Action::Abort { sqid, cid }) })
    }

    pub fn done(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}
