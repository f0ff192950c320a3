// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespace Identification Descriptors, CNS 03h (Base): packed, ended by a NIDL of 0.

const EUI64: u8 = 1;
const NGUID: u8 = 2;
const UUID: u8 = 3;
const CSI: u8 = 4;

/// NIDT, NIDL and two reserved bytes precede every identifier.
const HEAD_BYTES: usize = 4;

/// One identifier of a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Descriptor<'a> {
    /// NIDT 1, big-endian as the IEEE writes it.
    Eui64([u8; 8]),
    /// NIDT 2.
    Nguid([u8; 16]),
    /// NIDT 3.
    Uuid([u8; 16]),
    /// NIDT 4: the command set, see [`crate::csi`].
    Csi(u8),
    /// A NIDT that this crate does not know, or one of unexpected length: to be passed over.
    Other {
        /// NIDT.
        nidt: u8,
        /// NID.
        nid: &'a [u8],
    },
}

impl<'a> Descriptor<'a> {
    fn decode(nidt: u8, nid: &'a [u8]) -> Self {
        match (nidt, nid) {
            (CSI, &[csi]) => Self::Csi(csi),
            (EUI64, _) => nid.try_into().map(Self::Eui64).unwrap_or(Self::Other { nidt, nid }),
            (NGUID, _) => nid.try_into().map(Self::Nguid).unwrap_or(Self::Other { nidt, nid }),
            (UUID, _) => nid.try_into().map(Self::Uuid).unwrap_or(Self::Other { nidt, nid }),
            _ => Self::Other { nidt, nid },
        }
    }

    fn parts(&self) -> (u8, &[u8]) {
        match self {
            Self::Eui64(nid) => (EUI64, nid),
            Self::Nguid(nid) => (NGUID, nid),
            Self::Uuid(nid) => (UUID, nid),
            Self::Csi(csi) => (CSI, core::slice::from_ref(csi)),
            Self::Other { nidt, nid } => (*nidt, nid),
        }
    }
}

/// The identifier does not fit the buffer, or has 0 or more than 255 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no room for the descriptor")]
pub struct DescriptorsFull;

/// Writes a descriptor list. After every call the buffer holds a complete list.
#[derive(Debug)]
pub struct DescriptorWriter<'a> {
    rest: &'a mut [u8],
}

impl<'a> DescriptorWriter<'a> {
    /// An empty list: zeroes the whole buffer, so that the end of the list is marked.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        buffer.fill(0);
        Self { rest: buffer }
    }

    /// Appends an identifier; [`DescriptorsFull`] leaves the list as it was.
    pub fn push(&mut self, descriptor: &Descriptor<'_>) -> Result<(), DescriptorsFull> {
        let (nidt, nid) = descriptor.parts();
        let nidl = u8::try_from(nid.len()).ok().filter(|len| *len > 0).ok_or(DescriptorsFull)?;
        let bytes = HEAD_BYTES + nid.len();
        if bytes > self.rest.len() {
            return Err(DescriptorsFull);
        }
        let (entry, rest) = core::mem::take(&mut self.rest).split_at_mut(bytes);
        let (head, body) = entry.split_at_mut(HEAD_BYTES);
        head.copy_from_slice(&[nidt, nidl, 0, 0]);
        body.copy_from_slice(nid);
        self.rest = rest;
        Ok(())
    }
}

/// A descriptor passes the end of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a namespace descriptor passes the end of its list")]
pub struct DescriptorError;

/// Reads a descriptor list of any bytes: identifiers until a NIDL of 0 or the end of the data, or one error, which is the last item.
#[derive(Clone, Debug)]
pub struct DescriptorReader<'a> {
    rest: &'a [u8],
}

impl<'a> DescriptorReader<'a> {
    /// A reader of the data of Identify CNS 03h.
    #[must_use]
    pub const fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }
}

impl<'a> Iterator for DescriptorReader<'a> {
    type Item = Result<Descriptor<'a>, DescriptorError>;

    fn next(&mut self) -> Option<Self::Item> {
        let ([nidt, nidl, _, _], body) = core::mem::take(&mut self.rest).split_first_chunk()?;
        if *nidl == 0 {
            return None;
        }
        let Some((nid, rest)) = body.split_at_checked(usize::from(*nidl)) else {
            return Some(Err(DescriptorError));
        };
        self.rest = rest;
        Some(Ok(Descriptor::decode(*nidt, nid)))
    }
}
