// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An operation on the tree, and its bytes in a record. All numbers are little-endian.
//!
//! | kind | operation | fields behind the kind (1 byte) |
//! |--:|---|---|
//! | 1 | create | parent 8, inode 8, time 8, name |
//! | 2 | make a directory | parent 8, inode 8, time 8, name |
//! | 3 | link | parent 8, inode 8, name |
//! | 4 | remove | parent 8, name |
//! | 5 | rename | parent 8, name, new parent 8, new name |
//! | 6 | set | inode 8, bytes 8, time 8, blocks kept 8, runs 4, and for each run start 8, blocks 8 |
//! | 7 | truncate | inode 8, bytes 8, time 8 |
//! | 8 | grow | as of 6, and between blocks kept and runs: from 8, CRC-32C of the file's bytes from there on 4 |
//! | 9 | follow | inode 8, from 8, generation 8, number 8, runs as of 6 |
//! | 10 | behind | CRC-32C of the operations of the passing record before this one 4 |
//!
//! A name is its length (1 byte) and its bytes, which are UTF-8.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of devices"
    )
)]

use crate::extent::Extent;
use crate::inode::InodeId;
use crate::path::is_name;
use crate::trailer::Follow;

/// What changes the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// An empty file gets a name.
    Create {
        /// Its directory.
        parent: InodeId,
        /// Its number, which nothing has.
        inode: InodeId,
        /// Microseconds since 1970.
        time: u64,
        /// Its name there.
        name: String,
    },
    /// An empty directory gets a name.
    MakeDirectory {
        /// The directory above.
        parent: InodeId,
        /// Its number, which nothing has.
        inode: InodeId,
        /// Microseconds since 1970.
        time: u64,
        /// Its name there.
        name: String,
    },
    /// A file gets one more name.
    Link {
        /// The directory of that name.
        parent: InodeId,
        /// The file.
        inode: InodeId,
        /// The name.
        name: String,
    },
    /// A name goes, and with a file's last one the file. A directory goes if it is empty.
    Remove {
        /// The directory.
        parent: InodeId,
        /// The name.
        name: String,
    },
    /// A name becomes another one, in place of what has that.
    Rename {
        /// The directory.
        parent: InodeId,
        /// The name.
        name: String,
        /// The directory afterwards.
        new_parent: InodeId,
        /// The name afterwards.
        new_name: String,
    },
    /// A file has this length, and these blocks behind the first `kept` of those that it had.
    Set {
        /// The file.
        inode: InodeId,
        /// Its length in bytes.
        bytes: u64,
        /// Microseconds since 1970.
        time: u64,
        /// Blocks that stay.
        kept: u64,
        /// The blocks behind them.
        runs: Vec<Extent>,
    },
    /// A file is shorter, and keeps the blocks that it needs.
    Truncate {
        /// The file.
        inode: InodeId,
        /// Its length in bytes.
        bytes: u64,
        /// Microseconds since 1970.
        time: u64,
    },
    /// As [`Self::Set`], before the bytes are durable: it counts only if the device has them.
    Grow {
        /// The file.
        inode: InodeId,
        /// Its length in bytes.
        bytes: u64,
        /// Microseconds since 1970.
        time: u64,
        /// Blocks that stay.
        kept: u64,
        /// The first byte that no operation before this one names.
        from: u64,
        /// CRC-32C of the bytes from there on.
        crc: u32,
        /// The blocks behind those that stay.
        runs: Vec<Extent>,
    },
    /// From here on trailers may say that a file is longer, if no operation follows ([`crate::trailer`]).
    Follow {
        /// Of which file, and where its bytes begin.
        follow: Follow,
        /// Blocks ahead of those that it has.
        runs: Vec<Extent>,
    },
    /// The first of a passing record: it counts only behind one with these operations. That one grew, and a cut may have left it as it was.
    Behind {
        /// CRC-32C of all its operations.
        crc: u32,
    },
}

/// Bytes of an operation of a checkpoint beside its name and runs, at most.
pub const OP_BYTES: usize = 48;
/// Bytes of a run.
pub const RUN_BYTES: usize = 16;

fn put_name(out: &mut Vec<u8>, name: &str) {
    assert!(is_name(name), "only names are recorded");
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
}

fn put_numbers(out: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    out.push(kind);
    numbers.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
}

fn put_runs(out: &mut Vec<u8>, runs: &[Extent]) {
    out.extend_from_slice(&(runs.len() as u32).to_le_bytes());
    for run in runs {
        out.extend_from_slice(&run.start.to_le_bytes());
        out.extend_from_slice(&run.blocks.to_le_bytes());
    }
}

