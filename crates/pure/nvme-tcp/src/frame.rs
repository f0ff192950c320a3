// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a stream of bytes to PDUs: headers whole, data as it comes.

use saker_nvme::tcp::{
    CommonHeader, DATA_DIGEST, DIGEST_BYTES, FatalError, HEADER_BYTES_MAX, HEADER_DIGEST, TermReq, flag,
    pdu_type,
};
use zerocopy::FromBytes;

use crate::digest::crc32c;

/// The digests of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digests {
    /// Every header has one.
    pub header: bool,
    /// All data has one.
    pub data: bool,
}

impl Digests {
    /// DGST of ICReq and ICResp.
    #[must_use]
    pub const fn bits(self) -> u8 {
        (if self.header { HEADER_DIGEST } else { 0 }) | (if self.data { DATA_DIGEST } else { 0 })
    }

    /// From DGST; reserved bits are left out.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self { header: bits & HEADER_DIGEST != 0, data: bits & DATA_DIGEST != 0 }
    }
}

/// Who takes the PDUs.
pub(crate) trait Receiver {
    /// Digests in force.
    fn digests(&self) -> Digests;
    /// Whether a PDU of this type may come now, and the most data it may carry.
    ///
    /// # Errors
    /// What to end the connection with.
    fn admit(&self, pdu_type: u8) -> Result<Admitted, FatalError>;
    /// A header, its digest verified, and the bytes of data that follow.
    ///
    /// # Errors
    /// What to end the connection with.
    fn header(&mut self, header: &[u8], data_bytes: usize) -> Result<(), FatalError>;
    /// Data of the PDU of the last header, in order.
    fn data(&mut self, bytes: &[u8]);
    /// The PDU is complete; `digest` is what followed the data.
    ///
    /// # Errors
    /// What to end the connection with.
    fn end(&mut self, digest: Option<u32>) -> Result<(), FatalError>;
}

/// What a PDU of a type may carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// No data.
    Plain,
    /// Up to so many bytes of data, perhaps none.
    Data(usize),
    /// A copy of a header.
    Term,
}

/// Where the parts of a PDU are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    /// Header with its digest.
    head_bytes: usize,
    has_header_digest: bool,
    padding: usize,
    data_bytes: usize,
    has_data_digest: bool,
}

const HEAD_BYTES_MAX: usize = HEADER_BYTES_MAX + DIGEST_BYTES;

/// Where in a PDU the stream stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Common,
    Head(Layout),
    Padding(Layout, usize),
    Data(Layout, usize),
    Digest,
}

/// Cuts the stream.
#[derive(Debug)]
pub(crate) struct Framer {
    at: At,
    /// Header, or data digest, as far as it has come.
    held: [u8; HEAD_BYTES_MAX],
    held_bytes: usize,
}

impl Default for Framer {
    fn default() -> Self {
        Self { at: At::Common, held: [0; HEAD_BYTES_MAX], held_bytes: 0 }
    }
}

impl Framer {
    /// Hands all of `input` to `receiver`.
    pub fn feed(&mut self, mut input: &[u8], receiver: &mut impl Receiver) -> Result<(), FatalError> {
        while !input.is_empty() {
            input = self.step(input, receiver)?;
        }
        Ok(())
    }

    /// Bytes of data of the PDU that is being received which have not come yet.
    pub fn data_left(&self) -> usize {
        match self.at {
            At::Data(_, left) => left,
            _ => 0,
        }
    }

    /// So many bytes of data, no more than are left, have gone where `receiver` would have put them.
    pub fn data_placed(&mut self, bytes: usize, receiver: &mut impl Receiver) -> Result<(), FatalError> {
        match self.at {
            At::Data(layout, left) => self.after_data(layout, left.saturating_sub(bytes), receiver),
            _ => Ok(()),
        }
    }

    /// The header as far as it has come, for a termination PDU.
    pub fn offending(&self) -> &[u8] {
        self.held.get(..self.held_bytes.min(TermReq::COPY_BYTES_MAX)).unwrap_or_default()
    }

