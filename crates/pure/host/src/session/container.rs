// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A container: writes on their way to the device in one command. Its memory is the payload of that command.

use std::num::NonZeroU32;

use saker_log::ensure;
use saker_nvme::Key;
use saker_nvme::group::{COUNT_BYTES, Form, Op, Packer, Refused, entry_bytes, padded};

use super::ticket::Ticket;

/// A write: a value, or `None` for a delete.
pub type Write<'a> = Option<&'a [u8]>;

/// The operation of a write.
#[inline]
pub(super) const fn op_of(write: Write<'_>) -> Op {
    if write.is_some() { Op::Store } else { Op::Delete }
}

/// Where a write is in the payload, and in the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Stripe of the index that has the key.
    pub stripe: u32,
    key_at: u32,
    value_at: u32,
    value_len: u32,
    key_len: u8,
    pub op: Op,
}

/// Writes of different keys, packed as a group's payload.
#[derive(Debug)]
pub(super) struct Container {
    /// Its name among the containers of its lane; names are not used again.
    pub id: NonZeroU32,
    form: Form,
    payload: Vec<u8>,
    bytes: usize,
    pieces: Vec<Piece>,
    /// Who waits for all of it.
    pub owner: Option<Ticket>,
    /// Who waits for one of its writes.
    pub waiting: Vec<(u16, Ticket)>,
}

