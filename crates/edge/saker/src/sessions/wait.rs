// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Futures of syncs and durable writes. Who polls one makes progress for all; in between the pump does.

use super::Inner;
use saker_host::session::{Session, Sync, SyncError, Ticket};
use saker_host::{Driver, HostError, KvQueue};
use saker_nvme::Key;
use saker_runtime::pause::SharedDriver;
use saker_sim::Free;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Flushes over a session of the library.
pub(super) fn flush(mut session: Session<KvQueue, SharedDriver>) -> Result<(), HostError> {
    if session.hub().options().volatile { session.flush() } else { Ok(()) }
}

/// The second half of a wait: a Flush after the writes, if the device needs one.
#[derive(Debug)]
struct Ending {
    failures: Vec<(Key, HostError)>,
    wanted: u64,
}

#[derive(Debug)]
struct Waiting {
    inner: Arc<Inner>,
    lane: usize,
    ending: Option<Ending>,
}

impl Waiting {
    /// Writes have come to their end; `Ready` when they are durable.
    fn finish(
        &mut self,
        cx: &Context<'_>,
        failures: impl FnOnce() -> Vec<(Key, HostError)>,
    ) -> Poll<Result<(), SyncError>> {
        let hub = &self.inner.hub;
        let ending =
            self.ending.get_or_insert_with(|| Ending { failures: failures(), wanted: hub.wanted_flush() });
        if hub.options().volatile {
            hub.advance(self.lane, &mut Free);
            match hub.poll_flush(self.lane, ending.wanted) {
                // Flushes have no list of waiters: the executor comes again.
                None => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Err(error)) => return Poll::Ready(Err(error.into())),
                Some(Ok(())) => {}
            }
        }
        let failures = std::mem::take(&mut ending.failures);
        Poll::Ready(if failures.is_empty() { Ok(()) } else { Err(SyncError::Failed(failures)) })
    }

    fn drive(&self) {
        self.inner.driver.clone().drive();
    }
}

/// Ready when everything a session had written is durable.
///
/// ```
/// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
/// # let mut session = saker.session()?;
/// # use std::task::{Context, Poll, Waker};
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return done;
/// #         }
/// #     }
/// # }
/// use saker::sessions::Synced;
/// session.put(b"key", b"value")?;
/// let synced: Synced = session.sync_async();
/// let other_work = 2 + 2; // the writes are on their way
/// assert!(block_on(synced).is_ok() && other_work == 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless polled"]
pub struct Synced {
    waiting: Waiting,
    sync: Sync,
}

impl Synced {
    pub(super) fn new(inner: Arc<Inner>, lane: usize, sync: Sync) -> Self {
        Self { waiting: Waiting { inner, lane, ending: None }, sync }
    }
}

impl Future for Synced {
    type Output = Result<(), SyncError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waiting, sync } = &mut *self;
        waiting.drive();
        if !waiting.inner.hub.poll_sync(waiting.lane, sync, &mut Free) {
            sync.wake_when_done(cx.waker());
            return Poll::Pending;
        }
        waiting.finish(cx, || sync.take_failures())
    }
}

/// Ready when a durable write is.
///
/// ```
/// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
/// # let mut session = saker.session()?;
/// # use std::task::{Context, Poll, Waker};
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return done;
/// #         }
/// #     }
/// # }
/// use saker::sessions::Durable;
/// let both: [Durable; 2] =
///     [session.put_durable_async(b"a", b"1")?, session.put_durable_async(b"b", b"2")?];
/// for one in both {
///     block_on(one)?; // they share a command
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless polled"]
pub struct Durable {
    waiting: Waiting,
    ticket: Ticket,
}

impl Durable {
    pub(super) fn new(inner: Arc<Inner>, ticket: Ticket) -> Self {
        let lane = inner.commit_lane();
        Self { waiting: Waiting { inner, lane, ending: None }, ticket }
    }
}

impl Future for Durable {
    type Output = Result<(), SyncError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waiting, ticket } = &mut *self;
        waiting.drive();
        if !waiting.inner.hub.poll_commit(waiting.lane, ticket, &mut Free) {
            ticket.wake_when_done(cx.waker());
            return Poll::Pending;
        }
        waiting.finish(cx, || ticket.take_failures())
    }
}
