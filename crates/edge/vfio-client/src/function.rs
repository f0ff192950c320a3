// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller of a PCIe function: registers, doorbells, queue pairs, the admin queue.

mod admin;
mod goes;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use saker_link::{ARENA_IOVA, DmaSpace, DoorbellKind, Doorbells, HostQueuePair, PAGE_BYTES};
use saker_nvme::regs::{Aqa, Cap, Cc, Csts, offset};

use crate::error::VfioError;
use crate::memory::{doorbells, shared_pages};
use crate::socket::Socket;

pub(crate) use goes::new_event;

/// BAR 0.
const BAR0: u32 = 0;
/// Configuration space.
const CONFIG: u32 = 7;
/// Interrupts by message (linux/vfio.h, `VFIO_PCI_MSIX_IRQ_INDEX`).
const MSIX: u32 = 2;
/// Class code of NVM Express.
const CLASS: u32 = 0x01_08_02;
/// Entries of each admin queue.
pub const ADMIN_ENTRIES: u32 = 32;
/// Queue pairs whose doorbells are in one page.
const QUEUE_PAIRS: u16 = 65;
/// How long a command of the admin queue may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A function that is reached: nothing is enabled yet, or again.
#[derive(Debug)]
pub struct Function {
    socket: Socket,
    space: Arc<DmaSpace>,
    doorbells: Arc<Doorbells>,
    /// Whether a doorbell is rung by a store, and not by a message.
    is_mapped: bool,
    event: OwnedFd,
    admin: Option<HostQueuePair>,
    next_cid: u16,
    /// What the device reaches.
    file: OwnedFd,
}

/// An I/O queue pair.
pub type Pair = HostQueuePair;

impl Function {
    /// Connects to a server, with so many pages of memory that the device reaches.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn open(path: &Path, pages: u32) -> Result<Self, VfioError> {
        let mut socket = Socket::open(path)?;
        let (file, memory) = shared_pages(pages)?;
        let bytes = u64::from(pages) * PAGE_BYTES as u64;
        socket.map(file.as_fd(), 0, ARENA_IOVA, bytes)?;
        let mut class = [0; 4];
        socket.read(CONFIG, 8, &mut class)?;
        let class = u32::from_le_bytes(class) >> 8;
        if class != CLASS {
            return Err(VfioError::Class(class));
        }
        let region = socket.region(BAR0)?;
        let first = offset::DOORBELLS;
        let mapped = region.mappable.filter(|(_, at, bytes)| *at == first && *bytes >= PAGE_BYTES as u64);
        let is_mapped = mapped.is_some();
        let doorbells = match mapped {
            Some((file, at, _)) => doorbells(&file, at, QUEUE_PAIRS)?,
            None => Doorbells::new(QUEUE_PAIRS),
        };
        let event = new_event()?;
        socket.set_interrupt(MSIX, 0, event.as_fd())?;
        socket.set_interrupt(MSIX, 1, event.as_fd())?;
        let space = DmaSpace::over(memory);
        Ok(Self { socket, space, doorbells, is_mapped, event, admin: None, next_cid: 0, file })
    }

    /// The memory that the device reaches.
    #[must_use]
    pub const fn space(&self) -> &Arc<DmaSpace> {
        &self.space
    }

    /// The doorbells; unless they are [mapped](Self::is_mapped) what is written there has to be [told](Self::tell).
    #[must_use]
    pub const fn doorbells(&self) -> &Arc<Doorbells> {
        &self.doorbells
    }

    /// Whether the device looks at the doorbells by itself.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The file of that memory.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The socket.
    pub const fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Register CAP.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn capabilities(&mut self) -> Result<Cap, VfioError> {
        let mut bytes = [0; 8];
        self.socket.read(BAR0, offset::CAP, &mut bytes)?;
        Ok(Cap(u64::from_le_bytes(bytes)))
    }

    /// A register of 4 bytes.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn register(&mut self, at: u64) -> Result<u32, VfioError> {
        let mut bytes = [0; 4];
        self.socket.read(BAR0, at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes a register of 4 bytes.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn set_register(&mut self, at: u64, value: u32) -> Result<(), VfioError> {
        self.socket.write(BAR0, at, &value.to_le_bytes())
    }

    /// Enables the controller for all command sets, with an admin queue.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn enable(&mut self) -> Result<(), VfioError> {
        let admin = HostQueuePair::new(&self.space, &self.doorbells, 0, ADMIN_ENTRIES, ADMIN_ENTRIES)?;
        let zeroes_based = ADMIN_ENTRIES as u16 - 1;
        let aqa = Aqa::default().with_asqs(zeroes_based).with_acqs(zeroes_based);
        self.set_register(offset::AQA, aqa.0)?;
        self.socket.write(BAR0, offset::ASQ, &admin.sq_iova().to_le_bytes())?;
        self.socket.write(BAR0, offset::ACQ, &admin.cq_iova().to_le_bytes())?;
        self.admin = Some(admin);
        self.set_register(offset::CC, enabled().0)?;
        self.wait_for(true, |csts| csts.rdy())
    }

    /// Disables it; queues and commands are gone.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn disable(&mut self) -> Result<(), VfioError> {
        self.set_register(offset::CC, 0)?;
        // A controller that has failed is reset like any other, and says that it has failed until commands under way have ended.
        self.wait_for(false, |csts| !csts.rdy() && !csts.cfs())?;
        self.admin = None;
        Ok(())
    }

    /// Tells it that the end is near, and waits until data is safe.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn shut_down(&mut self) -> Result<(), VfioError> {
        self.set_register(offset::CC, enabled().with_shn(1).0)?;
        self.wait_for(true, |csts| csts.shst() == Csts::SHST_COMPLETE)
    }

    fn wait_for(&mut self, failure_ends: bool, reached: impl Fn(Csts) -> bool) -> Result<(), VfioError> {
        let begun = Instant::now();
        loop {
            let csts = Csts(self.register(offset::CSTS)?);
            if reached(csts) {
                return Ok(());
            }
            if failure_ends && csts.cfs() || begun.elapsed() > PATIENCE {
                return Err(VfioError::Fatal(csts.0));
            }
        }
    }

    /// Tells the device of a doorbell, if it does not look by itself.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn tell(&mut self, qid: u16, kind: DoorbellKind) -> Result<(), VfioError> {
        if self.is_mapped {
            return Ok(());
        }
        let value = self.doorbells.read(kind, qid)?;
        let at = offset::DOORBELLS + u64::from(qid) * 8 + u64::from(kind == DoorbellKind::CqHead) * 4;
        self.socket.post(BAR0, at, value)
    }

    /// Waits for an interrupt, not longer than that.
    ///
    /// # Errors
    /// [`VfioError`] if the server has gone.
    pub fn rest(&mut self, patience: Duration) -> Result<(), VfioError> {
        let timeout = Timespec::try_from(patience).unwrap_or_default();
        let socket = self.socket.descriptor();
        let mut events = [
            PollFd::new(&self.event, PollFlags::IN),
            PollFd::from_borrowed_fd(socket, PollFlags::RDHUP | PollFlags::HUP),
        ];
        match poll(&mut events, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if !events[1].revents().is_empty() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if !events[0].revents().is_empty() {
            // Nobody else takes it.
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
        Ok(())
    }
}

/// CC of an enabled controller with all command sets.
#[must_use]
pub fn enabled() -> Cc {
    Cc::default().with_en(true).with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4)
}