impl Container {
    /// An empty container of `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            id: NonZeroU32::MIN,
            form: Form::All(Op::Store),
            payload: vec![0; capacity.max(COUNT_BYTES)],
            bytes: COUNT_BYTES,
            pieces: Vec::new(),
            owner: None,
            waiting: Vec::new(),
        }
    }

    /// A container that is just large enough for one write of any size.
    pub fn for_one(key: &Key, write: Write<'_>) -> Self {
        let value_bytes = write.map_or(0, <[u8]>::len);
        Self::new(COUNT_BYTES + entry_bytes(op_of(write), key.len(), value_bytes))
    }

    /// Empties it for its next use under another name.
    pub fn clear(&mut self, id: NonZeroU32) {
        debug_assert!(!self.is_awaited(), "who waits for its writes is told before it is used again");
        (self.id, self.form, self.bytes) = (id, Form::All(Op::Store), COUNT_BYTES);
        self.pieces.clear();
        self.waiting.clear();
        self.owner = None;
    }

    /// Adds a write of a key that is not in it; returns its number.
    ///
    /// # Errors
    /// [`Refused::Full`]: it does not fit. Nothing has changed.
    #[inline]
    pub fn push(&mut self, stripe: u32, key: &Key, write: Write<'_>) -> Result<u16, Refused> {
        let op = op_of(write);
        if self.form != Form::All(op) && self.form != Form::Mixed {
            self.change_form(op)?;
        }
        let (count, value) = (self.pieces.len(), write.unwrap_or_default());
        let piece = self.pack(stripe, op, key.as_bytes(), value)?;
        self.pieces.push(piece);
        Ok(count as u16)
    }

    #[inline]
    fn pack(&mut self, stripe: u32, op: Op, key: &[u8], value: &[u8]) -> Result<Piece, Refused> {
        let parts = (self.bytes, self.pieces.len() as u32);
        let mut packer = Packer::resume(self.form, &mut self.payload, parts).ok_or(Refused::Full)?;
        packer.push(op, key, value)?;
        debug_assert!(packer.parts() > parts, "what is packed lies behind what was");
        let key_at = self.bytes + self.form.lead_bytes() + saker_nvme::group::LENGTH_BYTES;
        self.bytes = packer.parts().0;
        Ok(Piece {
            stripe,
            key_at: key_at as u32,
            value_at: (self.bytes - padded(value.len())) as u32,
            value_len: value.len() as u32,
            key_len: key.len() as u8,
            op,
        })
    }

    /// Replaces write `n` by one of the same key.
    ///
    /// # Errors
    /// [`Refused::Full`]: it does not fit. Nothing has changed.
    pub fn replace(&mut self, n: u16, write: Write<'_>) -> Result<(), Refused> {
        let (n, op, value) = (usize::from(n), op_of(write), write.unwrap_or_default());
        let piece = self.pieces[n];
        if piece.op == op && piece.value_len as usize == value.len() {
            let at = piece.value_at as usize;
            self.payload[at..at + value.len()].copy_from_slice(value);
            return Ok(());
        }
        let others = |m: usize| m != n && self.pieces[m].op != op;
        let form = if (0..self.pieces.len()).any(others) { Form::Mixed } else { Form::All(op) };
        self.repack(form, Some((n, op, value)))
    }

    /// Makes room for entries of more than one type, or for the first entry.
    #[cold]
    fn change_form(&mut self, op: Op) -> Result<(), Refused> {
        if self.pieces.is_empty() {
            self.form = Form::All(op);
            return Ok(());
        }
        self.repack(Form::Mixed, None)
    }

    /// Packs everything again in `form`, with another value for one of the writes.
    #[cold]
    fn repack(&mut self, form: Form, other: Option<(usize, Op, &[u8])>) -> Result<(), Refused> {
        let mut new = Self::new(self.payload.len());
        new.form = form;
        for (n, piece) in self.pieces.iter().enumerate() {
            let (op, value) = match other {
                Some((m, op, value)) if m == n => (op, value),
                _ => (piece.op, self.value_bytes(piece)),
            };
            let packed = new.pack(piece.stripe, op, self.key_bytes(piece), value)?;
            new.pieces.push(packed);
        }
        (self.form, self.payload, self.bytes, self.pieces) = (form, new.payload, new.bytes, new.pieces);
        Ok(())
    }

    /// Whether anybody waits for it, or for one of its writes.
    pub fn is_awaited(&self) -> bool {
        self.owner.is_some() || !self.waiting.is_empty()
    }

    /// Says what contradicts itself, if anything does.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        let (bytes, capacity, mut end) = (self.bytes, self.payload.len(), COUNT_BYTES);
        ensure(bytes <= capacity, || format!("it holds {bytes} bytes of {capacity}"))?;
        for (n, piece) in self.pieces.iter().enumerate() {
            let (key_at, value_at) = (piece.key_at as usize, piece.value_at as usize);
            let key_end = key_at + usize::from(piece.key_len);
            let apart = end <= key_at && key_end <= value_at;
            end = value_at + piece.value_len as usize;
            let fits = self.form == Form::Mixed || self.form == Form::All(piece.op);
            ensure(apart && end <= bytes && fits, || {
                format!("write {n} is not where it was packed: {piece:?}")
            })?;
        }
        let beyond = self.waiting.iter().find(|(n, _)| usize::from(*n) >= self.pieces.len());
        ensure(beyond.is_none(), || format!("somebody waits for write {:?}", beyond.map(|(n, _)| n)))
    }

    /// Writes in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The payload and its form.
    pub fn payload(&mut self) -> (Form, &[u8]) {
        let parts = (self.bytes, self.pieces.len() as u32);
        if let Some(packer) = Packer::resume(self.form, &mut self.payload, parts) {
            packer.finish();
        }
        (self.form, &self.payload[..self.bytes])
    }

    /// Bytes of memory.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.payload.len()
    }

    #[inline]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    #[inline]
    fn key_bytes(&self, piece: &Piece) -> &[u8] {
        let at = piece.key_at as usize;
        &self.payload[at..at + usize::from(piece.key_len)]
    }

    #[inline]
    fn value_bytes(&self, piece: &Piece) -> &[u8] {
        let at = piece.value_at as usize;
        &self.payload[at..at + piece.value_len as usize]
    }

    /// Key of write `n`.
    pub fn key(&self, n: u16) -> Key {
        Key::new(self.key_bytes(&self.pieces[usize::from(n)])).expect("it was packed from a key")
    }

    /// Write `n`.
    #[inline]
    pub fn write(&self, n: u16) -> Write<'_> {
        let piece = &self.pieces[usize::from(n)];
        (piece.op == Op::Store).then(|| self.value_bytes(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_nvme::group::parse;

    fn key(n: u8) -> Key {
        Key::new(&[b'k', n]).expect("two bytes")
    }

    /// What a device would read from it.
    fn parsed(container: &mut Container) -> Vec<(Op, Vec<u8>, Vec<u8>)> {
        let (form, payload) = container.payload();
        let bytes = |range: std::ops::Range<u32>| payload[range.start as usize..range.end as usize].to_vec();
        let mut found = Vec::new();
        let visit = |e: saker_nvme::group::Entry| found.push((e.op, bytes(e.key), bytes(e.value)));
        parse(form, payload, visit).expect("a good payload");
        found
    }

    #[test]
    fn a_container_of_stores_is_a_store_group_by_hand() {
        let mut c = Container::new(64);
        assert_eq!(c.push(7, &key(1), Some(b"abc")).map_err(|_| ()), Ok(0));
        let (form, payload) = c.payload();
        assert_eq!(form, Form::All(Op::Store));
        assert_eq!(payload, b"\x01\0\0\0\x02\0\0\0k\x01\0\0\x03\0\0\0abc\0");
        assert_eq!((c.key(0), c.write(0)), (key(1), Some(&b"abc"[..])));
    }

    #[test]
    fn a_delete_makes_it_mixed_and_a_lone_delete_does_not() {
        let mut c = Container::new(256);
        c.push(0, &key(1), None).expect("room");
        assert_eq!(c.payload().0, Form::All(Op::Delete));
        c.push(0, &key(2), Some(b"v")).expect("room");
        assert_eq!(c.payload().0, Form::Mixed);
        let found = parsed(&mut c);
        assert_eq!(found[0], (Op::Delete, vec![b'k', 1], vec![]));
        assert_eq!(found[1], (Op::Store, vec![b'k', 2], b"v".to_vec()));
    }

    #[test]
    fn replacing_keeps_the_others_whatever_the_length() {
        let mut c = Container::new(256);
        for n in 0..3 {
            c.push(0, &key(n), Some(&[n; 5])).expect("room");
        }
        c.replace(1, Some(&[9; 30])).expect("room");
        c.replace(0, None).expect("room");
        c.replace(2, Some(&[8; 5])).expect("room");
        let found = parsed(&mut c);
        let values: Vec<_> = found.iter().map(|(op, _, value)| (*op, value.clone())).collect();
        let expected = [(Op::Delete, vec![]), (Op::Store, vec![9; 30]), (Op::Store, vec![8; 5])];
        assert_eq!(values, expected);
        assert_eq!((c.write(0), c.write(2)), (None, Some(&[8; 5][..])));
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut c = Container::new(4 + 12 + 8);
        c.push(0, &key(1), Some(b"12345")).expect("exactly room");
        assert_eq!(c.push(0, &key(2), Some(b"")), Err(Refused::Full));
        assert_eq!(c.replace(0, Some(b"123456789")), Err(Refused::Full));
        assert_eq!(parsed(&mut c), [(Op::Store, vec![b'k', 1], b"12345".to_vec())]);
    }

    #[test]
    fn a_container_for_one_takes_exactly_it() {
        let value = vec![3; 5000];
        let mut c = Container::for_one(&key(1), Some(&value));
        c.push(0, &key(1), Some(&value)).expect("made for it");
        assert_eq!(c.payload().1.len(), c.capacity());
    }

    /// Pairs that a container holds: its 4 KiB less the count, by entries of 4 + key + 4 + value bytes.
    #[test]
    fn the_capacity_limits_batches_of_large_values() {
        let mut found = Vec::new();
        for value_bytes in [16, 32, 64, 128, 256, 512, 1024, 2048, 4096] {
            let mut c = Container::new(4096);
            let value = vec![0; value_bytes];
            let mut n = 0u64;
            while c.push(0, &Key::new(&n.to_le_bytes()).expect("8 bytes"), Some(&value)).is_ok() {
                n += 1;
            }
            found.push(n);
        }
        assert_eq!(found, [127, 85, 51, 28, 15, 7, 3, 1, 0]);
    }
}
