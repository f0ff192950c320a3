// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages to a vfio-user server, one after the other. Layouts: nutanix/libvfio-user, `docs/vfio-user.rst`, and qemu/qemu,
//! `hw/vfio-user/protocol.h`.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::error::VfioError;

const HEADER_BYTES: usize = 16;
/// The longest answer that is believed.
const ANSWER_BYTES_MAX: usize = 128 << 10;
/// How long a server may take for an answer: resets wait for commands under way.
const PATIENCE: Duration = Duration::from_secs(60);

const NO_REPLY: u32 = 1 << 4;
const REPLY: u32 = 1;
const ERROR: u32 = 1 << 5;

mod command {
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const REGION_INFO: u16 = 5;
    pub const IRQ_INFO: u16 = 7;
    pub const SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const RESET: u16 = 13;
}

/// What a region is.
#[derive(Debug, Default)]
pub struct Region {
    /// Bytes.
    pub bytes: u64,
    /// The file that an area of it can be mapped from, and the area: offset in region and file, bytes.
    pub mappable: Option<(OwnedFd, u64, u64)>,
    /// The file that all of it can be mapped from.
    pub file: Option<OwnedFd>,
}

/// A socket to a server that has been greeted.
#[derive(Debug)]
pub struct Socket {
    stream: UnixStream,
    next_id: u16,
}

