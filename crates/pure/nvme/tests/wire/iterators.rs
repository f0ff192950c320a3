// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterator commands: golden entries, round trips, and what is refused.

use crate::golden::image;
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange, NextAnswer, RangeParts};
use saker_nvme::{Key, NSID_ALL, Sqe, Status};
use zerocopy::IntoBytes;

fn commands() -> [IteratorCommand; 5] {
    [
        IteratorCommand::Open { keys_only: true, beside: Some(0x0A0B) },
        IteratorCommand::Next {
            iterator: 0x0C0D,
            buffer_bytes: 0x1234,
            pairs_max: 7,
            backwards: true,
            seek: Some(Key::new(b"ABCDEFGHIJ").expect("ten bytes")),
        },
        IteratorCommand::Next { iterator: 1, buffer_bytes: 4096, pairs_max: 0, backwards: false, seek: None },
        IteratorCommand::Close { iterator: 9 },
        IteratorCommand::Piece {
            iterator: 2,
            buffer_bytes: 0x10_0000,
            offset: 0x20_0010,
            backwards: false,
            seek: Some(Key::new(b"A").expect("one byte")),
        },
    ]
}

#[test]
fn golden_entries() {
    let [open, next, plain, close, piece] = commands().map(|command| command.encode(7));
    let expect = |fields: &[(usize, &[u8])]| image(64, &[&[(4, &[7][..])], fields].concat());
    assert_eq!(open.as_bytes(), expect(&[(0, &[0xD9]), (40, &[64]), (44, &[0b11]), (48, &[0x0B, 0x0A])]));
    let fields: &[(usize, &[u8])] = &[
        (0, &[0xDA]),
        (8, b"ABCDEFGH"),
        (40, &[0x34, 0x12]),
        (44, &[10, 1]),
        (48, &[0x0D, 0x0C]),
        (52, &[7]),
        (56, b"IJ"),
    ];
    assert_eq!(next.as_bytes(), expect(fields));
    assert_eq!(plain.as_bytes(), expect(&[(0, &[0xDA]), (41, &[0x10]), (48, &[1])]));
    assert_eq!(close.as_bytes(), expect(&[(0, &[0xE4]), (48, &[9])]));
    let fields: &[(usize, &[u8])] =
        &[(0, &[0xDA]), (8, b"A"), (42, &[0x10]), (44, &[1, 4]), (48, &[2]), (52, &[0x10, 0, 0x20])];
    assert_eq!(piece.as_bytes(), expect(fields));
    for command in commands() {
        assert_eq!(IteratorCommand::decode(&command.encode(7)), Ok(command));
        assert_eq!(IteratorCommand::decode(&command.encode(NSID_ALL)), Err(Status::INVALID_FIELD));
    }
}

#[test]
fn what_is_reserved_is_refused() {
    let refused = |command: &IteratorCommand, change: fn(&mut Sqe)| {
        let mut sqe = command.encode(1);
        change(&mut sqe);
        IteratorCommand::decode(&sqe)
    };
    let [open, next, _, close, _] = commands();
    for command in [open, next, close] {
        assert_eq!(refused(&command, |sqe| sqe.cdw11 = (1 << 9).into()), Err(Status::INVALID_FIELD));
        assert_eq!(refused(&command, |sqe| sqe.opcode = 0xE8), Err(Status::INVALID_OPCODE));
    }
    assert_eq!(refused(&open, |sqe| sqe.cdw10 = 63.into()), Err(Status::INVALID_FIELD));
    assert_eq!(refused(&next, |sqe| sqe.cdw11 = 17.into()), Err(Status::INVALID_FIELD), "KL above 16");
    assert_eq!(refused(&close, |sqe| sqe.cdw11 = 1.into()), Err(Status::INVALID_FIELD));
}

#[test]
fn golden_range() {
    let range = IteratorRange::new(b"ab", b"xyz", b"").expect("short");
    let bytes = image(64, &[(0, &[2, 3, 0]), (16, b"ab"), (32, b"xyz")]);
    assert_eq!(range.as_bytes(), bytes);
    assert_eq!(range.parts(), Ok(RangeParts { from: b"ab", to: b"xyz", prefix: b"" }));
    assert_eq!(IteratorRange::new(&[0; 17], b"", b""), None);
    let long = IteratorRange { prefix_bytes: 17, ..range };
    assert_eq!(long.parts(), Err(Status::INVALID_KEY_SIZE));
    let mut reserved = range;
    reserved.reserved_3[12] = 1;
    assert_eq!(reserved.parts(), Err(Status::INVALID_FIELD));
}

#[test]
fn the_answer_of_next() {
    let answer = NextAnswer::default().with_ended(true).with_bytes_needed(0x0123_4567);
    assert_eq!(answer.0, 0x8123_4567);
    assert!(answer.ended() && answer.bytes_needed() == 0x0123_4567);
}