impl Op {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Create { parent, inode, time, name } => {
                put_numbers(out, 1, &[parent.0, inode.0, *time]);
                put_name(out, name);
            }
            Self::MakeDirectory { parent, inode, time, name } => {
                put_numbers(out, 2, &[parent.0, inode.0, *time]);
                put_name(out, name);
            }
            Self::Link { parent, inode, name } => {
                put_numbers(out, 3, &[parent.0, inode.0]);
                put_name(out, name);
            }
            Self::Remove { parent, name } => {
                put_numbers(out, 4, &[parent.0]);
                put_name(out, name);
            }
            Self::Rename { parent, name, new_parent, new_name } => {
                put_numbers(out, 5, &[parent.0]);
                put_name(out, name);
                out.extend_from_slice(&new_parent.0.to_le_bytes());
                put_name(out, new_name);
            }
            Self::Set { inode, bytes, time, kept, runs } => {
                put_numbers(out, 6, &[inode.0, *bytes, *time, *kept]);
                put_runs(out, runs);
            }
            Self::Grow { inode, bytes, time, kept, from, crc, runs } => {
                put_numbers(out, 8, &[inode.0, *bytes, *time, *kept, *from]);
                out.extend_from_slice(&crc.to_le_bytes());
                put_runs(out, runs);
            }
            Self::Truncate { inode, bytes, time } => put_numbers(out, 7, &[inode.0, *bytes, *time]),
            Self::Follow { follow: Follow { inode, from, generation, number }, runs } => {
                put_numbers(out, 9, &[inode.0, *from, *generation, *number]);
                put_runs(out, runs);
            }
            Self::Behind { crc } => {
                out.push(10);
                out.extend_from_slice(&crc.to_le_bytes());
            }
        }
    }

    /// The next operation of a record. `None`: these are not the bytes of one.
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let op = match from.byte()? {
            1 => {
                let (parent, inode, time) = (from.inode()?, from.inode()?, from.number()?);
                Self::Create { parent, inode, time, name: from.name()? }
            }
            2 => {
                let (parent, inode, time) = (from.inode()?, from.inode()?, from.number()?);
                Self::MakeDirectory { parent, inode, time, name: from.name()? }
            }
            3 => Self::Link { parent: from.inode()?, inode: from.inode()?, name: from.name()? },
            4 => Self::Remove { parent: from.inode()?, name: from.name()? },
            5 => Self::Rename {
                parent: from.inode()?,
                name: from.name()?,
                new_parent: from.inode()?,
                new_name: from.name()?,
            },
            6 => Self::Set {
                inode: from.inode()?,
                bytes: from.number()?,
                time: from.number()?,
                kept: from.number()?,
                runs: from.runs()?,
            },
            7 => Self::Truncate { inode: from.inode()?, bytes: from.number()?, time: from.number()? },
            8 => Self::Grow {
                inode: from.inode()?,
                bytes: from.number()?,
                time: from.number()?,
                kept: from.number()?,
                from: from.number()?,
                crc: from.word()?,
                runs: from.runs()?,
            },
            9 => {
                let (inode, at, generation) = (from.inode()?, from.number()?, from.number()?);
                let follow = Follow { inode, from: at, generation, number: from.number()? };
                Self::Follow { follow, runs: from.runs()? }
            }
            10 => Self::Behind { crc: from.word()? },
            _ => return None,
        };
        *bytes = from.0;
        Some(op)
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn inode(&mut self) -> Option<InodeId> {
        self.number().map(InodeId)
    }

    fn name(&mut self) -> Option<String> {
        let bytes = usize::from(self.byte()?);
        let name = std::str::from_utf8(self.take(bytes)?).ok()?;
        is_name(name).then(|| name.to_owned())
    }

    /// Each run is looked at before room is made for it, so that a forged count costs nothing.
    fn runs(&mut self) -> Option<Vec<Extent>> {
        let count = self.word()?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let (start, blocks) = (self.number()?, self.number()?);
            start.checked_add(blocks).filter(|_| blocks > 0)?;
            runs.push(Extent { start, blocks });
        }
        Some(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Op> {
        let (parent, inode, time, name) = (InodeId(1), InodeId(7), 9, "000001.log".to_owned());
        let runs = vec![Extent { start: 300, blocks: 2 }, Extent { start: 9, blocks: 1 }];
        vec![
            Op::Create { parent, inode, time, name: name.clone() },
            Op::MakeDirectory { parent, inode, time, name: "é".into() },
            Op::Link { parent, inode, name: name.clone() },
            Op::Remove { parent, name: name.clone() },
            Op::Rename { parent, name, new_parent: InodeId(2), new_name: "x".repeat(255) },
            Op::Set { inode, bytes: 5000, time, kept: 3, runs: runs.clone() },
            Op::Grow { inode, bytes: 5000, time, kept: 3, from: 1700, crc: 77, runs },
            Op::Truncate { inode, bytes: 1, time },
            Op::Follow { follow: Follow { inode, from: 5000, generation: 3, number: 4 }, runs: Vec::new() },
            Op::Behind { crc: 7 },
        ]
    }

    #[test]
    fn bytes_are_these() {
        let mut out = Vec::new();
        let op = Op::Set {
            inode: InodeId(2),
            bytes: 3,
            time: 4,
            kept: 5,
            runs: vec![Extent { start: 6, blocks: 7 }],
        };
        op.encode(&mut out);
        let numbers = [2_u64, 3, 4, 5].map(u64::to_le_bytes).concat();
        let runs = [6_u64, 7].map(u64::to_le_bytes).concat();
        assert_eq!(out, [&[6][..], &numbers, &[1, 0, 0, 0], &runs].concat());
        out.clear();
        Op::Remove { parent: InodeId(1), name: "ab".into() }.encode(&mut out);
        assert_eq!(out, [4, 1, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b']);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        all().iter().for_each(|op| op.encode(&mut bytes));
        let mut rest = &bytes[..];
        let read: Vec<Op> = std::iter::from_fn(|| Op::decode(&mut rest)).collect();
        assert_eq!((read, rest.len()), (all(), 0));
    }

    #[test]
    fn no_prefix_of_an_operation_is_one() {
        for op in all() {
            let mut bytes = Vec::new();
            op.encode(&mut bytes);
            (0..bytes.len()).for_each(|n| assert_eq!(Op::decode(&mut &bytes[..n]), None, "{op:?} {n}"));
        }
    }

    #[test]
    fn a_forged_count_makes_no_room() {
        let mut bytes = Vec::new();
        put_numbers(&mut bytes, 6, &[1, 2, 3, 4]);
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Op::decode(&mut &bytes[..]), None);
    }
}
