// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of KV namespaces.

use crate::answer::{Outcome, Reach, Reply, condition, kv_status};
use crate::transfer::{HostData, Pieces};
use saker_engine::{AnyEngine, Context, Engine, KvError, List, Sink, SourceError, Version};
use saker_flash::NamespaceSegments;
use saker_link::DmaSpace;
use saker_nvme::kv_list::ListWriter;
use saker_nvme::vendor_specific::{InlineRetrieve, TINY_BYTES};
use saker_nvme::{Key, KvCommand, Status};
use saker_segment_store::Step;
use saker_sim::Meter;

#[inline]
pub(super) fn kv_data_bytes(command: &KvCommand) -> u32 {
    match command {
        KvCommand::Store { value_bytes, .. } => *value_bytes,
        KvCommand::Retrieve { buffer_bytes, .. } | KvCommand::List { buffer_bytes, .. } => *buffer_bytes,
        KvCommand::Flush | KvCommand::Delete { .. } | KvCommand::Exist { .. } => 0,
    }
}

#[inline]
pub(super) fn kv<W: Meter>(
    command: &KvCommand,
    pieces: &Pieces,
    store: &mut AnyEngine,
    error_on_delete: bool,
    Reach { space, dma_engine }: Reach<'_>,
    cx: &mut Context<'_, NamespaceSegments<'_>, W>,
) -> Outcome {
    match command {
        KvCommand::Store { key, value_bytes, options } => {
            let mut data = HostData { space, pieces, bytes: *value_bytes, dma_engine };
            let put = store.store(key.as_bytes(), &mut data, condition(*options), cx);
            reply(put.map(|put| put.and_then(|put| put.wait(store)).map(nothing)), false)
        }
        KvCommand::Retrieve { key, buffer_bytes, .. } => {
            let mut data = HostData { space, pieces, bytes: *buffer_bytes, dma_engine };
            match reply(store.retrieve(key.as_bytes(), &mut data, cx), true) {
                Outcome::Done(r) => Outcome::Done(Reply { bytes_out: r.dw0.min(*buffer_bytes), ..r }),
                other => other,
            }
        }
        KvCommand::Delete { key } => match store.delete(key.as_bytes(), cx) {
            Step::Done(Err(KvError::NotFound)) if !error_on_delete => {
                Outcome::Done(Reply::status(Status::SUCCESS))
            }
            step => reply(step.map(|r| r.map(nothing)), false),
        },
        KvCommand::Exist { key } => reply(store.exists(key.as_bytes(), cx).map(|r| r.map(|()| 0)), false),
        KvCommand::List { start, buffer_bytes } => {
            list(start.as_ref(), *buffer_bytes, pieces, store, space, cx)
        }
        KvCommand::Flush => {
            Outcome::Done(Reply { flush: Some(store.flush(cx.medium)), ..Reply::status(Status::SUCCESS) })
        }
    }
}

/// The bytes that a small retrieve takes; a tiny one of a longer value takes none.
struct Few<'a> {
    found: &'a mut Vec<u8>,
    room: u32,
}

impl Sink for Few<'_> {
    fn room(&self) -> u32 {
        self.room
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        Sink::write(self.found, offset, bytes)
    }
}

pub(super) fn small<W: Meter>(
    command: &InlineRetrieve,
    found: &mut Vec<u8>,
    store: &mut AnyEngine,
    cx: &mut Context<'_, NamespaceSegments<'_>, W>,
) -> Outcome {
    found.clear();
    let mut few = Few { found, room: command.bytes_max };
    match reply(store.retrieve(command.key.as_bytes(), &mut few, cx), true) {
        Outcome::Done(r) if !command.is_tiny => Outcome::Done(r),
        Outcome::Done(r) => {
            let mut word = [0; TINY_BYTES];
            if r.dw0 as usize <= TINY_BYTES {
                word[..found.len()].copy_from_slice(found);
            }
            found.clear();
            Outcome::Done(Reply { dw1: u32::from_le_bytes(word), ..r })
        }
        other => other,
    }
}

/// A write's answer has no number.
#[inline]
fn nothing(_: Version) -> u32 {
    0
}

#[inline]
fn reply(step: Step<Result<u32, KvError>>, tells_size: bool) -> Outcome {
    match step {
        Step::Done(Ok(n)) => {
            let dw0 = if tells_size { n } else { 0 };
            Outcome::Done(Reply { dw0, ..Reply::status(Status::SUCCESS) })
        }
        Step::Done(Err(e)) => Outcome::Done(Reply::status(kv_status(e))),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(stall) => Outcome::Blocked(stall),
    }
}

fn list<W: Meter>(
    start: Option<&Key>,
    buffer_bytes: u32,
    pieces: &Pieces,
    store: &mut AnyEngine,
    space: &DmaSpace,
    cx: &mut Context<'_, NamespaceSegments<'_>, W>,
) -> Outcome {
    let mut buffer = vec![0; buffer_bytes as usize];
    let Ok(mut writer) = ListWriter::new(&mut buffer) else {
        return Outcome::Done(Reply::status(Status::INVALID_FIELD));
    };
    let start = start.map_or(&[][..], Key::as_bytes);
    let listed = store.list(start, |key| Key::new(key).is_ok_and(|key| writer.push(&key).is_ok()), cx);
    let length = writer.bytes() as u32;
    match listed {
        Step::Done(Ok(())) => Outcome::Done(match pieces.write(space, 0, &buffer[..length as usize]) {
            Ok(()) => Reply { bytes_out: length, ..Reply::status(Status::SUCCESS) },
            Err(_) => Reply::status(Status::DATA_TRANSFER_ERROR),
        }),
        other => reply(other.map(|r| r.map(|()| 0)), false),
    }
}
