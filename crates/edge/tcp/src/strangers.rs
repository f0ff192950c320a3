// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connections that have not connected a queue. There is a limit; when it is reached, an old one makes room for a newcomer.
//!
//! Refusing the newcomer instead would let a few hundred silent sockets keep every host out until their time is over. The
//! larger of two groups loses its oldest: those that have said nothing, and those that have exchanged ICReq and ICResp.
//! So whatever a flood consists of, a host in either group is cut only by half the limit of newcomers behind it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use saker_target::ConnectionId;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// The connections by age: identifiers rise.
type Group = BTreeMap<ConnectionId, Arc<Notify>>;

#[derive(Debug, Default)]
struct Groups {
    silent: Group,
    shaken: Group,
}

impl Groups {
    fn len(&self) -> usize {
        self.silent.len() + self.shaken.len()
    }

    /// Takes one out and tells its task to close it. False if there is none.
    fn cut_one(&mut self) -> bool {
        let larger = if self.shaken.len() > self.silent.len() { &mut self.shaken } else { &mut self.silent };
        let cut = larger.pop_first();
        cut.inspect(|(_, cut)| cut.notify_one()).is_some()
    }
}

/// All of a server.
#[derive(Debug)]
pub(crate) struct Strangers {
    groups: Mutex<Groups>,
    max: usize,
}

impl Strangers {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { groups: Mutex::default(), max })
    }

    fn groups(&self) -> MutexGuard<'_, Groups> {
        // Each change of the groups is one call: they are whole whatever else has failed.
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a newcomer. At the limit another one is cut.
    pub fn admit(self: &Arc<Self>, id: ConnectionId) -> Stranger {
        let cut = Arc::new(Notify::new());
        let mut groups = self.groups();
        while groups.len() >= self.max && groups.cut_one() {}
        groups.silent.insert(id, Arc::clone(&cut));
        Stranger { id, all: Arc::clone(self), cut }
    }

    /// Closes one. False if there is none.
    pub fn cut_one(&self) -> bool {
        self.groups().cut_one()
    }
}

/// A place among them, given back when dropped.
#[derive(Debug)]
pub(crate) struct Stranger {
    id: ConnectionId,
    all: Arc<Strangers>,
    cut: Arc<Notify>,
}

impl Stranger {
    fn has_shaken(&self) {
        let mut groups = self.all.groups();
        if let Some(cut) = groups.silent.remove(&self.id) {
            groups.shaken.insert(self.id, cut);
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut groups = self.all.groups();
        groups.silent.remove(&self.id);
        groups.shaken.remove(&self.id);
    }
}

/// Places among all connections, and among those that have not connected a queue.
#[derive(Debug)]
pub(crate) struct Permits {
    _connection: OwnedSemaphorePermit,
    stranger: Option<Stranger>,
    has_shaken: bool,
}

impl Permits {
    pub fn new(connection: OwnedSemaphorePermit, stranger: Stranger) -> Self {
        Self { _connection: connection, stranger: Some(stranger), has_shaken: false }
    }

    /// ICReq has come.
    pub fn shaken(&mut self) {
        if let (false, Some(stranger)) = (self.has_shaken, &self.stranger) {
            stranger.has_shaken();
            self.has_shaken = true;
        }
    }

    /// A queue is connected and has authenticated if it has to: no stranger any more.
    pub fn connected(&mut self) {
        self.stranger = None;
    }

    /// Waits until the connection is to make room; for ever once a queue is connected.
    pub async fn cut(&self) {
        match &self.stranger {
            Some(stranger) => stranger.cut.notified().await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(all: &Strangers) -> (usize, usize) {
        let groups = all.groups();
        (groups.silent.len(), groups.shaken.len())
    }

    fn admit(all: &Arc<Strangers>, ids: std::ops::Range<u64>) -> Vec<Stranger> {
        ids.map(|id| all.admit(id)).collect()
    }

    fn kept(all: &Strangers, stranger: &Stranger) -> bool {
        let groups = all.groups();
        groups.silent.contains_key(&stranger.id) || groups.shaken.contains_key(&stranger.id)
    }

    #[test]
    fn the_oldest_makes_room_and_is_told() {
        let all = Strangers::new(4);
        let strangers = admit(&all, 1..7);
        let are_kept: Vec<bool> = strangers.iter().map(|stranger| kept(&all, stranger)).collect();
        assert_eq!(are_kept, [false, false, true, true, true, true]);
        let told = |n: usize| {
            let mut notified = std::pin::pin!(strangers[n].cut.notified());
            notified.as_mut().enable()
        };
        assert_eq!([told(0), told(1), told(2), told(5)], [true, true, false, false]);
    }

    #[test]
    fn silent_ones_do_not_push_out_a_host_that_has_shaken_hands() {
        let all = Strangers::new(8);
        let host = all.admit(0);
        host.has_shaken();
        let _flood = admit(&all, 1..1000);
        assert!(kept(&all, &host));
        assert_eq!(sizes(&all), (7, 1));
    }

    #[test]
    fn a_flood_of_handshakes_leaves_half_the_room_to_newcomers() {
        let all = Strangers::new(8);
        let flood = admit(&all, 0..8);
        flood.iter().for_each(Stranger::has_shaken);
        let host = all.admit(8);
        let behind = admit(&all, 9..12);
        assert!(kept(&all, &host) && behind.iter().all(|stranger| kept(&all, stranger)));
        assert_eq!(sizes(&all), (4, 4));
    }

    #[test]
    fn places_come_back() {
        let all = Strangers::new(3);
        let mut strangers = admit(&all, 0..5);
        strangers[4].has_shaken();
        assert_eq!(sizes(&all), (2, 1));
        strangers.truncate(3);
        assert_eq!(sizes(&all), (1, 0));
        drop(strangers);
        assert_eq!(sizes(&all), (0, 0));
        assert!(!all.cut_one());
    }
}
