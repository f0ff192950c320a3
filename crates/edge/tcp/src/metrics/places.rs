// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who may be a client at the same time: whoever has asked nothing yet gives its place to a newcomer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So many clients at once.
pub(super) struct Places {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    /// Clients by the order in which they came: with a sender while they have asked nothing. Whose sender goes has lost its place.
    clients: BTreeMap<u64, Option<oneshot::Sender<()>>>,
}

/// A client's place, free again when dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    lost: oneshot::Receiver<()>,
}

impl Places {
    /// `most` places, at least one.
    pub fn new(most: usize) -> Arc<Self> {
        assert!(most > 0, "nobody could ask");
        Arc::new(Self { most, inner: Mutex::default() })
    }

    /// A place, if need be that of the client that has been silent the longest; `None` if all clients have asked.
    pub fn take(self: &Arc<Self>) -> Option<Place> {
        let mut inner = self.lock();
        if inner.clients.len() == self.most {
            let silent =
                inner.clients.iter().find(|(_, sender)| sender.is_some()).map(|(number, _)| *number)?;
            inner.clients.remove(&silent);
        }
        let (sender, lost) = oneshot::channel();
        let number = inner.next;
        inner.next += 1;
        inner.clients.insert(number, Some(sender));
        assert!(inner.clients.len() <= self.most, "a place too many");
        Some(Place { places: Arc::clone(self), number, lost })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// What `asking` finds, unless the place is lost before. Nobody takes it from a client that has asked.
    pub async fn until_asked<T>(&mut self, asking: impl Future<Output = Option<T>>) -> Option<T> {
        let found = tokio::select! {
            found = asking => found?,
            _ = &mut self.lost => return None,
        };
        *self.places.lock().clients.get_mut(&self.number)? = None;
        Some(found)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().clients.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_newcomer_takes_the_place_of_the_one_that_is_silent_the_longest() {
        let places = Places::new(3);
        let mut clients: Vec<_> = (0..3).map(|_| places.take().unwrap()).collect();
        assert_eq!(run(clients[0].until_asked(ready(Some(1)))), Some(1), "it asks");
        let newcomer = places.take().unwrap();
        assert_eq!(
            run(clients[1].until_asked(ready(Some(9)))),
            None,
            "the oldest silent one has lost its place"
        );
        drop(clients.remove(1));
        assert_eq!(places.lock().clients.len(), 3, "who has lost its place gives none back");
        assert_eq!(run(clients[1].until_asked(ready(Some(2)))), Some(2), "the younger one has its place");
        drop(newcomer);
        assert_eq!(places.lock().clients.len(), 2);
    }

    #[test]
    fn clients_that_have_asked_keep_their_places() {
        let places = Places::new(2);
        let mut clients: Vec<_> = (0..2).map(|_| places.take().unwrap()).collect();
        for client in &mut clients {
            assert_eq!(run(client.until_asked(ready(Some(())))), Some(()));
        }
        assert!(places.take().is_none(), "all places are taken by clients that wait for an answer");
        clients.pop();
        assert!(places.take().is_some());
    }
}
