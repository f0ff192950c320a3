// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a lane remembers agrees with itself.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use saker_log::ensure;

use super::{Book, Flight, Sent, State};
use crate::session::container::Container;

impl Flight {
    /// Whose command it is.
    fn container(self) -> Option<NonZeroU32> {
        match self {
            Self::Group(id, _) | Self::Results(id) | Self::Single(id, _) => Some(id),
            Self::None | Self::Call(_) | Self::Flush => None,
        }
    }
}

impl Book {
    /// Says what contradicts itself, if anything does. `container_bytes`: of the usual container.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self, container_bytes: usize) -> Result<(), String> {
        let under_way = || self.sent.iter().map(|sent| &sent.container).chain(&self.closed);
        let mut names = BTreeSet::new();
        for container in under_way().chain([&self.open]) {
            ensure(names.insert(container.id), || format!("two containers have the name {}", container.id))?;
            container.check().map_err(|e| format!("container {}: {e}", container.id))?;
        }
        let empty = under_way().find(|container| container.is_empty()).map(|container| container.id);
        ensure(empty.is_none(), || format!("container {empty:?} is closed, and empty"))?;
        let awaited = self.spare.iter().any(Container::is_awaited);
        ensure(!awaited, || "somebody waits for a container that nobody uses".into())?;
        self.sent.iter().try_for_each(|sent| self.check_sent(sent))?;
        let lost = self.flights.iter().filter_map(|flight| flight.container());
        let lost = lost.into_iter().find(|id| self.sent.iter().all(|sent| sent.container.id != *id));
        ensure(lost.is_none(), || format!("a command of container {lost:?} is in flight, which is over"))?;
        let writes: usize = under_way().chain([&self.open]).map(Container::len).sum();
        let noted = self.stats.packed - self.stats.retired;
        ensure(writes as u64 == noted, || format!("{writes} writes are in containers, noted: {noted}"))?;
        let long = under_way().map(Container::capacity).filter(|bytes| *bytes != container_bytes);
        let (bytes, noted) = (long.sum::<usize>(), self.long_bytes);
        ensure(bytes == noted, || format!("long containers take {bytes} bytes, noted: {noted}"))?;
        let keys: BTreeSet<_> = self.ready.iter().map(|(_, key)| key.as_bytes()).collect();
        ensure(keys.len() == self.ready.len(), || "a key is to be moved on twice".into())
    }

    /// Commands of a container in flight are as many as it waits for, and it has something to wait for or to send.
    fn check_sent(&self, sent: &Sent) -> Result<(), String> {
        let (id, writes) = (sent.container.id, sent.container.len());
        let out = self.flights.iter().filter(|flight| flight.container() == Some(id)).count();
        let noted = sent.out as usize;
        ensure(out == noted, || format!("{out} commands of container {id} are in flight, noted: {noted}"))?;
        let has_next = match sent.state {
            State::Wait => out > 0,
            State::Singles(from) => usize::from(from) < writes,
            State::Fetch(..) => out == 0,
        };
        ensure(has_next, || format!("container {id} has {out} commands in flight in {:?}", sent.state))?;
        let beyond = self
            .flights
            .iter()
            .find(|flight| matches!(flight, Flight::Single(of, n) if *of == id && usize::from(*n) >= writes));
        ensure(beyond.is_none(), || format!("container {id} has {writes} writes, in flight is {beyond:?}"))
    }

    /// # Panics
    /// If something contradicts itself.
    #[cold]
    pub(super) fn assert_sound(&self, container_bytes: usize) {
        self.check(container_bytes).unwrap_or_else(|e| panic!("lane {}: {e}", self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::HostError;
    use crate::kv_queue::SubmitError;
    use crate::session::options::Options;
    use crate::session::shared::Shared;
    use crate::session::ticket::Ticket;
    use crate::session::wire::{Answer, Command, Wire};
    use crate::session::{flusher::Flusher, index::Index, lane::Lane};
    use saker_link::ShortLock;
    use saker_nvme::Key;

    /// Takes commands, and completes none.
    #[derive(Debug, Default)]
    struct Deaf(u16);

    impl Wire for Deaf {
        fn submit(&mut self, _: Command<'_>) -> Result<u16, SubmitError> {
            self.0 += 1;
            Ok(self.0 - 1)
        }

        fn ring(&mut self) {}

        fn poll(&mut self, _: &mut dyn FnMut(Answer<'_>)) -> Result<bool, HostError> {
            Ok(false)
        }

        fn slots(&self) -> usize {
            8
        }

        fn name(&self) -> u16 {
            1
        }

        fn group_bytes_max(&self) -> usize {
            4096
        }

        fn has_iterators(&self) -> bool {
            false
        }
    }

    const CONTAINER_BYTES: usize = 4096;

    /// In flight is a group, and a long write alone; one container is closed, one is open.
    fn busy() -> Lane<Deaf> {
        let options = Options { batch: 2, container_bytes: CONTAINER_BYTES, ..Options::default() };
        let shared = Shared {
            index: Index::new(2),
            parked_bytes: ShortLock::new(0),
            flusher: ShortLock::new(Flusher::default()),
            cache: None,
            options,
        };
        let mut lane = Lane::new(Deaf::default(), 0, &shared);
        let pack = |lane: &mut Lane<Deaf>, n: u8, bytes: usize| {
            let key = Key::new(&[n]).expect("a key");
            let packed = lane.book.pack(&shared, shared.index.stripe_of(&key), &key, Some(&vec![n; bytes]));
            shared.index.lock(shared.index.stripe_of(&key)).insert(key, packed.place);
            lane.book.close_if_full(&shared);
        };
        [(1, 10), (2, 10), (3, 5000)].into_iter().for_each(|(n, bytes)| pack(&mut lane, n, bytes));
        lane.send(&shared);
        [(4, 10), (5, 10), (6, 10)].into_iter().for_each(|(n, bytes)| pack(&mut lane, n, bytes));
        lane
    }

    #[test]
    fn every_planted_fault_is_found() {
        type Fault = (&'static str, fn(&mut Book));
        let faults: [Fault; 13] = [
            ("commands that it waits for", |b| b.sent[0].out += 1),
            ("a command that is lost", |b| b.flights[0] = Flight::None),
            ("a container that is lost", |b| drop(b.sent.remove(0))),
            ("a closed container that is lost", |b| drop(b.closed.pop_front())),
            ("a name that is used twice", |b| b.open.id = b.closed[0].id),
            ("results of a group in flight", |b| b.sent[0].state = State::Fetch(0, 0)),
            ("writes that are sent beyond the last", |b| b.sent[0].state = State::Singles(2)),
            ("a write that there is not", |b| b.flights[1] = Flight::Single(b.sent[1].container.id, 1)),
            ("bytes of long containers", |b| b.long_bytes += 1),
            ("writes that came to their end", |b| b.stats.retired += 1),
            ("a key that is moved on twice", |b| {
                let key = Key::new(&[9]).expect("a key");
                b.ready.extend([(0, key), (0, key)]);
            }),
            ("a spare container that is awaited", |b| {
                let mut spare = Container::new(CONTAINER_BYTES);
                spare.owner = Some(Ticket::new());
                b.spare.push(spare);
            }),
            ("a write that is awaited and not there", |b| b.open.waiting.push((1, Ticket::new()))),
        ];
        for (what, fault) in faults {
            let mut lane = busy();
            assert_eq!(lane.book.check(CONTAINER_BYTES), Ok(()), "{what} is not planted yet");
            fault(&mut lane.book);
            let found = lane.book.check(CONTAINER_BYTES);
            assert!(found.is_err(), "{what} is not found");
        }
    }
}
