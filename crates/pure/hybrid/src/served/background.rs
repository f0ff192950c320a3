// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work of the main tree, on the thread of whoever waits for the store: a little in each turn.

use super::Served;
use crate::main_tree::MainTree;
use saker_host::Driver;
use saker_host::host_kv::Work;
use saker_sim::{Duration, Instant};

/// Quanta that a turn does at most.
const QUANTA: u32 = 4;
/// A turn begins no other quantum when it has spent so long in them. It is what a command takes whose page is read from flash: who waits for the device
/// hardly notices, and a put that is done at once is not kept for longer. There is always one, so that a client that is always busy has its
/// main tree flushed and compacted.
const TIME: Duration = Duration::from_nanos(50_000);

impl<T: Driver, M: MainTree> Served<T, M> {
    /// The main tree goes on for a while.
    pub(super) fn background(&mut self) {
        let main = self.store.main_mut();
        if main.has_background() {
            let mut quantum = || main.has_background() && main.quantum(Work::Free);
            work(&mut quantum, self.clock.as_deref());
        }
    }
}

/// Quanta while they work, until the turn has had its share of them. How many worked.
fn work(quantum: &mut dyn FnMut() -> bool, clock: Option<&(dyn Fn() -> Instant + Send)>) -> u32 {
    let begun = clock.map(|clock| clock());
    let is_over = || clock.zip(begun).is_some_and(|(clock, begun)| clock().since(begun) >= TIME);
    for done in 1..=QUANTA {
        if !quantum() {
            return done - 1;
        }
        if is_over() {
            return done;
        }
    }
    QUANTA
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Quanta of a turn in which each takes so long, and there is work for so many.
    fn quanta(each: u64, due: u32) -> u32 {
        let (now, mut left) = (AtomicU64::new(7), due);
        let clock = || Instant::from_nanos(now.load(Ordering::Relaxed));
        let mut quantum = || {
            now.fetch_add(each, Ordering::Relaxed);
            left = left.saturating_sub(1);
            left > 0
        };
        work(&mut quantum, Some(&clock))
    }

    #[test]
    fn a_turn_begins_no_quantum_when_its_time_is_over_and_has_one_always() {
        let time = TIME.as_nanos();
        assert_eq!(quanta(1, 100), QUANTA, "short ones");
        assert_eq!(quanta(1, 3), 2, "the third found nothing to do");
        assert_eq!((quanta(time / 2, 100), quanta(time / 2 + 1, 100), quanta(time - 1, 100)), (2, 2, 2));
        assert_eq!((quanta(time, 100), quanta(1000 * time, 100)), (1, 1));
        assert_eq!(work(&mut || true, None), QUANTA, "without a clock they are counted");
    }
}
