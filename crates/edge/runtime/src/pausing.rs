// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A wait for a device that runs on a thread of its own.

use saker_host::Driver;

/// Rounds of polling before a waiting thread lets others run: there may be more threads than cores.
const SPINS: u32 = 200;

/// A pause while the device runs on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pausing(u32);

impl Driver for Pausing {
    #[inline]
    fn drive(&mut self) {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(SPINS) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
