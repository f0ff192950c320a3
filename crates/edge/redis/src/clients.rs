// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is connected, and what they hold together.
//!
//! A connection holds what it has sent of a command and what it has not read of answers. When all of them together hold more than the
//! limit, the one that holds most is closed: whoever holds little goes on. Redis does the same (`maxmemory-clients`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use tokio::sync::Notify;

/// A connection, as others see it.
#[derive(Debug)]
pub(crate) struct Client {
    pub id: u64,
    pub address: SocketAddr,
    pub name: RefCell<Vec<u8>>,
    pub library: RefCell<[Vec<u8>; 2]>,
    pub is_version_three: Cell<bool>,
    begun: Instant,
    active: Cell<Instant>,
    memory: Cell<usize>,
    cut: Notify,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Clients {
    all: RefCell<BTreeMap<u64, Rc<Client>>>,
    next_id: Cell<u64>,
    memory: Cell<usize>,
    memory_max: usize,
    max: usize,
    pub received: Cell<u64>,
    pub refused: Cell<u64>,
    pub cut: Cell<u64>,
    pub commands: Cell<u64>,
}

/// Adds to a counter.
pub(crate) fn count(counter: &Cell<u64>, more: u64) {
    counter.set(counter.get() + more);
}

impl Clients {
    pub fn new(max: usize, memory_max: usize) -> Self {
        Self {
            all: RefCell::default(),
            next_id: Cell::new(1),
            memory: Cell::new(0),
            memory_max,
            max,
            received: Cell::new(0),
            refused: Cell::new(0),
            cut: Cell::new(0),
            commands: Cell::new(0),
        }
    }

    /// Enters a connection; nothing if there are too many.
    pub fn enter(&self, address: SocketAddr) -> Option<Rc<Client>> {
        count(&self.received, 1);
        if self.len() >= self.max {
            count(&self.refused, 1);
            return None;
        }
        let id = self.next_id.replace(self.next_id.get() + 1);
        let now = Instant::now();
        let client = Rc::new(Client {
            id,
            address,
            name: RefCell::default(),
            library: RefCell::default(),
            is_version_three: Cell::new(false),
            begun: now,
            active: Cell::new(now),
            memory: Cell::new(0),
            cut: Notify::new(),
        });
        self.all.borrow_mut().insert(id, Rc::clone(&client));
        Some(client)
    }

    /// It is gone.
    pub fn leave(&self, client: &Client) {
        self.all.borrow_mut().remove(&client.id);
        self.holds(client, 0);
    }

    pub fn len(&self) -> usize {
        self.all.borrow().len()
    }

    pub fn max(&self) -> usize {
        self.max
    }

    /// Bytes that all of them hold.
    pub fn memory(&self) -> usize {
        self.memory.get()
    }

    /// A connection holds so many bytes now.
    pub fn holds(&self, client: &Client, bytes: usize) {
        let before = client.memory.replace(bytes);
        self.memory.set(self.memory.get() + bytes - before);
        if bytes > before && self.memory.get() > self.memory_max {
            self.cut_the_largest();
        }
    }

    /// Its memory does not count any more: it is on its way out.
    fn cut_the_largest(&self) {
        let all = self.all.borrow();
        let Some(largest) = all.values().max_by_key(|client| client.memory.get()) else { return };
        largest.cut.notify_one();
        count(&self.cut, 1);
        self.memory.set(self.memory.get() - largest.memory.replace(0));
    }

    /// The lines of `CLIENT LIST`.
    pub fn list(&self) -> String {
        self.all.borrow().values().map(|client| client.line()).collect()
    }
}

impl Client {
    /// Waits until the connection is to make room.
    pub async fn cut(&self) {
        self.cut.notified().await;
    }

    /// It has said something.
    pub fn is_active(&self) {
        self.active.set(Instant::now());
    }

    /// Its line of `CLIENT LIST`.
    pub fn line(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let [library, version] = &*self.library.borrow();
        let (age, idle) = (self.begun.elapsed().as_secs(), self.active.get().elapsed().as_secs());
        let mut line = String::new();
        // A string takes everything.
        let _ = writeln!(
            line,
            "id={} addr={} name={} age={age} idle={idle} flags=N db=0 tot-mem={} resp={} lib-name={} lib-ver={}",
            self.id,
            self.address,
            text(&self.name.borrow()),
            self.memory.get(),
            if self.is_version_three.get() { 3 } else { 2 },
            text(library),
            text(version),
        );
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_most_makes_room() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let clients = Clients::new(3, 100);
        let [one, two, three] = [(); 3].map(|()| clients.enter(address).expect("there is a place"));
        assert!(clients.enter(address).is_none());
        clients.holds(&one, 30);
        clients.holds(&two, 60);
        clients.holds(&three, 10);
        assert_eq!((clients.memory(), clients.cut.get()), (100, 0));
        clients.holds(&three, 11);
        assert_eq!((clients.memory(), clients.cut.get()), (41, 1));
        clients.leave(&two);
        clients.leave(&one);
        assert_eq!((clients.memory(), clients.len()), (11, 1));
    }
}
