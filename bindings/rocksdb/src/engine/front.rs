// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread that calls RocksDB for the device. RocksDB waits for its files, and the device's thread is who brings blocks to them, so it
//! never calls RocksDB itself.

use super::call::{Answer, Call, Facts, Serves};
use super::relay::Relay;
use crate::outcome::Failure;
use saker_engine::KvError;
use saker_segment_store::CellError;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

/// The device's side of it.
pub struct Front {
    /// `None` when it is to end.
    calls: Option<Sender<Call>>,
    answers: Receiver<Answer>,
    relay: Arc<Relay>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

/// What is answered where there is no database.
const GONE: KvError = KvError::Unrecovered(CellError::HostIo);

/// Opens the database on the blocks of a device; whether it is only read.
pub type Open = fn(&Arc<Relay>, Arc<Facts>, bool) -> Result<Box<dyn Serves>, Failure>;

impl Front {
    /// Starts it. The database is opened before the first call is answered.
    pub fn start(relay: Arc<Relay>, facts: Arc<Facts>, is_readonly: bool, open: Open) -> Self {
        let ((calls, todo), (tell, answers)) = (channel::<Call>(), channel());
        let blocks = Arc::clone(&relay);
        let work = move || {
            let mut database = open(&blocks, facts, is_readonly).inspect_err(|failure| {
                eprintln!("saker: RocksDB in the device does not open: {}", failure.text)
            });
            for call in todo {
                let answer = database.as_mut().map_err(|_| GONE).and_then(|database| database.call(&call));
                if tell.send(answer).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("rocksdb".to_owned()).spawn(work);
        let thread = thread.inspect_err(|error| eprintln!("saker: no thread for RocksDB: {error}")).ok();
        Self { calls: Some(calls), answers, relay, thread }
    }

    /// Asks for something.
    pub fn ask(&self, call: Call) {
        // Without the thread there is no answer either, and that is told.
        let _ = self.calls.as_ref().map(|calls| calls.send(call));
    }

    /// The answer, if it is there.
    pub fn answer(&self) -> Option<Answer> {
        match self.answers.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(GONE)),
        }
    }
}

impl Drop for Front {
    /// The database closes without its files, as at the death of a device: what was answered is in them.
    fn drop(&mut self) {
        self.relay.close();
        self.calls = None;
        let ended = self.thread.take().map(JoinHandle::join);
        debug_assert!(!matches!(ended, Some(Err(_))), "a panic ends the process");
    }
}
