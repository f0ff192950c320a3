// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What methods ask of the queue that their commands go to: the ways in which it can send.

use saker_nvme::Sqe;

/// What came of sending to a queue.
pub type Sent<Q> = Result<<Q as Outbox>::Ticket, <Q as Outbox>::Error>;

/// A queue for the commands of stores. Each call sends all commands of one value, or none and says why; data is copied
/// before it returns.
pub trait Outbox {
    /// Names a value on its way.
    type Ticket;
    /// Why nothing was sent.
    type Error;

    /// The namespace of the commands.
    fn nsid(&self) -> u32;

    /// A command that has all of the value.
    ///
    /// # Errors
    /// No room.
    fn send(&mut self, sqe: &Sqe) -> Sent<Self>;

    /// `count` commands that have the value between them. The last one's completion is the answer.
    ///
    /// # Errors
    /// No room for a value.
    fn send_train(&mut self, entries: impl Iterator<Item = Sqe>, count: u32) -> Sent<Self>;

    /// A command with `data` in pages of host memory, which its PRPs will name.
    ///
    /// # Errors
    /// No room, or no memory to lend.
    fn send_pages(&mut self, sqe: Sqe, data: &[u8]) -> Sent<Self>;

    /// The same, behind `count` parts that belong to it.
    ///
    /// # Errors
    /// As for [`send_pages`](Self::send_pages).
    fn send_pages_after(
        &mut self,
        parts: impl Iterator<Item = Sqe>,
        count: u32,
        sqe: Sqe,
        data: &[u8],
    ) -> Sent<Self>;

    /// A command with exactly `data`, which an SGL data block in its entry will name.
    ///
    /// # Errors
    /// As for [`send_pages`](Self::send_pages).
    fn send_block(&mut self, sqe: Sqe, data: &[u8]) -> Sent<Self>;

    /// A command with `payload` in the entries behind it.
    ///
    /// # Errors
    /// No room.
    fn send_behind(&mut self, sqe: &Sqe, payload: &[u8]) -> Sent<Self>;

    /// Stores `data` in the queue's region of the BAR, then sends the command for that offset. `None`: there is no BAR
    /// that takes it.
    ///
    /// # Errors
    /// No room in the queue or in the region.
    fn send_from_bar(
        &mut self,
        data: &[u8],
        commit: impl FnOnce(u32) -> Sqe,
    ) -> Result<Option<Self::Ticket>, Self::Error>;
}
