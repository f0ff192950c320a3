// SPDX-License-Identifier: Apache-2.0 OR MIT
//! io_uring with entries of 128 and completions of 32 bytes.

use std::io::Error;
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::abi::{URING_IO, UringCommand};
use crate::node::{Outcome, status_of};

/// The ring. What is in flight reads and writes memory of its owner, who keeps it until the completion.
pub(crate) struct Ring {
    ring: IoUring<squeue::Entry128, cqueue::Entry32>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring for `entries` commands in flight. Fails where the kernel has no such rings, or does not allow them.
    pub fn new(entries: u32) -> std::io::Result<Self> {
        let ring = IoUring::builder().build(entries.next_power_of_two())?;
        if !ring.params().is_feature_ext_arg() {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        Ok(Self { ring })
    }

    /// Queues a command; false if the ring is full.
    ///
    /// # Safety
    /// The memory at `command.addr`, `command.data_len` bytes long, stays valid and untouched until
    /// [`next_done`](Self::next_done) has returned `user_data`.
    pub unsafe fn push(&mut self, file: RawFd, command: &UringCommand, user_data: u64) -> bool {
        let entry = opcode::UringCmd80::new(Fd(file), URING_IO).cmd(command.padded()).build();
        // SAFETY: the entry's memory is the caller's promise; the command itself is copied into the ring.
        unsafe { self.ring.submission().push(&entry.user_data(user_data)) }.is_ok()
    }

    /// Hands what is queued to the kernel.
    pub fn submit(&mut self) -> std::io::Result<()> {
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        retry(|| self.ring.submit().map(drop))
    }

    /// Waits until something has completed, or for `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> std::io::Result<()> {
        let timeout = Timespec::from(timeout);
        let args = SubmitArgs::new().timespec(&timeout);
        match self.ring.submitter().submit_with_args(1, &args) {
            Err(error) if !is_wait_over(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The next completion: its user data, and what became of the command.
    pub fn next_done(&mut self) -> Option<(u64, Result<Outcome, Error>)> {
        let entry = self.ring.completion().next()?;
        let outcome = match entry.result() {
            result if result < 0 => Err(Error::from_raw_os_error(-result)),
            // The first half of what is behind the completion is its DW0 and DW1.
            result => Ok(Outcome { status: status_of(result), result: entry.big_cqe()[0] }),
        };
        Some((entry.user_data(), outcome))
    }
}

fn retry(mut call: impl FnMut() -> std::io::Result<()>) -> std::io::Result<()> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The time is over, a signal came, or the kernel has to be relieved of completions first.
fn is_wait_over(error: &Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// Machines without io_uring have nothing to test here, and the ioctls instead.
    fn ring() -> Option<Ring> {
        Ring::new(4).inspect_err(|error| eprintln!("skipped: no io_uring here ({error})")).ok()
    }

    #[test]
    fn a_file_without_commands_refuses_one() {
        let Some(mut ring) = ring() else { return };
        let file = tempfile::tempfile().expect("a file");
        let command = UringCommand::default();
        // SAFETY: the command has no data.
        assert!(unsafe { ring.push(file.as_raw_fd(), &command, 42) });
        ring.submit().expect("handed over");
        ring.wait(Duration::from_secs(5)).expect("waited");
        let (user_data, outcome) = ring.next_done().expect("answered");
        let errno = outcome.expect_err("no such command").raw_os_error();
        assert_eq!((user_data, errno), (42, Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())));
        assert!(ring.next_done().is_none());
    }

    #[test]
    fn waiting_ends_by_itself() {
        let Some(mut ring) = ring() else { return };
        ring.wait(Duration::from_millis(1)).expect("nothing comes, and that is no failure");
        assert!(ring.next_done().is_none());
    }
}
