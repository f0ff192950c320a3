// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server that wants its device back. It waits until its client has left, and a library that nobody calls would not leave: so
//! a thread hears the wish. It says goodbye by itself where nothing is under way; else the relay does when it has come to rest.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};

use crate::error::VfioError;
use crate::function::{Function, new_event};

/// Nothing is under way.
const AT_REST: u8 = 0;
/// The relay is at work.
const AT_WORK: u8 = 1;
/// The thread has said goodbye.
const LEFT: u8 = 2;

/// What relay and thread share. Sequentially consistent: of a relay that rests and a thread that wants it to leave, one at least
/// sees the other.
#[derive(Debug, Default)]
struct State {
    of: AtomicU8,
    is_wanted: AtomicBool,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Farewell {
    state: Arc<State>,
    thread: Option<(JoinHandle<()>, Arc<OwnedFd>)>,
}

impl Farewell {
    /// Listens, if the server asks at all.
    pub fn of(function: &mut Function) -> Result<Self, VfioError> {
        let state = Arc::<State>::default();
        let Some(request) = function.hear_requests()? else { return Ok(Self { state, thread: None }) };
        let (stream, end) = (function.socket().stream()?, Arc::new(new_event()?));
        let (for_thread, its_end) = (Arc::clone(&state), Arc::clone(&end));
        let thread = std::thread::Builder::new().name("saker-vfio-request".into());
        let thread = thread.spawn(move || listen(&for_thread, &stream, &request, &its_end))?;
        Ok(Self { state, thread: Some((thread, end)) })
    }

    /// Work begins, or goes on. False if goodbye was said.
    pub fn begin(&self) -> bool {
        let begun = self.state.of.compare_exchange(AT_REST, AT_WORK, Ordering::SeqCst, Ordering::SeqCst);
        begun != Err(LEFT)
    }

    /// Nothing is under way any more. True if goodbye has to be said.
    pub fn end(&self) -> bool {
        self.state.of.store(AT_REST, Ordering::SeqCst);
        self.is_wanted() && self.begin()
    }

    /// Whether the server wants the device back.
    pub fn is_wanted(&self) -> bool {
        self.state.is_wanted.load(Ordering::SeqCst)
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let Some((thread, end)) = self.thread.take() else { return };
        // A counter that is full wakes as well. A panic there has nothing to say here.
        let _ = rustix::io::write(&*end, &1_u64.to_ne_bytes());
        let _ = thread.join();
    }
}

fn listen(state: &State, stream: &UnixStream, request: &OwnedFd, end: &OwnedFd) {
    if !waits_for_request(request, end).unwrap_or(false) {
        return;
    }
    state.is_wanted.store(true, Ordering::SeqCst);
    let left = state.of.compare_exchange(AT_REST, LEFT, Ordering::SeqCst, Ordering::SeqCst);
    if left.is_ok() {
        // The server may have gone.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// False once the end has come.
fn waits_for_request(request: &OwnedFd, end: &OwnedFd) -> io::Result<bool> {
    loop {
        let mut events = [PollFd::new(request, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut events, None) {
            Ok(_) => return Ok(events[1].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
