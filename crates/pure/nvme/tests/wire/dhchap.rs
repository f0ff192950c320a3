// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages and commands of authentication: their bytes, and what is refused.

use saker_nvme::Status;
use saker_nvme::fabrics::dhchap::{
    Challenge, Explanation, Failure, GroupId, HashId, Negotiate, Reply, Success1, Success2, auth_id, kind_of,
};
use saker_nvme::fabrics::{AuthCommand, AuthDirection, FabricsCommand};
use zerocopy::IntoBytes;

use crate::golden::{assert_image, image};

#[test]
fn commands_golden() {
    for (direction, fctype) in [(AuthDirection::Send, 5), (AuthDirection::Receive, 6)] {
        let command = AuthCommand { direction, bytes: 0x0102 };
        let mut sqe = command.encode();
        let runs: [(usize, &[u8]); 4] =
            [(0, &[0x7F, 0x40]), (4, &[fctype]), (41, &[1, 1, 0xE9]), (44, &[2, 1])];
        assert_image(sqe.as_bytes(), &runs);
        assert_eq!(FabricsCommand::decode(&sqe), Ok(FabricsCommand::Authenticate(command)));
        for (cdw10, bytes) in [(0xE801_0100, 1), (0xE902_0100, 1), (0xE901_0000, 1), (0xE901_0100, 0)] {
            (sqe.cdw10, sqe.cdw11) = (u32::into(cdw10), u32::into(bytes));
            assert_eq!(FabricsCommand::decode(&sqe), Err(Status::INVALID_FIELD));
        }
    }
}

#[test]
fn negotiate_golden() {
    let message = Negotiate {
        transaction: 0x1234,
        secure_channel: 0,
        hashes: HashId::ALL.into(),
        groups: GroupId::ALL.into(),
    };
    let runs: [(usize, &[u8]); 4] =
        [(4, &[0x34, 0x12, 0, 1]), (8, &[1, 0, 3, 6]), (12, &[1, 2, 3]), (42, &[0, 1, 2, 3, 4, 5])];
    assert_eq!(message.encode(), image(72, &runs));
    assert_eq!(Negotiate::parse(&message.encode()), Ok(message));
}

/// Offset, value, explanation.
const NOT_NEGOTIATED: [(usize, u8, Explanation); 14] = [
    (0, 1, Explanation::IncorrectMessage),
    (1, 1, Explanation::IncorrectMessage),
    (2, 1, Explanation::IncorrectPayload),
    (7, 0, Explanation::NotUsable),
    (7, 2, Explanation::NotUsable),
    (8, 2, Explanation::NotUsable),
    (9, 1, Explanation::IncorrectPayload),
    (10, 0, Explanation::HashUnusable),
    (10, 2, Explanation::HashUnusable),
    (10, 31, Explanation::HashUnusable),
    (12, 2, Explanation::HashUnusable),
    (14, 9, Explanation::HashUnusable),
    (11, 7, Explanation::GroupUnusable),
    (43, 6, Explanation::GroupUnusable),
];

#[test]
fn negotiate_is_read_strictly() {
    let sound = Negotiate {
        transaction: 1,
        secure_channel: 0,
        hashes: HashId::ALL.into(),
        groups: GroupId::ALL.into(),
    }
    .encode();
    for (at, value, explanation) in NOT_NEGOTIATED {
        let mut message = sound.clone();
        message[at] = value;
        assert_eq!(Negotiate::parse(&message), Err(explanation), "byte {at}");
    }
    for length in 0..sound.len() {
        assert!(Negotiate::parse(&sound[..length]).is_err());
    }
    assert_eq!(Negotiate::parse(&[&sound[..], &[0]].concat()), Err(Explanation::IncorrectPayload));
}

#[test]
fn challenge_golden() {
    let message = Challenge {
        transaction: 0x1234,
        hash: HashId::Sha384,
        group: GroupId::Ffdhe2048,
        sequence: 0x0403_0201,
        challenge: vec![0xAA; 48],
        public: vec![0xBB; 256],
    };
    let runs: [(usize, &[u8]); 4] = [
        (0, &[1, 1, 0, 0, 0x34, 0x12, 48, 0, 2, 1, 0, 1]),
        (12, &[1, 2, 3, 4]),
        (16, &[0xAA; 48]),
        (64, &[0xBB; 256]),
    ];
    assert_eq!(message.encode(), image(320, &runs));
    // A controller fills the room of the host.
    assert_eq!(Challenge::parse(&[message.encode(), vec![0; 99]].concat()), Ok(message.clone()));
    for (at, value, explanation) in [
        (6, 32, Explanation::HashUnusable),
        (7, 1, Explanation::IncorrectPayload),
        (8, 0, Explanation::HashUnusable),
        (9, 0, Explanation::GroupUnusable),
        (9, 6, Explanation::GroupUnusable),
        (11, 2, Explanation::GroupUnusable),
    ] {
        let mut changed = message.encode();
        changed[at] = value;
        assert_eq!(Challenge::parse(&changed), Err(explanation), "byte {at}");
    }
    assert_eq!(Challenge::parse(&message.encode()[..319]), Err(Explanation::IncorrectPayload));
}

