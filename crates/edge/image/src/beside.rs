// SPDX-License-Identifier: Apache-2.0 OR MIT
//! fdatasyncs on a thread of their own.
//!
//! The kernel tells of a failure to write back once for each open file. So two syncs of one file are never on their way at once: whoever
//! wants another one takes the result of this one first.

use super::faults::Call;
use super::host;
use super::lock::Locked;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// The thread, and the sync on its way.
#[derive(Debug)]
pub(super) struct Beside {
    /// `None` once the thread is to end.
    begin: Option<SyncSender<()>>,
    ended: Receiver<io::Result<()>>,
    thread: Option<JoinHandle<()>>,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Begun,
    /// It has ended, and nobody has been told.
    Ended(io::Result<()>),
}

impl Beside {
    /// Starts the thread. It holds the file, and with it the lock, until this is dropped.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub fn start(file: &Arc<Locked>) -> io::Result<Self> {
        let (begin, begun) = sync_channel::<()>(1);
        let (end, ended) = sync_channel(1);
        let file = Arc::clone(file);
        let sync_all = move || {
            while begun.recv().is_ok() {
                if end.send(host::sync_data(&file)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("saker-sync".into()).spawn(sync_all)?;
        Ok(Self { begin: Some(begin), ended, thread: Some(thread), state: State::Idle })
    }

    /// Begins a sync. A failure that a test has planned for this thread is the sync's.
    pub fn begin(&mut self) {
        debug_assert!(matches!(self.state, State::Idle), "one at a time");
        let sent = host::may(Call::Sync).and_then(|()| match &self.begin {
            Some(begin) => begin.send(()).map_err(|_| gone()),
            None => Err(gone()),
        });
        self.state = sent.map_or_else(|error| State::Ended(Err(error)), |()| State::Begun);
    }

    /// What came of it, once.
    pub fn ended(&mut self) -> Option<io::Result<()>> {
        if matches!(self.state, State::Begun) {
            match self.ended.try_recv() {
                Ok(result) => self.state = State::Ended(result),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => self.state = State::Ended(Err(gone())),
            }
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Ended(result) => Some(result),
            State::Idle | State::Begun => None,
        }
    }

    /// The same, and waits for its end. `None`: none was begun.
    pub fn wait(&mut self) -> Option<io::Result<()>> {
        if matches!(self.state, State::Begun) {
            self.state = State::Ended(self.ended.recv().unwrap_or_else(|_| Err(gone())));
        }
        self.ended()
    }
}

/// The thread has ended, which only a panic of it explains.
fn gone() -> io::Error {
    io::Error::other("the thread that syncs is gone")
}

/// The lock is free when this returns.
impl Drop for Beside {
    fn drop(&mut self) {
        self.begin = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_ends_once_and_the_file_is_let_go_of() {
        let file = Arc::new(Locked::new(tempfile::tempfile().unwrap()).unwrap());
        let mut beside = Beside::start(&file).unwrap();
        assert!(beside.ended().is_none() && beside.wait().is_none(), "none was begun");
        for _ in 0..100 {
            beside.begin();
            beside.wait().expect("begun").unwrap();
            assert!(beside.ended().is_none(), "told once");
            beside.begin();
            let result = loop {
                match beside.ended() {
                    Some(result) => break result,
                    None => std::thread::yield_now(),
                }
            };
            result.unwrap();
        }
        beside.begin();
        drop(beside);
        assert_eq!(Arc::strong_count(&file), 1);
    }
}
