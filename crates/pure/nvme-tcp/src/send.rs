// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PDUs to bytes.

use saker_nvme::tcp::{CommonHeader, DIGEST_BYTES, FatalError, TermReq, flag};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::digest::crc32c;
use crate::frame::Digests;
use crate::output::Output;

/// The longest header that may carry data (CapsuleCmd).
const HEADER_BYTES_MAX: usize = 72;

/// Data of a PDU.
pub(crate) enum Payload<'a> {
    None,
    Copied(&'a [u8]),
    Owned(Vec<u8>),
}

impl Payload<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Payload::None => &[],
            Payload::Copied(bytes) => bytes,
            Payload::Owned(bytes) => bytes,
        }
    }
}

/// Sends a PDU whose header begins with a common header; flags for digests, PDO and PLEN are set here. `align` is the
/// alignment of data in bytes.
pub(crate) fn pdu(
    output: &mut Output,
    header: &(impl IntoBytes + Immutable),
    payload: Payload<'_>,
    digests: Digests,
    align: usize,
) {
    let header = header.as_bytes();
    let mut head = [0; HEADER_BYTES_MAX + DIGEST_BYTES];
    let Some(copy) = head.get_mut(..header.len()) else {
        debug_assert!(false, "no header here is longer");
        return;
    };
    copy.copy_from_slice(header);
    let data = payload.bytes();
    let head_bytes = header.len() + if digests.header { DIGEST_BYTES } else { 0 };
    let pdo = head_bytes.next_multiple_of(align.max(4));
    set_lengths(&mut head, head_bytes, pdo, data.len(), digests);
    let data_digest = (digests.data && !data.is_empty()).then(|| crc32c(data));
    if digests.header {
        let digest = crc32c(head.get(..header.len()).unwrap_or_default());
        if let Some(at) = head.get_mut(header.len()..head_bytes) {
            at.copy_from_slice(&digest.to_le_bytes());
        }
    }
    output.push(head.get(..head_bytes).unwrap_or_default());
    if !data.is_empty() {
        output.push([0; 256].get(..pdo - head_bytes).unwrap_or_default());
        match payload {
            Payload::Owned(data) => output.push_owned(data),
            Payload::Copied(data) => output.push(data),
            Payload::None => {}
        }
    }
    if let Some(digest) = data_digest {
        output.push(&digest.to_le_bytes());
    }
}

fn set_lengths(head: &mut [u8], head_bytes: usize, pdo: usize, data_bytes: usize, digests: Digests) {
    let Ok((ch, _)) = CommonHeader::mut_from_prefix(head) else { return };
    if digests.header {
        ch.flags |= flag::HEADER_DIGEST;
    }
    ch.plen = U32::new(head_bytes as u32);
    if data_bytes == 0 {
        return;
    }
    let mut plen = pdo + data_bytes;
    if digests.data {
        ch.flags |= flag::DATA_DIGEST;
        plen += DIGEST_BYTES;
    }
    ch.pdo = pdo as u8;
    ch.plen = U32::new(plen as u32);
}

/// Sends a PDU of the handshake, which has neither data nor digests.
pub(crate) fn plain(output: &mut Output, header: &(impl IntoBytes + Immutable)) {
    output.push(header.as_bytes());
}

/// Sends a termination request with the header it is about.
pub(crate) fn term(output: &mut Output, from_controller: bool, error: FatalError, offending: &[u8]) {
    let copied = offending.len() as u32;
    let request = if from_controller {
        TermReq::from_controller(error, copied)
    } else {
        TermReq::from_host(error, copied)
    };
    output.push(request.as_bytes());
    output.push(offending);
}
