// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device needs whose host is another process: interrupts, and memory that comes and goes.

use super::Device;

impl<T> Device<T> {
    /// Tells the interrupt vectors of completion queues with completions that their hosts have not been told of. To be called
    /// after the device was advanced.
    #[inline]
    pub fn interrupts(&mut self, tell: impl FnMut(u16)) {
        self.queues.interrupts(tell);
    }

    /// Looks where the rings of all queues are, after memory of the host was mapped or unmapped. False if one is nowhere: the
    /// device must not be advanced then, but for [`Device::lose_memory`] and until the memory is back.
    pub fn follow_memory(&mut self) -> bool {
        self.queues.follow_memory()
    }

    /// The host has taken the memory of a queue away: all queues are gone, and CSTS.CFS says so until a reset.
    pub fn lose_memory(&mut self) {
        self.queues.clear();
        self.controller.fail(&self.host.registers);
    }

    /// Whether CSTS.RDY is 0 and no reset is going on: no command reaches the host's memory.
    pub fn is_disabled(&self) -> bool {
        let csts = self.controller.status();
        !csts.rdy() && !csts.cfs() && self.flights.is_landed()
    }
}
