// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a client asks of interrupts.

use std::os::fd::OwnedFd;

use saker_pcie::bar::irq;
use saker_pcie::message::IrqAction;

use super::Engine;
use crate::refused::{Refused, no_such};

impl Engine {
    /// Does to interrupts what a client asks.
    pub(crate) fn set_irqs(
        &mut self,
        index: u32,
        (start, count): (u32, u32),
        action: IrqAction,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(), Refused> {
        if index >= irq::COUNT {
            return Err(no_such("kind of interrupts", index));
        }
        let vectors = match index {
            irq::MSIX => &mut self.vectors,
            irq::REQUEST => &mut self.request,
            // There are none of these: there is nothing to forget, and nothing to tell.
            _ if count == 0 => return Ok(()),
            _ => return Err(no_such("interrupt", start)),
        };
        // Neither overflows: that was looked at.
        if start + count > vectors.count() {
            return Err(no_such("vector", start + count - 1));
        }
        let chosen = start as u16..(start + count) as u16;
        match action {
            IrqAction::Descriptors => {
                vectors.set(start, descriptors)?;
                let is_pending = |vector: &u16| index == irq::MSIX && self.function.take_pending(*vector);
                for vector in chosen.filter(is_pending) {
                    vectors.tell(vector);
                }
            }
            IrqAction::Forget if count == 0 => vectors.forget(0, vectors.count()),
            IrqAction::Forget => vectors.forget(start, count),
            IrqAction::Trigger => {
                for vector in chosen {
                    vectors.tell(vector);
                }
            }
            // A client masks a vector by taking its descriptor away.
            IrqAction::Mask => {}
        }
        Ok(())
    }
}
