// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts that the target refuses before the device has them: data that is too short or too long or none, and a host that may not write any more. The
//! transaction has ended, whatever comes behind: no commit carries out a part of what was wanted.

use saker_nvme::Status;
use saker_nvme::group::{Ask, Op, SplitAction, SplitCommand, SplitOutcome, ToAsk, TransactionId, pack_part};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{HostRules, Server};

use super::split_owners::{BEGINS, COMMITS, Controller, DONE, MORE, NO_SUCH, NSID};
use super::splits::{ENGINES, device, id};
use super::support::{config, open, serve};

/// A part whose data is as long as it is given.
fn spoilt(mine: &mut Controller, id: TransactionId, (begins, commits): (bool, bool), data: Data) -> Status {
    let entry: ToAsk<'_> = (Ask::Op(Op::Store), b"spoilt", b"never");
    let bytes = match &data {
        Data::Send(data) if data.len() > 1 << 20 => data.len() as u32,
        _ => pack_part([entry].into_iter()).expect("a good key").len() as u32,
    };
    let command = SplitCommand::Part { id, bytes, begins, commits };
    mine.io.execute(command.encode(NSID), data).cqe.status()
}

/// What is wrong with the data of a part.
fn wrong() -> [(&'static str, Data); 4] {
    [
        ("none", Data::None),
        ("too short", Data::Send(vec![0; 8])),
        ("more than a command may bring", Data::Send(vec![0; (2 << 20) + 4])),
        ("much more", Data::Send(vec![0; 5 << 20])),
    ]
}

#[test]
fn one_without_its_data_ends() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let mut mine = Controller::of(&server);
        let mut number = 0;
        for (what, data) in wrong() {
            for flags in [BEGINS, MORE, COMMITS, (true, true)] {
                number += 1;
                let id = id(1, number);
                assert_eq!(mine.part(id, BEGINS, b"before", b"1"), Ok(1), "{engine}, {what}");
                let told = spoilt(&mut mine, id, flags, data.clone());
                let expected = [Status::INVALID_FIELD, Status::DATA_SGL_LENGTH_INVALID];
                assert!(expected.iter().any(|status| told.is(*status)), "{engine}, {what}: {told}");
                match number % 3 {
                    0 => assert_eq!(mine.control(id, SplitAction::Commit), NO_SUCH, "{engine}, {what}"),
                    1 => assert_eq!(mine.part(id, COMMITS, b"behind", b"1"), NO_SUCH, "{engine}, {what}"),
                    _ => assert_eq!(mine.part(id, MORE, b"behind", b"1"), NO_SUCH, "{engine}, {what}"),
                }
                let outcome = mine.control(id, SplitAction::Outcome);
                assert_eq!(outcome, Ok(SplitOutcome::NotDone as u32), "{engine}, {what}");
            }
        }
        let mut kv = open(&server, "");
        assert_eq!(
            [&b"before"[..], b"behind", b"spoilt"].map(|key| kv.get(key)),
            [Ok(None), Ok(None), Ok(None)]
        );
        server.stop().expect("stops");
    }
}

/// It may begin anew at once, and that is another one.
#[test]
fn it_begins_anew() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let mut mine = Controller::of(&server);
        for number in 1..=50 {
            let id = id(1, number);
            assert_eq!(mine.part(id, BEGINS, b"old", b"1"), Ok(1), "{engine}");
            assert!(!spoilt(&mut mine, id, MORE, Data::None).is_success());
            assert_eq!(mine.part(id, BEGINS, b"new", &[number as u8]), Ok(1), "{engine}");
            assert_eq!(mine.part(id, MORE, b"more", b"1"), Ok(2), "{engine}, {number}");
            assert_eq!(mine.control(id, SplitAction::Commit), DONE, "{engine}, {number}");
        }
        let mut kv = open(&server, "");
        assert_eq!((kv.get(b"old"), kv.get(b"new")), (Ok(None), Ok(Some(vec![50]))), "{engine}");
        server.stop().expect("stops: nothing counts as on its way");
    }
}

/// What one controller does wrong ends nothing of another's.
#[test]
fn anothers_goes_on() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let (mut mine, mut other) = (Controller::of(&server), Controller::of(&server));
        assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1), "{engine}");
        for (what, data) in wrong() {
            for flags in [BEGINS, MORE, COMMITS] {
                assert!(!spoilt(&mut other, id(1, 1), flags, data.clone()).is_success(), "{what}");
            }
        }
        assert_eq!(mine.part(id(1, 1), COMMITS, b"two", b"2"), DONE, "{engine}");
    }
}

fn rules(server: &Server, read_only: bool, first: &saker_tcp::ServerConfig) {
    let rules = HostRules {
        nqn: "nqn.2014-08.org.example:raw".into(),
        read_only: Some(read_only),
        ..HostRules::default()
    };
    let config = saker_tcp::ServerConfig { host_rules: vec![rules], ..first.clone() };
    assert!(server.reload(&config).expect("sound").is_empty());
}

/// A host that may only read for a while has lost the part that it sent meanwhile.
#[test]
fn one_of_a_host_that_may_not_write_ends() {
    let first = config(&device("lsm"));
    let server = Server::start(first.clone()).expect("the server starts");
    rules(&server, false, &first);
    let mut mine = Controller::of(&server);
    for (number, action) in (1..).zip([None, Some(SplitAction::Commit), Some(SplitAction::Abort)]) {
        assert_eq!(mine.part(id(1, number), BEGINS, b"one", b"1"), Ok(1));
        rules(&server, true, &first);
        let told = match action {
            None => mine.part(id(1, number), MORE, b"two", b"2"),
            Some(action) => mine.control(id(1, number), action),
        };
        assert_eq!(told, Err(Status::NAMESPACE_WRITE_PROTECTED));
        rules(&server, false, &first);
        assert_eq!(mine.part(id(1, number), COMMITS, b"three", b"3"), NO_SUCH, "{action:?}");
    }
    let mut kv = open(&server, "");
    assert_eq!([&b"one"[..], b"two", b"three"].map(|key| kv.get(key)), [Ok(None), Ok(None), Ok(None)]);
}
