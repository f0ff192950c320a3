// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controllers that use one ID at the same time, as a host does that connects anew before its old connection is seen to be gone: their
//! parts never become one transaction.

use saker_nvme::group::{Ask, Op, SplitAction, SplitCommand, SplitOutcome, ToAsk, TransactionId, pack_part};
use saker_nvme::{Key, Status};
use saker_nvme_tcp::initiator::Data;
use saker_sim::{Rng, Seed};
use saker_tcp::Server;

use super::raw::RawQueue;
use super::splits::{ENGINES, device, id};
use super::support::{count, open, serve};

pub const NSID: u32 = 1;
pub const DONE: Result<u32, Status> = Ok(SplitOutcome::Done as u32);
pub const DONE_BEFORE: Result<u32, Status> = Ok(SplitOutcome::DoneBefore as u32);
const OPEN: Result<u32, Status> = Ok(SplitOutcome::Open as u32);
pub const NO_SUCH: Result<u32, Status> = Err(Status::NO_SUCH_TRANSACTION);
pub const BEGINS: (bool, bool) = (true, false);
pub const MORE: (bool, bool) = (false, false);
pub const COMMITS: (bool, bool) = (false, true);

/// A controller with one queue.
pub struct Controller {
    pub admin: RawQueue,
    pub io: RawQueue,
    /// The namespace of its transactions.
    pub nsid: u32,
}

impl Controller {
    pub fn of(server: &Server) -> Self {
        Self::of_subsystem(server, 0)
    }

    pub fn of_subsystem(server: &Server, n: usize) -> Self {
        let (address, name) = (server.addresses()[0], &server.names()[n]);
        let (admin, cntlid) = RawQueue::admin(address, name);
        let (io, _) = RawQueue::connect(address, name, cntlid, (1, 32)).expect("a queue");
        Self { admin, io, nsid: NSID }
    }

    fn ask(&mut self, command: SplitCommand, data: Data) -> Result<u32, Status> {
        let answer = self.io.execute(command.encode(self.nsid), data).cqe;
        if answer.status().is_success() { Ok(answer.result_dw0()) } else { Err(answer.status()) }
    }

    /// A part that stores one pair.
    pub fn part(
        &mut self,
        id: TransactionId,
        (begins, commits): (bool, bool),
        key: &[u8],
        value: &[u8],
    ) -> Result<u32, Status> {
        let entry: ToAsk<'_> = (Ask::Op(Op::Store), key, value);
        let payload = pack_part([entry].into_iter()).expect("a good key");
        let bytes = payload.len() as u32;
        self.ask(SplitCommand::Part { id, bytes, begins, commits }, Data::Send(payload))
    }

    pub fn control(&mut self, id: TransactionId, action: SplitAction) -> Result<u32, Status> {
        self.ask(SplitCommand::Control { id, action }, Data::None)
    }
}

/// The controller that begins last has the transaction; what the other one has sent of it is forgotten, and it is told so.
#[test]
fn who_begins_last_has_it() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let (mut one, mut other) = (Controller::of(&server), Controller::of(&server));
        let id = id(1, 1);
        assert_eq!(one.part(id, BEGINS, b"one", b"1"), Ok(1), "{engine}");
        assert_eq!(other.part(id, BEGINS, b"other", b"2"), Ok(1), "{engine}: it begins anew");
        assert_eq!(one.part(id, MORE, b"one more", b"1"), NO_SUCH, "{engine}: no part of another's");
        assert_eq!(one.part(id, COMMITS, b"one more", b"1"), NO_SUCH, "{engine}");
        assert_eq!(one.control(id, SplitAction::Commit), NO_SUCH, "{engine}: nor does it commit that");
        assert_eq!(one.control(id, SplitAction::Abort), Ok(0), "{engine}: of its own there is none");
        assert_eq!(one.control(id, SplitAction::Outcome), OPEN, "{engine}");
        assert_eq!(other.part(id, MORE, b"other more", b"2"), Ok(2), "{engine}");
        assert_eq!(other.control(id, SplitAction::Commit), DONE, "{engine}");
        assert_eq!(one.control(id, SplitAction::Commit), DONE_BEFORE, "{engine}");
        assert_eq!(one.part(id, (true, true), b"one", b"1"), DONE_BEFORE, "{engine}: no second effect");
        // Begun again after it was carried out: whoever asks is told that, and not what is open.
        assert_eq!(other.part(id, BEGINS, b"other", b"3"), Ok(1), "{engine}");
        assert_eq!(one.control(id, SplitAction::Commit), DONE_BEFORE, "{engine}");
        assert_eq!(other.control(id, SplitAction::Commit), DONE_BEFORE, "{engine}");
        let mut kv = open(&server, "");
        let keys: [&[u8]; 4] = [b"one", b"one more", b"other", b"other more"];
        let found = keys.map(|key| kv.get(key).expect("reads"));
        assert_eq!(found, [None, None, Some(b"2".to_vec()), Some(b"2".to_vec())], "{engine}");
    }
}

