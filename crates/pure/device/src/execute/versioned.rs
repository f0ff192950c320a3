// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Retrieve Versioned: a value behind the version of its pair.

use crate::answer::{Outcome, Reach, Reply, kv_status};
use crate::groups::{Kept, of_life};
use crate::transfer::{HostData, Pieces};
use saker_engine::{AnyEngine, Capability, Context, Engine, Sink, SourceError};
use saker_nvme::Status;
use saker_nvme::group::{VERSION_BYTES, VersionedRetrieve};
use saker_segment_store::{SegmentStore, Step, ready};
use saker_sim::Meter;

const HEAD_BYTES: u32 = VERSION_BYTES as u32;

/// What is behind the version.
struct Behind<'s, K>(&'s mut K);

impl<K: Sink> Sink for Behind<'_, K> {
    #[inline]
    fn room(&self) -> u32 {
        self.0.room().saturating_sub(HEAD_BYTES)
    }

    #[inline]
    fn is_copied_by_core(&self) -> bool {
        self.0.is_copied_by_core()
    }

    #[inline]
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.0.write(offset + HEAD_BYTES, bytes)
    }
}

/// Delivers the version and the value; how many bytes both have, or the status of a command that has neither.
#[inline]
pub(crate) fn deliver<M: SegmentStore, W: Meter, K: Sink>(
    command: &VersionedRetrieve,
    sink: &mut K,
    store: &mut AnyEngine,
    kept: &Kept,
    cx: &mut Context<'_, M, W>,
) -> Step<Result<u32, Status>> {
    if !store.capabilities().has(Capability::Transactions) {
        return Step::Done(Err(Status::NO_TRANSACTIONS));
    }
    let found = ready!(store.retrieve_versioned(command.key.as_bytes(), &mut Behind(sink), cx));
    Step::Done(match found {
        Ok(Some((version, bytes))) => match sink.write(0, &of_life(version, kept.life()).0) {
            Ok(()) => Ok(HEAD_BYTES + bytes),
            Err(SourceError) => Err(Status::DATA_TRANSFER_ERROR),
        },
        Ok(None) => Err(Status::KEY_DOES_NOT_EXIST),
        Err(e) => Err(kv_status(e)),
    })
}

/// [`deliver`] into the pieces of host memory that the command names.
pub(crate) fn execute<M: SegmentStore, W: Meter>(
    command: &VersionedRetrieve,
    pieces: &Pieces,
    store: &mut AnyEngine,
    kept: &Kept,
    Reach { space, dma_engine }: Reach<'_>,
    cx: &mut Context<'_, M, W>,
) -> Outcome {
    let mut data = HostData { space, pieces, bytes: command.buffer_bytes, dma_engine };
    match deliver(command, &mut data, store, kept, cx) {
        Step::Done(Ok(bytes)) => {
            let bytes_out = bytes.min(command.buffer_bytes);
            Outcome::Done(Reply { dw0: bytes, bytes_out, ..Reply::status(Status::SUCCESS) })
        }
        Step::Done(Err(status)) => Outcome::Done(Reply::status(status)),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(stall) => Outcome::Blocked(stall),
    }
}