    fn step<'a>(&mut self, input: &'a [u8], to: &mut impl Receiver) -> Result<&'a [u8], FatalError> {
        match self.at {
            At::Common => {
                let rest = self.hold(input, CommonHeader::BYTES);
                if self.held_bytes == CommonHeader::BYTES {
                    self.at = At::Head(self.layout(to)?);
                }
                Ok(rest)
            }
            At::Head(layout) => {
                let rest = self.hold(input, layout.head_bytes);
                if self.held_bytes == layout.head_bytes {
                    self.take_header(layout, to)?;
                }
                Ok(rest)
            }
            At::Padding(layout, left) => {
                let (skipped, rest) = input.split_at(left.min(input.len()));
                self.after_padding(layout, left - skipped.len(), to)?;
                Ok(rest)
            }
            At::Data(layout, left) => {
                let (bytes, rest) = input.split_at(left.min(input.len()));
                to.data(bytes);
                self.after_data(layout, left - bytes.len(), to)?;
                Ok(rest)
            }
            At::Digest => {
                let rest = self.hold(input, DIGEST_BYTES);
                if self.held_bytes == DIGEST_BYTES {
                    let digest = self.held_u32(0);
                    self.finish(Some(digest), to)?;
                }
                Ok(rest)
            }
        }
    }

    /// Holds bytes until there are `wanted`; returns what is left.
    fn hold<'a>(&mut self, input: &'a [u8], wanted: usize) -> &'a [u8] {
        let (bytes, rest) = input.split_at(wanted.saturating_sub(self.held_bytes).min(input.len()));
        if let Some(into) = self.held.get_mut(self.held_bytes..self.held_bytes + bytes.len()) {
            into.copy_from_slice(bytes);
            self.held_bytes += bytes.len();
        }
        rest
    }

    fn held_u32(&self, at: usize) -> u32 {
        let bytes = self.held.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    }

    fn layout(&self, to: &impl Receiver) -> Result<Layout, FatalError> {
        let bytes = self.held.get(..CommonHeader::BYTES).unwrap_or_default();
        let ch = CommonHeader::read_from_bytes(bytes).map_err(|_| FatalError::Sequence)?;
        let hlen = CommonHeader::hlen_of(ch.pdu_type).ok_or(FatalError::HeaderField(0))?;
        let admitted = to.admit(ch.pdu_type)?;
        layout(&ch, hlen, admitted, to.digests())
    }

    fn take_header(&mut self, layout: Layout, to: &mut impl Receiver) -> Result<(), FatalError> {
        let hlen = layout.head_bytes - if layout.has_header_digest { DIGEST_BYTES } else { 0 };
        let header = self.held.get(..hlen).unwrap_or_default();
        let received = self.held_u32(hlen.min(HEADER_BYTES_MAX));
        if layout.has_header_digest && crc32c(header) != received {
            return Err(FatalError::HeaderDigest(received));
        }
        to.header(header, layout.data_bytes)?;
        self.after_padding(layout, layout.padding, to)
    }

    fn after_padding(
        &mut self,
        layout: Layout,
        left: usize,
        to: &mut impl Receiver,
    ) -> Result<(), FatalError> {
        if left > 0 {
            self.at = At::Padding(layout, left);
            return Ok(());
        }
        self.after_data(layout, layout.data_bytes, to)
    }

    fn after_data(&mut self, layout: Layout, left: usize, to: &mut impl Receiver) -> Result<(), FatalError> {
        if left > 0 {
            self.at = At::Data(layout, left);
        } else if layout.has_data_digest {
            (self.at, self.held_bytes) = (At::Digest, 0);
        } else {
            self.finish(None, to)?;
        }
        Ok(())
    }

    fn finish(&mut self, digest: Option<u32>, to: &mut impl Receiver) -> Result<(), FatalError> {
        to.end(digest)?;
        (self.at, self.held_bytes) = (At::Common, 0);
        Ok(())
    }
}

/// Byte offsets of the fields of the common header, for FEI.
const FLAGS: FatalError = FatalError::HeaderField(1);
const HLEN: FatalError = FatalError::HeaderField(2);
const PDO: FatalError = FatalError::HeaderField(3);
const PLEN: FatalError = FatalError::HeaderField(4);

/// Checks the common header of a PDU that may come now.
fn layout(ch: &CommonHeader, hlen: u8, admitted: Admitted, digests: Digests) -> Result<Layout, FatalError> {
    let (hlen, plen) = (usize::from(hlen), ch.plen.get() as usize);
    if usize::from(ch.hlen) != hlen {
        return Err(HLEN);
    }
    let without_digests =
        matches!(ch.pdu_type, pdu_type::IC_REQ | pdu_type::IC_RESP) || admitted == Admitted::Term;
    let has_header_digest = digests.header && !without_digests;
    if (ch.flags & flag::HEADER_DIGEST != 0) != has_header_digest {
        return Err(FLAGS);
    }
    let head_bytes = hlen + if has_header_digest { DIGEST_BYTES } else { 0 };
    let plain = Layout { head_bytes, has_header_digest, padding: 0, data_bytes: 0, has_data_digest: false };
    match admitted {
        Admitted::Data(most) if plen != head_bytes => with_data(ch, plain, plen, most, digests.data),
        Admitted::Term if (hlen..=hlen + TermReq::COPY_BYTES_MAX).contains(&plen) => {
            Ok(Layout { data_bytes: plen - hlen, ..plain })
        }
        Admitted::Plain | Admitted::Data(_) if plen == head_bytes => {
            if ch.flags & flag::DATA_DIGEST == 0 {
                Ok(plain)
            } else {
                Err(FLAGS)
            }
        }
        _ => Err(PLEN),
    }
}

fn with_data(
    ch: &CommonHeader,
    plain: Layout,
    plen: usize,
    most: usize,
    has_data_digest: bool,
) -> Result<Layout, FatalError> {
    if (ch.flags & flag::DATA_DIGEST != 0) != has_data_digest {
        return Err(FLAGS);
    }
    let pdo = usize::from(ch.pdo);
    if pdo < plain.head_bytes || !pdo.is_multiple_of(4) {
        return Err(PDO);
    }
    let digest = if has_data_digest { DIGEST_BYTES } else { 0 };
    let data_bytes = plen.checked_sub(pdo + digest).filter(|bytes| *bytes > 0).ok_or(PLEN)?;
    if data_bytes > most {
        return Err(if ch.pdu_type == pdu_type::H2C_DATA { FatalError::Limit } else { PLEN });
    }
    Ok(Layout { padding: pdo - plain.head_bytes, data_bytes, has_data_digest, ..plain })
}
