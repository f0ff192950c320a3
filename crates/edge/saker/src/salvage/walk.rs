// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading all there is of a namespace, past what cannot be read.
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

use super::Losses;
use crate::block::Block;
use crate::error::Error;
use crate::kv::Kv;
use saker_host::{HostError, KvError};

/// Bytes of blocks that are read at once while they are sound.
const READ_BYTES: usize = 256 << 10;

/// Keys that are held at a time.
const KEYS_MAX: usize = 256;

/// Something sound.
///
/// ```
/// let describe = |piece: saker::Piece<'_>| match piece {
///     saker::Piece::Pair(key, value) => format!("{}: {} bytes", key.escape_ascii(), value.len()),
///     saker::Piece::Blocks(first, data) => format!("from block {first}: {} bytes", data.len()),
/// };
/// assert_eq!(describe(saker::Piece::Pair(b"key", b"value")), "key: 5 bytes");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// A pair.
    Pair(&'a [u8], &'a [u8]),
    /// Whole blocks from that one on, of which some byte is not zero.
    Blocks(u64, &'a [u8]),
}

/// Something that is lost.
///
/// ```
/// use saker::Lost;
/// let describe = |lost: &Lost| match lost {
///     Lost::Pair(key) => format!("the pair {}", key.escape_ascii()),
///     Lost::LongKeys(under) => format!("long keys under {}", under.escape_ascii()),
///     Lost::Block(number) => format!("block {number}"),
///     Lost::Listing(_) => "keys that nobody can name".to_owned(),
/// };
/// assert_eq!(describe(&Lost::Pair(b"key".to_vec())), "the pair key");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// The pair of a key.
    Pair(Vec<u8>),
    /// The pairs of all long keys that are kept under a key of the device.
    LongKeys(Vec<u8>),
    /// A block.
    Block(u64),
    /// The list of keys cannot be read on: behind that key, or from the beginning.
    Listing(Option<Vec<u8>>),
}

/// Whether an error says that what was asked for is damaged, and not that the device is gone.
fn is_damage(error: &HostError) -> bool {
    match error {
        HostError::Kv(KvError::Damaged) | HostError::Envelope { .. } => true,
        HostError::Status(status) => (status.sct(), status.sc()) == (2, 0x81),
        _ => false,
    }
}

pub(crate) fn pairs<E: From<Error>>(
    kv: &mut Kv,
    losses: &mut Losses,
    see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut from: Option<Vec<u8>> = None;
    kv.show_outcomes(true);
    loop {
        let Listed { keys, is_last } = keys(kv, from.as_deref(), losses)?;
        keys.iter().try_for_each(|key| pair(kv, key, losses, see))?;
        from = keys.into_iter().next_back();
        if is_last || from.is_none() {
            return Ok(());
        }
    }
}

fn pair<E: From<Error>>(
    kv: &mut Kv,
    key: &[u8],
    losses: &mut Losses,
    see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match kv.get(key) {
        Ok(Some(value)) => {
            losses.sound += 1;
            see(Piece::Pair(key, &value))?;
        }
        Ok(None) => {}
        Err(error) if is_damage(&error) => losses.lost.push(Lost::Pair(key.to_vec())),
        Err(error) => return Err(Error::from(error).into()),
    }
    Ok(())
}

/// Keys that follow each other in the device's order.
struct Listed {
    keys: Vec<Vec<u8>>,
    /// There are no more.
    is_last: bool,
}

/// Keys behind one, as many as are held at a time. What is damaged before the last of them is told once.
fn keys(kv: &mut Kv, behind: Option<&[u8]>, losses: &mut Losses) -> Result<Listed, Error> {
    let (mut keys, mut failed_at) = (Vec::new(), None);
    let mut list = kv.list(behind);
    while keys.len() < KEYS_MAX {
        match list.next() {
            None => return Ok(Listed { keys, is_last: true }),
            Some(Ok(key)) if behind == Some(&key[..]) => {}
            Some(Ok(key)) => keys.push(key),
            Some(Err(error)) if !is_damage(&error) => return Err(error.into()),
            Some(Err(_)) => {
                let place = list.place().map(|key| key.as_bytes().to_vec());
                let is_envelope = place.as_deref().is_some_and(saker_host::is_long_key_mark);
                if place == failed_at || !is_envelope {
                    losses.lost.push(Lost::Listing(keys.last().cloned()));
                    return Ok(Listed { keys, is_last: true });
                }
                losses.lost.extend(place.clone().map(Lost::LongKeys));
                failed_at = place;
            }
        }
    }
    Ok(Listed { keys, is_last: false })
}

pub(crate) fn blocks<E: From<Error>>(
    disk: &mut Block,
    losses: &mut Losses,
    see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let block_bytes = disk.block_bytes() as usize;
    let at_once = (READ_BYTES / block_bytes).max(1) as u64;
    let mut buffer = vec![0; at_once as usize * block_bytes];
    let mut first = 0;
    while first < disk.blocks() {
        let count = at_once.min(disk.blocks() - first);
        buffer.truncate(count as usize * block_bytes);
        match disk.read(first, &mut buffer) {
            Ok(()) => show(first, &buffer, block_bytes, losses, see)?,
            Err(_) => singly(disk, first, count, losses, see)?,
        }
        first += count;
    }
    Ok(())
}

fn singly<E: From<Error>>(
    disk: &mut Block,
    first: u64,
    count: u64,
    losses: &mut Losses,
    see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut block = vec![0; disk.block_bytes() as usize];
    for lba in first..first + count {
        match disk.read(lba, &mut block) {
            Ok(()) => show(lba, &block, block.len(), losses, see)?,
            Err(Error::Host(error)) if is_damage(&error) => losses.lost.push(Lost::Block(lba)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn show<E>(
    first: u64,
    bytes: &[u8],
    block_bytes: usize,
    losses: &mut Losses,
    see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for (lba, block) in (first..).zip(bytes.chunks_exact(block_bytes)) {
        if !saker_segment_store::is_zero(block) {
            losses.sound += 1;
            see(Piece::Blocks(lba, block))?;
        }
    }
    Ok(())
}
