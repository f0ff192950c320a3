// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bulk PUT, after KV-CSD: pairs gather in memory of the host, and a full buffer goes to the device as one command, which
//! the device unpacks. What groups are compared with: a put is acknowledged when it is in the buffer, so a crash of the host
//! or a power cut loses acknowledged pairs.

use saker_nvme::Key;
use saker_nvme::group::{Form, Op, Packer, Refused};

use super::{Ended, KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, check};

/// Bytes of a buffer.
const BUFFER_BYTES: usize = 128 << 10;

/// A volatile buffer of pairs on their way.
#[derive(Debug)]
pub struct BulkBuffer {
    pairs_max: u32,
    bytes: Vec<u8>,
    parts: (usize, u32),
}

impl BulkBuffer {
    /// An empty buffer that is full with `pairs_max` pairs or 128 KiB.
    #[must_use]
    pub fn new(pairs_max: u32) -> Self {
        let mut bytes = vec![0; BUFFER_BYTES];
        let parts = Packer::new(Form::All(Op::Store), &mut bytes).map_or((0, 0), |packer| packer.parts());
        Self { pairs_max: pairs_max.max(1), bytes, parts }
    }

    /// Pairs that are only in memory of the host.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.parts.1
    }

    fn push(&mut self, key: &Key, value: &[u8]) -> Result<(), Refused> {
        let form = Form::All(Op::Store);
        let mut packer = Packer::resume(form, &mut self.bytes, self.parts).ok_or(Refused::Full)?;
        packer.push(Op::Store, key.as_bytes(), value)?;
        self.parts = packer.parts();
        Ok(())
    }

    /// The payload, and an empty buffer.
    fn take(&mut self) -> Vec<u8> {
        let parts = std::mem::replace(&mut self.parts, Self::new(1).parts);
        let bytes = Packer::resume(Form::All(Op::Store), &mut self.bytes, parts).map_or(0, Packer::finish);
        self.bytes[..bytes].to_vec()
    }
}

impl<T: Driver> KvClient<T> {
    /// Puts a pair into the buffer, and acknowledges it there; a buffer that is full is sent first or afterwards. Keys that
    /// are already in it are stored twice, in order.
    ///
    /// # Errors
    /// [`HostError`] of the buffer that was sent: which of its pairs are stored is not known.
    pub fn bulk_put(&mut self, buffer: &mut BulkBuffer, key: &Key, value: &[u8]) -> Result<(), HostError> {
        if buffer.push(key, value) == Err(Refused::Full) {
            self.bulk_flush(buffer)?;
            buffer.push(key, value)?;
        }
        if buffer.pending() >= buffer.pairs_max { self.bulk_flush(buffer) } else { Ok(()) }
    }

    /// Sends what is in the buffer.
    ///
    /// # Errors
    /// As [`bulk_put`](Self::bulk_put); [`HostError::Group`] for a device without the command.
    pub fn bulk_flush(&mut self, buffer: &mut BulkBuffer) -> Result<(), HostError> {
        if buffer.pending() == 0 {
            return Ok(());
        }
        if !self.queue.available().methods.group_comparators() {
            return Err(HostError::Group(Refused::Type));
        }
        let payload = buffer.take();
        self.make_room()?;
        let ticket = submitted(self.queue.bulk_put(&payload))?;
        let Ended { status, result: failed, .. } = self.wait_ended(ticket)?;
        check(status)?;
        if failed == 0 { Ok(()) } else { Err(HostError::Kv(crate::KvError::Full)) }
    }
}
