// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is examined.

use saker_nvme::{Sqe, Status};

/// Data of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// None.
    None,
    /// For the device.
    Send(Vec<u8>),
    /// Room for so many bytes, zero before.
    Receive(u32),
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status.
    pub status: Status,
    /// DW0.
    pub dw0: u32,
    /// The whole of the room, zero where nothing was written.
    pub data: Vec<u8>,
}

/// The device does not answer any more: what it said last, or what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// A key-value namespace, and the controller it belongs to.
pub trait Subject {
    /// The namespace.
    fn nsid(&self) -> u32;

    /// Bytes that one command may transfer.
    fn transfer_bytes_max(&self) -> u32;

    /// Whether entries reach the device as they are: flags and foreign NSIDs too. Behind a kernel they do not.
    fn is_direct(&self) -> bool;

    /// Carries out admin commands: Identify and Get Log Page fill `room` bytes, others have no data.
    ///
    /// # Errors
    /// [`Broken`].
    fn admin(&mut self, sqe: &Sqe, room: u32) -> Result<Answer, Broken>;

    /// Carries out I/O commands, all in flight at once as far as the queue takes them. Answers in the order of the commands.
    ///
    /// # Errors
    /// [`Broken`].
    fn io(&mut self, commands: Vec<(Sqe, Data)>) -> Result<Vec<Answer>, Broken>;
}
