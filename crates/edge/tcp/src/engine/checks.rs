// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether the device gets a command, and what is noted of those that fail.

use saker_nvme::{Sqe, Status};
use saker_sim::Instant;
use saker_target::{Bound, ConnectionId, IoCommand, check_io};

use super::Engine;

impl Engine {
    pub(super) fn checked(
        &mut self,
        bound: Bound,
        sqe: &Sqe,
        data: Vec<u8>,
        room: u32,
        now: Instant,
    ) -> Result<IoCommand, Status> {
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        self.subsystem.admit_io(bound, sqe, facts, now)?;
        check_io(sqe, data, room, facts)
    }

    /// An I/O command failed, here or in the device.
    #[cold]
    pub(super) fn note_failure(
        &mut self,
        id: ConnectionId,
        (opcode, nsid, cid): (u8, u32, u16),
        status: Status,
    ) {
        let facts = self.local.as_ref().map_or(&[][..], |local| &local.facts);
        self.subsystem.io_failed(id, &Sqe::new(opcode, nsid).with_cid(cid), facts, status);
    }
}