#[test]
fn reply_golden() {
    let mutual = Reply {
        transaction: 0x1234,
        response: vec![0xCC; 32],
        challenge: Some((0x0807_0605, vec![0xDD; 32])),
        public: Vec::new(),
    };
    let one_way = Reply { challenge: None, ..mutual.clone() };
    let runs: [(usize, &[u8]); 3] =
        [(0, &[1, 2, 0, 0, 0x34, 0x12, 32, 0, 1, 0, 0, 0, 5, 6, 7, 8]), (16, &[0xCC; 32]), (48, &[0xDD; 32])];
    assert_eq!(mutual.encode(), image(80, &runs));
    assert_eq!(one_way.encode(), image(80, &[(0, &[1, 2, 0, 0, 0x34, 0x12, 32]), (16, &[0xCC; 32])]));
    let parse = |message: &[u8]| Reply::parse(message, HashId::Sha256, GroupId::Null);
    assert_eq!(parse(&mutual.encode()), Ok(mutual.clone()));
    assert_eq!(parse(&one_way.encode()), Ok(one_way.clone()));
    // As Linux sends it: a sequence number that means nothing.
    let mut linux = one_way.encode();
    linux[12] = 9;
    assert_eq!(parse(&linux), Ok(one_way.clone()));
    for (sound, at, value) in [
        (&mutual, 6, 48),
        (&mutual, 8, 0),
        (&mutual, 8, 2),
        (&mutual, 9, 1),
        (&mutual, 10, 1),
        (&one_way, 8, 1),
        (&one_way, 50, 1),
    ] {
        let mut changed = sound.encode();
        changed[at] = value;
        assert_eq!(parse(&changed), Err(Explanation::IncorrectPayload), "byte {at}");
    }
    assert!(parse(&[mutual.encode(), vec![0]].concat()).is_err() && parse(&mutual.encode()[..79]).is_err());
}

#[test]
fn success_golden() {
    let mutual = Success1 { transaction: 0x1234, hash: HashId::Sha512, response: Some(vec![0xEE; 64]) };
    let runs: [(usize, &[u8]); 2] = [(0, &[1, 3, 0, 0, 0x34, 0x12, 64, 0, 1]), (16, &[0xEE; 64])];
    assert_eq!(mutual.encode(), image(80, &runs));
    assert_eq!(Success1::parse(&mutual.encode(), HashId::Sha512), Ok(mutual.clone()));
    let one_way = Success1 { response: None, ..mutual.clone() };
    assert_eq!(one_way.encode(), image(16, &[(0, &[1, 3, 0, 0, 0x34, 0x12, 64])]));
    assert_eq!(Success1::parse(&one_way.encode(), HashId::Sha512), Ok(one_way));
    assert_eq!(Success1::parse(&mutual.encode(), HashId::Sha256), Err(Explanation::HashUnusable));
    assert_eq!(Success1::parse(&mutual.encode()[..79], HashId::Sha512), Err(Explanation::IncorrectPayload));
    let last = Success2 { transaction: 0x1234 };
    assert_eq!(last.encode(), image(16, &[(0, &[1, 4, 0, 0, 0x34, 0x12])]));
    assert_eq!(Success2::parse(&last.encode()), Ok(last));
    for at in (6..16).chain([2, 3]) {
        let mut changed = last.encode();
        changed[at] = 1;
        assert_eq!(Success2::parse(&changed), Err(Explanation::IncorrectPayload), "byte {at}");
    }
}

#[test]
fn failures_golden() {
    let failure = Failure { transaction: 0x1234, explanation: Explanation::GroupUnusable };
    for id in [auth_id::FAILURE1, auth_id::FAILURE2] {
        let message = failure.encode(id);
        assert_eq!(message, [0, id, 0, 0, 0x34, 0x12, 1, 5]);
        assert_eq!(Failure::parse(&message, id), Ok(failure));
        assert_eq!(kind_of(&message), Some((0, id)));
    }
    let unknown = [0, auth_id::FAILURE1, 0, 0, 0x34, 0x12, 1, 99];
    assert_eq!(
        Failure::parse(&unknown, auth_id::FAILURE1).map(|told| told.explanation),
        Ok(Explanation::Failed)
    );
    assert_eq!(kind_of(&[1]), None);
}
