// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of the host's on their way, in one shard or several.

mod group;
mod list;

pub(crate) use group::{GroupFlight, Results};
pub(crate) use list::ListFlight;

use saker_nvme::{Sqe, Status};

/// A command of the host's.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Its queue.
    pub queue: usize,
    pub sqe: Sqe,
    /// Parts that have not ended.
    pub left: u16,
    pub kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// One shard's.
    Single,
    /// All shards'; the first failure.
    All(Status),
    Group(Box<GroupFlight>),
    List(Box<ListFlight>),
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
}

impl Flights {
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.flights.len()
    }

    pub fn add(&mut self, flight: Flight) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            self.flights.len() as u32 - 1
        });
        self.flights[id as usize] = Some(flight);
        id
    }

    pub fn get_mut(&mut self, id: u32) -> &mut Flight {
        self.flights[id as usize].as_mut().expect("a part belongs to a flight")
    }

    pub fn remove(&mut self, id: u32) -> Flight {
        self.free.push(id);
        self.flights[id as usize].take().expect("a part belongs to a flight")
    }
}
