// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store for executors: a thread does the calls, futures wait for them. Any executor will do.

use super::{Store, StoreError};
use crate::error::Error;
use saker_host::WriteBatch;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What the thread is to do.
type Job = Box<dyn FnOnce(&Store) + Send>;

/// A [`Store`] whose calls are futures. It has a thread, which does the calls in the order in which they were made, also those whose futures are
/// dropped or never polled. The thread ends behind the last call when the last clone is dropped.
///
/// ```
/// # use std::task::{Context, Poll, Waker};
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return done;
/// #         }
/// #         std::thread::yield_now();
/// #     }
/// # }
/// use saker::AsyncStore;
/// block_on(async {
///     let store = AsyncStore::open("mem:?size=4MiB&profile=tiny")?;
///     let (one, two) = (store.put("one", "1"), store.put("two", "2")); // both are on their way
///     one.await?;
///     two.await?;
///     assert_eq!(store.get("one").await?, Some(b"1".to_vec()));
///     let keys = store.run(|store| store.iter()?.map(|pair| Ok(pair?.0)).collect::<Result<Vec<_>, _>>());
///     assert_eq!(keys.await?.len(), 2);
///     store.close().await
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AsyncStore {
    jobs: Sender<Job>,
}

impl AsyncStore {
    /// Opens the device of a URL, on the caller's thread.
    ///
    /// # Errors
    /// [`enum@Error`].
    ///
    /// ```
    /// assert!(saker::AsyncStore::open("nothing").is_err());
    /// ```
    pub fn open(url: &str) -> Result<Self, Error> {
        Ok(Self::new(Store::open(url)?))
    }

    /// Gives a store a thread; others may use it as well.
    ///
    /// # Panics
    /// The system starts no thread.
    ///
    /// ```
    /// let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// let users = saker::AsyncStore::new(spaces.space("users")?);
    /// drop(users.put("1", "Ada")); // it takes place all the same
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(store: Store) -> Self {
        let (jobs, received) = channel();
        let thread = std::thread::Builder::new().name("saker-async".into());
        thread.spawn(move || work(&store, &received)).expect("the system starts a thread");
        Self { jobs }
    }

    /// Does something on the store's thread: whatever [`Store`] has.
    ///
    /// ```
    /// # let store = saker::AsyncStore::open("mem:?size=4MiB&profile=tiny")?;
    /// let answer: saker::Answer<u64> = store.run(|store| {
    ///     store.transact(|txn| txn.put("key", "value"))?;
    ///     Ok(store.stats()?.map_or(0, |stats| stats.namespaces[0].store.pairs))
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<R, StoreError> + Send + 'static,
    ) -> Answer<R> {
        let place = Arc::new(Place::default());
        let promise = Promise(Arc::clone(&place));
        let job: Job = Box::new(move |store| {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(store)));
            promise.keep(outcome.unwrap_or(Err(StoreError::Broken)));
        });
        // The thread lives as long as there is somebody to send; a job that it does not take breaks its promise.
        let _ = self.jobs.send(job);
        Answer(place)
    }

    /// Stores a pair.
    ///
    /// ```
    /// # let store = saker::AsyncStore::open("mem:?size=4MiB&profile=tiny")?;
    /// async fn stored(store: &saker::AsyncStore) -> Result<(), saker::StoreError> {
    ///     store.put("key", "value").await
    /// }
    /// # let _ = stored(&store);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Answer<()> {
        let (key, value) = (key.into(), value.into());
        self.run(move |store| store.put(key, value))
    }

    /// The value of a key.
    ///
    /// ```
    /// async fn found(store: &saker::AsyncStore) -> Result<Option<Vec<u8>>, saker::StoreError> {
    ///     store.get("key").await
    /// }
    /// ```
    pub fn get(&self, key: impl Into<Vec<u8>>) -> Answer<Option<Vec<u8>>> {
        let key = key.into();
        self.run(move |store| store.get(key))
    }

    /// Deletes a pair; whether it was there.
    ///
    /// ```
    /// async fn deleted(store: &saker::AsyncStore) -> Result<bool, saker::StoreError> {
    ///     store.delete("key").await
    /// }
    /// ```
    pub fn delete(&self, key: impl Into<Vec<u8>>) -> Answer<bool> {
        let key = key.into();
        self.run(move |store| store.delete(key))
    }

    /// Whether there is such a pair.
    ///
    /// ```
    /// async fn there(store: &saker::AsyncStore) -> Result<bool, saker::StoreError> {
    ///     store.exists("key").await
    /// }
    /// ```
    pub fn exists(&self, key: impl Into<Vec<u8>>) -> Answer<bool> {
        let key = key.into();
        self.run(move |store| store.exists(key))
    }

    /// Writes a batch.
    ///
    /// ```
    /// async fn written(store: &saker::AsyncStore) -> Result<(), saker::StoreError> {
    ///     let mut batch = saker::WriteBatch::new();
    ///     batch.put(b"one", b"1").delete(b"two");
    ///     store.write(batch).await
    /// }
    /// ```
    pub fn write(&self, batch: WriteBatch) -> Answer<()> {
        self.run(move |store| store.write(&batch))
    }

    /// Ready when everything completed so far survives a power cut.
    ///
    /// ```
    /// async fn durable(store: &saker::AsyncStore) -> Result<(), saker::StoreError> {
    ///     store.flush().await
    /// }
    /// ```
    pub fn flush(&self) -> Answer<()> {
        self.run(Store::flush)
    }

    /// Closes the device in order, for all who share it.
    ///
    /// ```
    /// async fn closed(store: &saker::AsyncStore) -> Result<(), saker::StoreError> {
    ///     store.close().await
    /// }
    /// ```
    pub fn close(&self) -> Answer<()> {
        self.run(Store::close)
    }
}

fn work(store: &Store, jobs: &Receiver<Job>) {
    for job in jobs {
        job(store);
    }
}

/// What becomes of a call of an [`AsyncStore`]: a future. Dropping it does not take the call back.
///
/// ```
/// # let store = saker::AsyncStore::open("mem:?size=4MiB&profile=tiny")?;
/// let answer: saker::Answer<()> = store.put("key", "value");
/// drop(answer); // the pair is stored all the same
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it says whether the call has failed"]
pub struct Answer<R>(Arc<Place<R>>);

/// Where an answer is put.
#[derive(Debug)]
struct Place<R>(Mutex<State<R>>);

#[derive(Debug)]
enum State<R> {
    Waiting(Option<Waker>),
    Ready(Result<R, StoreError>),
    Taken,
}

impl<R> Default for Place<R> {
    fn default() -> Self {
        Self(Mutex::new(State::Waiting(None)))
    }
}

impl<R> Place<R> {
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, outcome: Result<R, StoreError>) {
        let before = std::mem::replace(&mut *self.state(), State::Ready(outcome));
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

/// The duty to answer: a job that is dropped undone answers that the device is closed.
struct Promise<R>(Arc<Place<R>>);

impl<R> Promise<R> {
    fn keep(self, outcome: Result<R, StoreError>) {
        self.0.put(outcome);
    }
}

impl<R> Drop for Promise<R> {
    fn drop(&mut self) {
        if matches!(*self.0.state(), State::Waiting(_)) {
            self.0.put(Err(StoreError::Closed));
        }
    }
}

impl<R> Future for Answer<R> {
    type Output = Result<R, StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state();
        if let State::Waiting(waker) = &mut *state {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Ready(outcome) => Poll::Ready(outcome),
            // As other futures that are polled behind their end.
            State::Waiting(_) | State::Taken => panic!("an answer was polled after it was ready"),
        }
    }
}
