// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading all of a device again, at a rate, so that what its medium has spoilt is found while there is a backup.

use crate::block::Block;
use crate::device::Opened;
use crate::error::Error;
use crate::image;
use crate::kv::Kv;
use crate::salvage::{Losses, Lost, Piece, read_blocks, read_pairs};
use crate::url::{Backing, DeviceUrl};
use saker_nvme::csi;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time that a scrub sleeps before it asks whether to go on.
const NAP: Duration = Duration::from_millis(100);

/// What a scrub has read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let url = format!("file:{}", path.display());
/// let scrubbed: saker::Scrubbed = saker::scrub(&url, None, &mut |_| true)?;
/// assert_eq!((scrubbed.read, scrubbed.damaged), ("pages", 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// `pages`: all pages of an image; `pairs and blocks`: what a device gives out, each of which it checks.
    pub read: &'static str,
    /// How many of them are sound.
    pub sound: u64,
    /// How many places are damaged.
    pub damaged: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Whether it came to the end.
    pub is_whole: bool,
}

/// What a scrub tells while it goes on.
///
/// ```
/// let tell = |news: saker::ScrubNews<'_>| match news {
///     saker::ScrubNews::Read(bytes) => format!("{bytes} bytes so far"),
///     saker::ScrubNews::Damage(what) => format!("damaged: {what}"),
/// };
/// assert_eq!(tell(saker::ScrubNews::Read(7)), "7 bytes so far");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubNews<'a> {
    /// Bytes read so far.
    Read(u64),
    /// Something is damaged: place and fault.
    Damage(&'a str),
}

/// Reads all there is of a device and checks it, at most so many bytes a second. `see` hears of what is read and of what is
/// damaged, and says whether to go on. Of an image every page is read from its file, also while a target serves it; of other
/// devices every pair and block of all namespaces, or of the one that the URL names, through the device.
///
/// # Errors
/// [`enum@Error`] when it cannot be read at all. Damage is no error.
///
/// ```
/// let rate = Some(100 << 20);
/// let scrubbed = saker::scrub("mem:?size=4MiB&profile=tiny", rate, &mut |_| true)?;
/// assert!(scrubbed.is_whole && scrubbed.damaged == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scrub(
    url: &str,
    bytes_per_second: Option<u64>,
    see: &mut dyn FnMut(ScrubNews<'_>) -> bool,
) -> Result<Scrubbed, Error> {
    let url = DeviceUrl::parse(url)?;
    let mut pass = Pass { pace: Pace::new(bytes_per_second), see, sound: 0, damaged: 0, stopped: false };
    let read = match &url.place {
        Backing::File(path) => pages(path, &mut pass)?,
        _ => pieces(&url, &mut pass)?,
    };
    Ok(Scrubbed {
        read,
        sound: pass.sound,
        damaged: pass.damaged,
        bytes: pass.pace.bytes,
        is_whole: !pass.stopped,
    })
}

fn pages(path: &Path, pass: &mut Pass<'_>) -> Result<&'static str, Error> {
    image::scrub(path, &mut |step| match step {
        image::ScrubStep::Sound(bytes) => pass.sound(bytes),
        image::ScrubStep::Damage(what) => pass.damage(what),
    })?;
    Ok("pages")
}

/// Ends a walk.
enum Stop {
    Asked,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn pieces(url: &DeviceUrl, pass: &mut Pass<'_>) -> Result<&'static str, Error> {
    for (nsid, is_kv) in namespaces(url)? {
        let url = DeviceUrl { nsid: Some(nsid), ..url.clone() };
        let mut losses = Losses::default();
        let mut see = |piece: Piece<'_>| {
            let bytes = match piece {
                Piece::Pair(key, value) => key.len() + value.len(),
                Piece::Blocks(_, bytes) => bytes.len(),
            };
            if pass.sound(bytes as u64) { Ok(()) } else { Err(Stop::Asked) }
        };
        let walked = match is_kv {
            true => read_pairs(&mut Kv::open_url(&url)?, &mut losses, &mut see),
            false => read_blocks(&mut Block::open_url(&url)?, &mut losses, &mut see),
        };
        for lost in &losses.lost {
            pass.damage(&told(nsid, lost));
        }
        match walked {
            Ok(()) if !pass.stopped => {}
            Ok(()) | Err(Stop::Asked) => break,
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    Ok("pairs and blocks")
}

fn told(nsid: u32, lost: &Lost) -> String {
    match lost {
        Lost::Pair(key) => format!("namespace {nsid}: the pair `{}` cannot be read", key.escape_ascii()),
        Lost::LongKeys(under) => {
            format!("namespace {nsid}: long keys under {} cannot be read", under.escape_ascii())
        }
        Lost::Block(number) => format!("namespace {nsid}: block {number} cannot be read"),
        Lost::Listing(Some(key)) => {
            format!("namespace {nsid}: keys behind `{}` cannot be listed", key.escape_ascii())
        }
        Lost::Listing(None) => format!("namespace {nsid}: keys cannot be listed"),
    }
}

/// The namespaces of a URL, each with whether it is one of pairs.
pub(crate) fn namespaces(url: &DeviceUrl) -> Result<Vec<(u32, bool)>, Error> {
    let mut opened = Opened::open(url)?;
    let mut there = Vec::new();
    for nsid in opened.connection.identify_active_namespaces(&mut opened.driver)? {
        let set = opened.connection.identify_command_set(&mut opened.driver, nsid)?;
        there.push((nsid, set == Some(csi::KV)));
    }
    crate::device::close(opened.driver)?;
    let Some(nsid) = url.nsid else { return Ok(there) };
    let names: Vec<_> = there.iter().map(|(nsid, _)| nsid.to_string()).collect();
    there.retain(|(other, _)| *other == nsid);
    if there.is_empty() { Err(Error::Missing { nsid, there: names.join(", ") }) } else { Ok(there) }
}

/// A scrub on its way.
struct Pass<'a> {
    pace: Pace,
    see: &'a mut dyn FnMut(ScrubNews<'_>) -> bool,
    sound: u64,
    damaged: u64,
    stopped: bool,
}

impl Pass<'_> {
    /// Whether to go on.
    fn sound(&mut self, bytes: u64) -> bool {
        self.sound += 1;
        self.pace.bytes += bytes;
        self.tell(None);
        while let Some(rest) = self.pace.ahead().filter(|_| !self.stopped) {
            std::thread::sleep(rest.min(NAP));
            self.tell(None);
        }
        !self.stopped
    }

    fn damage(&mut self, what: &str) -> bool {
        self.damaged += 1;
        self.tell(Some(what));
        !self.stopped
    }

    fn tell(&mut self, damage: Option<&str>) {
        let news = damage.map_or(ScrubNews::Read(self.pace.bytes), ScrubNews::Damage);
        self.stopped |= !(self.see)(news);
    }
}

/// Keeps to a rate.
struct Pace {
    bytes_per_second: Option<u64>,
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn new(bytes_per_second: Option<u64>) -> Self {
        Self { bytes_per_second, since: Instant::now(), bytes: 0 }
    }

    /// How much too early it is.
    fn ahead(&self) -> Option<Duration> {
        let rate = self.bytes_per_second?.max(1);
        let due = Duration::from_secs_f64(self.bytes as f64 / rate as f64);
        due.checked_sub(self.since.elapsed()).filter(|rest| !rest.is_zero())
    }
}
