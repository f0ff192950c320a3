// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What hosts have asked, by command and status, and how long it took. Whoever carries commands counts them, a target or, for a
//! host that shares its memory with the device, the device itself; it also tells them, so counting is a few plain stores.

use std::borrow::Cow;

use saker_nvme::Status;
use saker_nvme::vendor_specific::{
    CommandClass, Counter, CounterEntry, CounterKind, CounterOf, LATENCY_BUCKETS, command_name,
    latency_bucket, status_detail,
};
use saker_sim::Duration;

/// Slots of the index: an opcode of each class, and the others of it.
const SLOTS: usize = 257;
const OTHER: usize = SLOTS - 1;
/// No command of this kind has come yet.
const NONE: u8 = u8::MAX;

#[derive(Clone, Debug)]
struct Command {
    class: CommandClass,
    opcode: u16,
    succeeded: u64,
    /// By status as [`status_detail`] has it, in the order of their first time.
    failed: Vec<(u16, u64)>,
    nanos: u64,
    buckets: [u64; LATENCY_BUCKETS],
}

/// The counts.
#[derive(Debug)]
pub struct Tally {
    /// Class and opcode to a place in `commands`.
    index: Box<[[u8; SLOTS]; CommandClass::ALL.len()]>,
    commands: Vec<Command>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { index: Box::new([[NONE; SLOTS]; CommandClass::ALL.len()]), commands: Vec::new() }
    }
}

impl Tally {
    /// Counts a command that was answered; `took` is `None` where waiting was what it asked for.
    #[inline]
    pub fn count(&mut self, class: CommandClass, opcode: u8, status: Status, took: Option<Duration>) {
        let at = self.index[class as usize - 1][usize::from(opcode)];
        let at = if at == NONE { self.enter(class, opcode) } else { usize::from(at) };
        let command = &mut self.commands[at];
        if status.is_success() {
            command.succeeded += 1;
        } else {
            command.fail(status_detail(status));
        }
        if let Some(took) = took {
            command.nanos += took.as_nanos();
            command.buckets[latency_bucket(took.as_nanos())] += 1;
        }
    }

    /// The place of an opcode that has none. Those without a name share one, so strangers cannot make any.
    #[cold]
    fn enter(&mut self, class: CommandClass, opcode: u8) -> usize {
        let index = &mut self.index[class as usize - 1];
        let (slot, opcode) = match command_name(class, opcode.into()) {
            Some(_) => (usize::from(opcode), u16::from(opcode)),
            None => (OTHER, CounterEntry::OTHER),
        };
        if index[slot] == NONE {
            index[slot] = self.commands.len() as u8;
            let (succeeded, nanos, buckets) = (0, 0, [0; LATENCY_BUCKETS]);
            self.commands.push(Command { class, opcode, succeeded, failed: Vec::new(), nanos, buckets });
        }
        usize::from(index[slot])
    }

    /// All of it, as log page C3h has it.
    #[must_use]
    pub fn counters(&self) -> Vec<Counter> {
        self.commands.iter().flat_map(Command::counters).collect()
    }
}

impl Command {
    #[cold]
    fn fail(&mut self, status: u16) {
        match self.failed.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => self.failed.push((status, 1)),
        }
    }

    fn counters(&self) -> Vec<Counter> {
        let of = |name, detail, value| {
            let of = CounterOf::Command { class: self.class, opcode: self.opcode, detail };
            Counter { name: Cow::Borrowed(name), kind: CounterKind::Counter, of, nsid: 0, value }
        };
        let mut all = vec![of("commands", 0, self.succeeded)];
        all.extend(self.failed.iter().map(|(status, count)| of("commands", *status, *count)));
        let buckets = (0..).zip(&self.buckets).filter(|(_, count)| **count > 0);
        all.extend(buckets.map(|(n, count)| of("command_latency", n, *count)));
        all.push(of("command_nanoseconds", 0, self.nanos));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tally: &Tally, name: &str) -> Vec<(u16, u16, u64)> {
        let of = |counter: &Counter| match counter.of {
            CounterOf::Command { opcode, detail, .. } => Some((opcode, detail, counter.value)),
            CounterOf::Device => None,
        };
        tally.counters().iter().filter(|counter| counter.name == name).filter_map(of).collect()
    }

    #[test]
    fn commands_are_told_apart_by_opcode_and_status() {
        let mut tally = Tally::default();
        let took = Some(Duration::from_nanos(3_500));
        (0..5).for_each(|_| tally.count(CommandClass::Kv, 1, Status::SUCCESS, took));
        (0..2).for_each(|_| tally.count(CommandClass::Kv, 1, Status::KEY_EXISTS, took));
        tally.count(CommandClass::Nvm, 1, Status::SUCCESS, None);
        let exists = status_detail(Status::KEY_EXISTS);
        assert_eq!(told(&tally, "commands"), [(1, 0, 5), (1, exists, 2), (1, 0, 1)]);
        assert_eq!(told(&tally, "command_latency"), [(1, 2, 7)]);
        assert_eq!(told(&tally, "command_nanoseconds"), [(1, 0, 24_500), (1, 0, 0)]);
    }

    #[test]
    fn opcodes_that_nobody_has_share_a_place() {
        let mut tally = Tally::default();
        for class in CommandClass::ALL {
            (0..=u8::MAX).for_each(|opcode| tally.count(class, opcode, Status::INVALID_OPCODE, None));
        }
        let commands = told(&tally, "commands");
        let counted: u64 = commands.iter().map(|(_, _, count)| count).sum();
        assert_eq!(counted, 4 * 256);
        assert!(commands.len() < 150, "{}", commands.len());
        let others =
            commands.iter().filter(|(opcode, detail, _)| *opcode == CounterEntry::OTHER && *detail > 0);
        assert_eq!(others.count(), 4);
    }
}
