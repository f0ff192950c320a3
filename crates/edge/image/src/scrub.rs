// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading every page of an image again, whether somebody uses it or not: what the disk has spoilt is found while it can still be
//! mended.
//!
//! There is no lock: the device may be at work. A page that was programmed never changes until its segment is erased, which
//! raises the segment's epoch first. So a page is judged by bytes that were read between two looks at its epoch that are equal; one
//! that then does not fit its checksum is looked at again before it is called damaged, because a program may have been under way.
//! The ring changes all the time while a device is at work, and is looked at only when no writer has the image.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::check::{header_fault, place_of, ring_damage};
use super::header::{self, Fault, Header};
use super::layout::Layout;
use super::lock::{Access, Locked};
use super::oob::{self, Oob};
use super::open::{bad_epoch, check_length, refuse};
use super::table::late_page;
use super::{ImageError, epochs, host, scan};
use saker_segment_store::{PageAddr, SegmentId};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long one waits before each further look at a page that does not fit.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(2), Duration::from_millis(20), Duration::from_millis(200)];

/// Something that a scrub tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubStep<'a> {
    /// A page is sound: its bytes, with the out-of-band part.
    Sound(u64),
    /// Something is damaged: place and fault.
    Damage(&'a str),
}

/// What a scrub has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Pages that are sound.
    pub pages_sound: u64,
    /// Pages known to be unreadable: failed programs, cut erases.
    pub pages_torn: u64,
    /// Damaged places.
    pub damaged: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Whether it came to the end of the image.
    pub is_whole: bool,
}

/// Reads every page of an image that is programmed, whoever uses the image. `see` says whether to go on.
///
/// # Errors
/// Only when the file cannot be read: missing, no image, of a later version, cut off.
pub fn scrub(path: &Path, see: &mut dyn FnMut(ScrubStep<'_>) -> bool) -> Result<Scrubbed, ImageError> {
    let file = File::open(path).map_err(ImageError::io(path, "open"))?;
    let header = sound_header(&file, path)?;
    check_length(&file, path, &header.layout)?;
    let page = vec![0; header.layout.geometry.page_bytes as usize];
    let mut scrub =
        Scrub { file, layout: header.layout, page, see, done: Scrubbed::default(), stopped: false };
    scrub.run().map_err(ImageError::io(path, "read"))?;
    // While nobody writes, the ring stands still, too.
    if !scrub.stopped
        && let Ok(locked) = Locked::open(path, Access::Read)
    {
        let header = sound_header(&locked, path)?;
        let damage = ring_damage(locked, header).map_err(ImageError::io(path, "read"))?;
        damage.iter().for_each(|what| scrub.damage(what));
    }
    Ok(Scrubbed { is_whole: !scrub.stopped, ..scrub.done })
}

/// A copy may be under way: the other one is whole then.
fn sound_header(file: &File, path: &Path) -> Result<Header, ImageError> {
    for pause in PAUSES {
        let copies = header::read_copies(file).map_err(ImageError::io(path, "read"))?;
        match header::choose(&copies) {
            Ok((header, _)) => return Ok(header),
            Err(fault @ (Fault::Foreign | Fault::Unsupported(_))) => return Err(refuse(path, fault)),
            Err(Fault::Bad(_)) => std::thread::sleep(pause),
        }
    }
    Err(ImageError::damaged(path, "neither header copy is good"))
}

struct Scrub<'a> {
    file: File,
    layout: Layout,
    page: Vec<u8>,
    see: &'a mut dyn FnMut(ScrubStep<'_>) -> bool,
    done: Scrubbed,
    stopped: bool,
}

/// What one look at a page has shown.
enum Look {
    Erased,
    Torn,
    Sound,
    /// It was erased meanwhile.
    Moved,
    Bad(String),
}

impl Scrub<'_> {
    fn run(&mut self) -> io::Result<()> {
        self.epochs()?;
        let (file, layout) = (self.file.try_clone()?, self.layout);
        let mut failed = Ok(());
        scan::written_oob(&file, &layout, &mut |at, bytes| {
            if !self.stopped && failed.is_ok() {
                failed = self.page(at, bytes);
            }
        })?;
        failed
    }

    fn epochs(&mut self) -> io::Result<()> {
        for segment in (0..self.layout.geometry.segments).map(SegmentId) {
            let mut pauses = PAUSES.iter();
            while self.epoch(segment)?.is_none() {
                match pauses.next() {
                    Some(pause) => std::thread::sleep(*pause),
                    None => {
                        self.damage(&bad_epoch(segment.0 as usize));
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn epoch(&self, segment: SegmentId) -> io::Result<Option<u32>> {
        Ok(epochs::decode(segment, epochs::read(&self.file, &self.layout, segment)?))
    }

    /// Looks at a page until it is judged. `bytes`: its out-of-band bytes as they were a moment ago.
    fn page(&mut self, at: PageAddr, bytes: &[u8]) -> io::Result<()> {
        let mut oob = bytes.to_vec();
        let mut pauses = PAUSES.iter();
        loop {
            let look = self.look(at, &oob)?;
            let fault = match look {
                Look::Erased => return Ok(()),
                Look::Torn => {
                    self.done.pages_torn += 1;
                    return Ok(());
                }
                Look::Sound => {
                    self.sound();
                    return Ok(());
                }
                Look::Moved => None,
                Look::Bad(fault) => Some(fault),
            };
            match (pauses.next(), fault) {
                (Some(pause), _) => std::thread::sleep(*pause),
                (None, Some(fault)) => {
                    self.damage(&fault);
                    return Ok(());
                }
                // It is written and erased all the time: another pass meets it again.
                (None, None) => return Ok(()),
            }
            host::read_at(&self.file, &mut oob, self.layout.oob_of(at))?;
        }
    }

    fn look(&mut self, at: PageAddr, bytes: &[u8]) -> io::Result<Look> {
        let segment = self.layout.geometry.segment_of(at);
        // What is told of the segment is told once, and its pages cannot be judged.
        let Some(epoch) = self.epoch(segment)? else { return Ok(Look::Erased) };
        let place = place_of(&self.layout.geometry, at);
        let look = match oob::read(bytes, at, epoch) {
            Oob::Erased => Look::Erased,
            Oob::Torn => Look::Torn,
            Oob::Later(_) => Look::Bad(late_page(&self.layout.geometry, at)),
            Oob::Damaged(None) => Look::Bad(format!("{place}: there are bytes behind an empty header")),
            Oob::Damaged(Some(error)) => Look::Bad(format!("{place}: {error}")),
            Oob::Sound(header) => {
                host::uncache(&self.file, self.layout.data_of(at), self.page.len() as u64);
                match host::read_at(&self.file, &mut self.page, self.layout.data_of(at)) {
                    Err(error) => Look::Bad(format!("{place}: its data cannot be read: {error}")),
                    Ok(()) => header_fault(&header, &self.page, bytes)
                        .map_or(Look::Sound, |fault| Look::Bad(format!("{place}: {fault}"))),
                }
            }
        };
        Ok(if self.epoch(segment)? == Some(epoch) { look } else { Look::Moved })
    }

    fn sound(&mut self) {
        let bytes = u64::from(self.layout.geometry.page_bytes + self.layout.geometry.oob_bytes);
        self.done.pages_sound += 1;
        self.done.bytes += bytes;
        self.stopped |= !(self.see)(ScrubStep::Sound(bytes));
    }

    fn damage(&mut self, what: &str) {
        self.done.damaged += 1;
        self.stopped |= !(self.see)(ScrubStep::Damage(what));
    }
}