impl Socket {
    /// Connects and greets.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn open(path: &Path) -> Result<Self, VfioError> {
        let connect = |error| VfioError::Connect(path.to_owned(), error);
        let stream = UnixStream::connect(path).map_err(connect)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut socket = Self { stream, next_id: 0 };
        // Version 0.0, and nothing that a server has to know.
        let mut fields = vec![0; 4];
        fields.extend_from_slice(b"{\"capabilities\":{\"max_msg_fds\":1}}\0");
        let (answer, _) = socket.ask(command::VERSION, &fields, &[])?;
        match answer.get(..2) {
            Some([0, 0]) => Ok(socket),
            _ => Err(VfioError::Answer(command::VERSION)),
        }
    }

    /// The descriptor, to look whether the server is still there.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Lets the device reach memory of a file.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn map(&mut self, file: BorrowedFd<'_>, offset: u64, iova: u64, bytes: u64) -> Result<(), VfioError> {
        let mut fields = words(&[32, 3]);
        fields.extend([offset, iova, bytes].iter().flat_map(|word| word.to_le_bytes()));
        self.ask(command::DMA_MAP, &fields, &[file]).map(drop)
    }

    /// The device may not reach it any more.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn unmap(&mut self, iova: u64, bytes: u64) -> Result<(), VfioError> {
        let mut fields = words(&[24, 0]);
        fields.extend([iova, bytes].iter().flat_map(|word| word.to_le_bytes()));
        self.ask(command::DMA_UNMAP, &fields, &[]).map(drop)
    }

    /// What a region is.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn region(&mut self, index: u32) -> Result<Region, VfioError> {
        // Room for one area.
        let fields = words(&[64, 0, index, 0, 0, 0, 0, 0]);
        let (answer, mut files) = self.ask(command::REGION_INFO, &fields, &[])?;
        let word = |at: usize| {
            answer.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let bytes = word(16);
        // One area behind the 32 bytes of every answer, each 16 bytes, behind 16 of its head.
        let (file, has_area) = (files.pop(), answer.len() >= 64);
        let (mappable, file) = match file {
            Some(file) if has_area => (Some((file, word(48), word(56))), None),
            file => (None, file),
        };
        Ok(Region { bytes, mappable, file })
    }

    /// How many interrupts of a kind there are.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn interrupts(&mut self, kind: u32) -> Result<u32, VfioError> {
        let (answer, _) = self.ask(command::IRQ_INFO, &words(&[16, 0, kind, 0]), &[])?;
        let count = answer.get(12..16).and_then(|count| count.first_chunk());
        count.map(|count| u32::from_le_bytes(*count)).ok_or(VfioError::Answer(command::IRQ_INFO))
    }

    /// Gives an interrupt of a kind its event descriptor.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn set_interrupt(&mut self, kind: u32, vector: u16, event: BorrowedFd<'_>) -> Result<(), VfioError> {
        // By descriptors, to be triggered.
        let fields = words(&[20, 0x24, kind, u32::from(vector), 1]);
        self.ask(command::SET_IRQS, &fields, &[event]).map(drop)
    }

    /// Says goodbye: the server sees that nobody is there any more.
    pub fn close(&self) {
        // It may have said so first.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// The stream once more, for somebody else who may have to say goodbye.
    pub(crate) fn stream(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// Reads a region.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), VfioError> {
        let (answer, _) = self.ask(command::REGION_READ, &access(region, offset, into.len()), &[])?;
        let data = answer.get(16..).filter(|data| data.len() == into.len());
        into.copy_from_slice(data.ok_or(VfioError::Answer(command::REGION_READ))?);
        Ok(())
    }

    /// Writes a region, and waits until it is written.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), VfioError> {
        let mut fields = access(region, offset, from.len());
        fields.extend_from_slice(from);
        self.ask(command::REGION_WRITE, &fields, &[]).map(drop)
    }

    /// Writes a region; the server says nothing to it.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn post(&mut self, region: u32, offset: u64, value: u32) -> Result<(), VfioError> {
        let mut fields = access(region, offset, 4);
        fields.extend(value.to_le_bytes());
        self.send(command::REGION_WRITE, NO_REPLY, &fields, &[]).map(drop)
    }

    /// Resets the device.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn reset(&mut self) -> Result<(), VfioError> {
        self.ask(command::RESET, &[], &[]).map(drop)
    }

    /// Sends a request, and takes its answer without the header.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn ask(
        &mut self,
        command: u16,
        fields: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> Result<(Vec<u8>, Vec<OwnedFd>), VfioError> {
        let id = self.send(command, 0, fields, files)?;
        let (head, mut received) = self.receive(HEADER_BYTES)?;
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (size, flags) = (word(4) as usize, word(8));
        let is_ours = half(0) == id && half(2) == command && flags & 0xF == REPLY;
        if !is_ours || !(HEADER_BYTES..=ANSWER_BYTES_MAX).contains(&size) {
            return Err(VfioError::Answer(command));
        }
        let (body, files) = self.receive(size - HEADER_BYTES)?;
        received.extend(files);
        if flags & ERROR != 0 {
            let error = io::Error::from_raw_os_error(word(12).cast_signed());
            return Err(VfioError::Refused { command, error });
        }
        Ok((body, received))
    }

    fn send(
        &mut self,
        command: u16,
        flags: u32,
        fields: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> Result<u16, VfioError> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let size = (HEADER_BYTES + fields.len()) as u32;
        let mut message = words(&[u32::from(id) | u32::from(command) << 16, size, flags, 0]);
        message.extend_from_slice(fields);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let has_room = files.is_empty() || control.push(SendAncillaryMessage::ScmRights(files));
        assert!(has_room, "a request has one file at most");
        let sent = sendmsg(&self.stream, &[IoSlice::new(&message)], &mut control, SendFlags::NOSIGNAL)
            .map_err(io::Error::from)?;
        io::Write::write_all(&mut self.stream, &message[sent..])?;
        Ok(id)
    }

    fn receive(&mut self, bytes: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), VfioError> {
        let (mut data, mut files, mut at) = (vec![0; bytes], Vec::new(), 0);
        while at < bytes {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let room = &mut [IoSliceMut::new(&mut data[at..])];
            let received = recvmsg(&self.stream, room, &mut control, RecvFlags::CMSG_CLOEXEC);
            let received = match received {
                Ok(received) => received.bytes,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(came) = message {
                    files.extend(came);
                }
            }
            if received == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            at += received;
        }
        Ok((data, files))
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn access(region: u32, offset: u64, bytes: usize) -> Vec<u8> {
    let mut fields = offset.to_le_bytes().to_vec();
    fields.extend(words(&[region, bytes as u32]));
    fields
}
