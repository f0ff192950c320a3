// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks for RocksDB's threads. Only the device's thread has the flash, so a thread that wants blocks leaves what it wants here and
//! waits; the engine carries it out whenever the device calls it.

use saker_files::{Disk, DiskError};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How often a thread looks for its answer before it sleeps.
const LOOKS: u32 = 400;

/// What a thread wants of the blocks.
#[derive(Debug)]
pub enum Wanted {
    /// Whole blocks from one on, as many as fill the bytes.
    Read(u64, Vec<u8>),
    /// The bytes into blocks from one on.
    Write(u64, Vec<u8>),
    /// So many blocks from one on are not needed any more.
    Trim(u64, u64),
    /// What was written survives a power cut.
    Flush,
}

/// The bytes of a read; others give none.
pub type Given = Result<Vec<u8>, DiskError>;

#[derive(Debug)]
enum State {
    Idle,
    Wanted(Wanted),
    /// The engine is at it.
    Taken,
    Given(Given),
    /// The engine has gone: nothing is carried out any more.
    Closed,
}

/// The place where both meet. One thread at a time uses it: a file system is behind a lock.
pub struct Relay {
    block_bytes: u32,
    blocks: u64,
    state: Mutex<State>,
    changed: Condvar,
    /// There is something for the engine: it looks without the lock.
    is_wanted: AtomicBool,
    /// There is something for the thread, or nothing will ever be.
    is_given: AtomicBool,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

fn closed() -> DiskError {
    DiskError::new("the device has closed")
}

impl Relay {
    /// For so many blocks.
    pub fn new(block_bytes: u32, blocks: u64) -> Arc<Self> {
        Arc::new(Self {
            block_bytes,
            blocks,
            state: Mutex::new(State::Idle),
            changed: Condvar::new(),
            is_wanted: AtomicBool::new(false),
            is_given: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's side: waits until the engine has carried it out.
    fn ask(&self, wanted: Wanted) -> Given {
        let mut state = self.lock();
        if matches!(*state, State::Closed) {
            return Err(closed());
        }
        debug_assert!(matches!(*state, State::Idle), "one thread at a time uses the file system");
        *state = State::Wanted(wanted);
        self.is_given.store(false, Ordering::Relaxed);
        self.is_wanted.store(true, Ordering::Release);
        drop(state);
        for _ in 0..LOOKS {
            if self.is_given.load(Ordering::Acquire) {
                break;
            }
            std::hint::spin_loop();
        }
        let is_open = |state: &mut State| !matches!(state, State::Given(_) | State::Closed);
        let mut state = self.changed.wait_while(self.lock(), is_open).unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Idle) {
            State::Given(given) => given,
            _ => {
                *state = State::Closed;
                Err(closed())
            }
        }
    }

    /// Whether there is something for the engine.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// The engine's side: what is wanted, once.
    pub fn take(&self) -> Option<Wanted> {
        if !self.is_wanted() {
            return None;
        }
        self.is_wanted.store(false, Ordering::Relaxed);
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Wanted(wanted) => Some(wanted),
            other => {
                *state = other;
                None
            }
        }
    }

    /// The engine's side: what was taken is over.
    pub fn give(&self, given: Given) {
        let mut state = self.lock();
        if matches!(*state, State::Taken) {
            *state = State::Given(given);
        }
        drop(state);
        self.is_given.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Nothing is carried out from here on: who waits is told so.
    pub fn close(&self) {
        *self.lock() = State::Closed;
        self.is_given.store(true, Ordering::Release);
        self.changed.notify_all();
    }
}

/// The blocks as a file system has them.
#[derive(Clone, Debug)]
pub struct RelayDisk(pub Arc<Relay>);

impl Disk for RelayDisk {
    fn block_bytes(&self) -> u32 {
        self.0.block_bytes
    }

    fn blocks(&self) -> u64 {
        self.0.blocks
    }

    fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), DiskError> {
        let bytes = self.0.ask(Wanted::Read(first, vec![0; out.len()]))?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), DiskError> {
        self.0.ask(Wanted::Write(first, data.to_vec())).map(drop)
    }

    fn trim(&mut self, first: u64, blocks: u64) -> Result<(), DiskError> {
        self.0.ask(Wanted::Trim(first, blocks)).map(drop)
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        self.0.ask(Wanted::Flush).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_what_the_engine_gives_and_an_error_when_it_goes() {
        let relay = Relay::new(512, 8);
        let mut disk = RelayDisk(Arc::clone(&relay));
        let thread = std::thread::spawn(move || {
            let mut out = [0; 512];
            let read = disk.read(3, &mut out).map(|()| out[0]);
            (read, disk.write(1, &[1; 512]), disk.flush())
        });
        let mut taken = Vec::new();
        while taken.len() < 2 {
            let Some(wanted) = relay.take() else { continue };
            taken.push(format!("{wanted:?}").split('(').next().map(str::to_owned));
            match wanted {
                Wanted::Read(3, mut bytes) => {
                    bytes.fill(7);
                    relay.give(Ok(bytes));
                }
                // It is taken, and its answer never comes.
                _ => relay.close(),
            }
        }
        let (read, written, flushed) = thread.join().expect("ends");
        assert_eq!((read, written, flushed), (Ok(7), Err(closed()), Err(closed())));
        assert_eq!(taken, [Some("Read".to_owned()), Some("Write".to_owned())]);
    }
}
