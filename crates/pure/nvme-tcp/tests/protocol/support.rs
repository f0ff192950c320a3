// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device behind the target's end: it echoes what it was sent.

use saker_nvme::Status;
use saker_nvme::tcp::{CapsuleCmd, CommonHeader, IcReq};
use saker_nvme::{Sqe, sgl::SglDescriptor, sgl::kind};
use saker_nvme_tcp::target::Command;
use saker_nvme_tcp::{Initiator, Output, Target, TargetLimits};
use zerocopy::IntoBytes;

/// Everything that waits in `output`, at most `most` bytes; the caller says so.
pub fn drain(output: &Output, most: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = output.pieces().flatten().copied().take(most).collect();
    bytes.truncate(most);
    bytes
}

/// Status, result and data for a command.
pub type Device<'a> = dyn FnMut(&Command) -> (Status, u64, Vec<u8>) + 'a;

/// Moves bytes both ways in steps of the sizes in `steps`, and executes commands by `device`, until nothing moves.
pub fn exchange(
    host: &mut Initiator,
    target: &mut Target,
    steps: &mut dyn FnMut() -> usize,
    device: &mut Device<'_>,
) {
    loop {
        let mut moved = false;
        let bytes = drain(host.output(), steps());
        host.sent(bytes.len());
        moved |= !bytes.is_empty();
        to_target(target, &bytes, steps());
        while let Some(command) = target.next_command() {
            let (status, result, data) = device(&command);
            target.complete(command.token, status, result, data);
            moved = true;
        }
        let bytes = drain(target.output(), steps());
        target.sent(bytes.len());
        moved |= !bytes.is_empty();
        to_host(host, &bytes, steps());
        if !moved {
            return;
        }
    }
}

/// Feeds `bytes`; data of transfers is placed, `step` bytes at a time, if `step` is odd.
fn to_target(target: &mut Target, mut bytes: &[u8], step: usize) {
    while !bytes.is_empty() {
        let (now, later) = bytes.split_at(step.clamp(1, bytes.len()));
        bytes = match target.direct() {
            Some((into, left)) if step % 2 == 1 => {
                let (own, rest) = now.split_at(left.min(now.len()));
                into.extend_from_slice(own);
                target.placed(own.len());
                bytes.split_at(bytes.len() - later.len() - rest.len()).1
            }
            _ => {
                target.feed(now);
                later
            }
        };
    }
}

/// The same at the host's end.
fn to_host(host: &mut Initiator, mut bytes: &[u8], step: usize) {
    while !bytes.is_empty() {
        let (now, later) = bytes.split_at(step.clamp(1, bytes.len()));
        bytes = match host.direct() {
            Some((into, left)) if step % 2 == 1 => {
                let (own, rest) = now.split_at(left.min(now.len()));
                into.extend_from_slice(own);
                host.placed(own.len());
                bytes.split_at(bytes.len() - later.len() - rest.len()).1
            }
            _ => {
                host.feed(now);
                later
            }
        };
    }
}

/// A target after the handshake, with `entries` entries.
pub fn open_target(dgst: u8, entries: u16) -> Target {
    let mut target = Target::new(TargetLimits::default());
    target.feed(IcReq::new(dgst).as_bytes());
    assert!(target.is_open());
    target.set_entries(entries);
    let pending = target.output().pending();
    assert_eq!(pending, 128, "ICResp");
    target.sent(pending);
    target
}

/// A capsule without digests, whose descriptor is `descriptor`, with `data` behind it.
pub fn capsule(sqe: Sqe, descriptor: SglDescriptor, data: &[u8]) -> Vec<u8> {
    let mut capsule = CapsuleCmd::new(sqe.with_sgl(&descriptor));
    if !data.is_empty() {
        capsule.ch.pdo = 72;
        capsule.ch.plen = (72 + data.len() as u32).into();
    }
    [capsule.as_bytes(), data].concat()
}

/// A descriptor of data that the transport moves.
pub fn transport(bytes: u32) -> SglDescriptor {
    SglDescriptor::new(kind::TRANSPORT_DATA_BLOCK, 0, bytes)
}

/// Type, FES and FEI of the only PDU in `bytes`.
pub fn termination(bytes: &[u8]) -> (u8, u16, u32) {
    assert!(bytes.len() >= 24, "a termination request of {} bytes", bytes.len());
    assert_eq!(bytes[2], 24, "HLEN");
    assert_eq!(u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize, bytes.len(), "PLEN");
    let fes = u16::from_le_bytes(bytes[8..10].try_into().unwrap());
    (bytes[0], fes, u32::from_le_bytes(bytes[10..14].try_into().unwrap()))
}

/// A common header by hand.
pub fn header(pdu_type: u8, flags: u8, hlen: u8, pdo: u8, plen: u32) -> Vec<u8> {
    let ch = CommonHeader { pdu_type, flags, hlen, pdo, plen: plen.into() };
    ch.as_bytes().to_vec()
}