/// A connection that goes takes along what it began, and not what another controller has begun since under the same ID.
#[test]
fn who_leaves_ends_its_own() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let (mut one, mut other) = (Controller::of(&server), Controller::of(&server));
        for number in 1..=8 {
            let id = id(1, number);
            assert_eq!(one.part(id, BEGINS, b"key", b"old"), Ok(1), "{engine}, {number}");
            assert_eq!(other.part(id, BEGINS, b"key", &[number as u8]), Ok(1), "{engine}, {number}");
            one = Controller::of(&server);
            // Behind what the target does when it sees that the connection is gone.
            std::thread::sleep(std::time::Duration::from_millis(5 * number));
            assert_eq!(other.part(id, MORE, b"more", &[number as u8]), Ok(2), "{engine}, {number}");
            assert_eq!(other.control(id, SplitAction::Commit), DONE, "{engine}, {number}");
        }
        let mut kv = open(&server, "");
        assert_eq!(kv.get(b"more").expect("reads"), Some(vec![8]), "{engine}");
    }
}

/// What a controller has sent of a transaction, by number, while it has that.
type Sent = std::collections::BTreeMap<u64, Vec<Vec<u8>>>;

/// Three controllers do anything to two IDs, by turns: a commit carries out what its controller has sent since it began, and nothing else.
#[test]
fn any_order_of_three() {
    for seed in saker_testing::seeds(count(200) as u64) {
        let engine = ENGINES[seed as usize % ENGINES.len()];
        let server = serve(&device(engine));
        let mut rng: Rng = Seed(seed).rng();
        let mut all: Vec<_> = (0..3).map(|_| (Controller::of(&server), Sent::new())).collect();
        let (mut kv, mut done, mut sent) = (open(&server, ""), std::collections::BTreeSet::new(), 0_u32);
        for step in 0..60 {
            let (n, number) = (rng.below(3) as usize, 1 + rng.below(2) + 10 * (step / 20));
            let (begins, commits) = (rng.below(3) == 0, rng.below(4) == 0);
            sent += 1;
            let key = [b"key ", &sent.to_be_bytes()[..]].concat();
            let (told, what) = match rng.below(5) {
                0 => (all[n].0.control(id(1, number), SplitAction::Commit), SplitAction::Commit),
                1 => (all[n].0.control(id(1, number), SplitAction::Abort), SplitAction::Abort),
                _ => {
                    let told = all[n].0.part(id(1, number), (begins, commits), &key, &[n as u8]);
                    if begins {
                        all.iter_mut().for_each(|(_, sent)| drop(sent.remove(&number)));
                        all[n].1.insert(number, Vec::new());
                    }
                    if let Some(keys) = all[n].1.get_mut(&number) {
                        keys.push(key);
                    } else {
                        assert_eq!(told, NO_SUCH, "seed {seed}, step {step}");
                        continue;
                    }
                    (told, if commits { SplitAction::Commit } else { SplitAction::Begin })
                }
            };
            let mine = match what {
                SplitAction::Begin => {
                    let entries = all[n].1[&number].len() as u32;
                    assert_eq!(told, Ok(entries), "seed {seed}, step {step}");
                    continue;
                }
                _ => all[n].1.remove(&number),
            };
            if what == SplitAction::Abort {
                assert_eq!(told, Ok(0), "seed {seed}, step {step}");
                continue;
            }
            let expected = match &mine {
                _ if done.contains(&number) => DONE_BEFORE,
                Some(_) => DONE,
                None => NO_SUCH,
            };
            assert_eq!(told, expected, "seed {seed}, step {step}, {number}");
            if expected == DONE {
                done.insert(number);
                for key in mine.expect("it was carried out") {
                    assert_eq!(kv.delete(&key), Ok(true), "seed {seed}, step {step}");
                }
            }
            assert_eq!(kv.list(None).count(), 0, "seed {seed}, step {step}: nothing of another's");
        }
    }
}

/// Controllers race for the same numbers: both pairs of a transaction are of one controller.
#[test]
fn two_at_the_same_time() {
    let server = serve(&device("hash_store"));
    let (rounds, mut ends) = (count(1000) as u64, [0; 2]);
    std::thread::scope(|scope| {
        let race = |n: u8| {
            let mut mine = Controller::of(&server);
            let mut ended = 0;
            for number in 1..=rounds {
                loop {
                    let began = mine.part(id(1, number), BEGINS, &key(b'a', number), &[n]);
                    assert_eq!(began, Ok(1));
                    match mine.part(id(1, number), COMMITS, &key(b'b', number), &[n]) {
                        DONE_BEFORE => break,
                        DONE => {
                            ended += 1;
                            break;
                        }
                        told => assert_eq!(told, NO_SUCH, "{number}"),
                    }
                }
            }
            ended
        };
        let threads = [0, 1].map(|n| scope.spawn(move || race(n)));
        ends = threads.map(|thread| thread.join().expect("it ends"));
    });
    assert_eq!(ends.iter().sum::<u64>(), rounds, "{ends:?}: each number was carried out once");
    let mut kv = open(&server, "");
    for number in 1..=rounds {
        let of =
            |kv: &mut saker::Kv, name| kv.get(&key(name, number)).expect("reads").expect("it was written");
        assert_eq!(of(&mut kv, b'a'), of(&mut kv, b'b'), "{number}");
    }
}

fn key(name: u8, number: u64) -> Vec<u8> {
    let key = [&[name][..], &number.to_be_bytes()].concat();
    Key::new(&key).expect("short").as_bytes().to_vec()
}
