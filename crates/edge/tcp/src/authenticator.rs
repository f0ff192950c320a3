// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread that computes what authentications need. A group of 8192 bits takes milliseconds, in which the thread of a
//! subsystem serves other hosts.
//!
//! A queue has one piece of work at most, so connections bound what waits here.

use std::sync::mpsc::{Receiver, Sender, channel};

use saker::panics::ends_process;
use saker_auth::Work;
use saker_target::ConnectionId;
use tokio::sync::mpsc::WeakUnboundedSender;

use crate::connection::messages::Request;

/// Work of a queue, and who wants to know when it is done.
struct Job {
    connection: ConnectionId,
    token: u16,
    work: Work,
    asked_by: WeakUnboundedSender<Request>,
}

/// A way to the thread. It ends when the last one is gone.
#[derive(Clone, Debug)]
pub(crate) struct Authenticator(Sender<Job>);

impl Authenticator {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, received) = channel();
        std::thread::Builder::new().name("saker-auth".into()).spawn(move || run(&received))?;
        Ok(Self(jobs))
    }

    /// Has it done; [`Request::Worked`] follows.
    pub fn submit(
        &self,
        (connection, token): (ConnectionId, u16),
        work: Work,
        asked_by: &WeakUnboundedSender<Request>,
    ) {
        // The thread ends only with the process or with the last of us.
        let _ = self.0.send(Job { connection, token, work, asked_by: asked_by.clone() });
    }
}

fn run(jobs: &Receiver<Job>) {
    let ends_process = ends_process("authenticator");
    for Job { connection, token, work, asked_by } in jobs {
        ends_process.at_work();
        // A subsystem that has ended does not need to know, nor what its hosts wanted.
        if let Some(asked_by) = asked_by.upgrade() {
            let _ = asked_by.send(Request::Worked(connection, token, work.run()));
        }
    }
}
