// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists of a lane of DiskKV: the keys, the values and the times of a client that lists keys and reads each of them.

use saker_assembly::{Build, port};
use saker_device::EngineKind;
use saker_host::{ClientOptions, ConnectOptions, Connection, KvClient, Patience, TransferOptions};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_sim::Seed;
use saker_store::{KvStore, Op, Outcome};
use saker_testing::{seeds, tier};
use saker_world::{Alone, Clocked, DiskStore, Job};

const PATIENCE: Patience = Patience { polls_max: 1_000_000 };
/// Pairs: more than a page of keys has.
const PAIRS: u64 = 700;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The same pairs behind a client and behind a lane.
struct Both {
    client: KvClient<Clocked>,
    lane: Alone<DiskStore<Clocked>>,
}

impl Both {
    fn new(engine: EngineKind, seed: u64) -> Self {
        let profile = Profile::builtin("tiny").expect("built in");
        let build = Build::kv(&profile, 32 << 20, seed).expect("large enough").with_engine(engine);
        let host = build.attach(1, 4);
        let mut device = Clocked(build.timed(host.clone()));
        let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
        let options = ClientOptions { depth: 4, patience: PATIENCE, ..ClientOptions::default() };
        let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
        let transfer = TransferOptions::default();
        let like = Job { threads: 1, depth: 4, operations: Vec::new(), flush: false, transfer };
        let store = DiskStore::timed(&build, &[like], None).expect("opens");
        assert!(store.capabilities().contains(&"list"), "{engine:?}");
        Self { client, lane: Alone::new(store).expect("a lane") }
    }

    fn put(&mut self, key: &Key, value: Vec<u8>) {
        self.client.put(key, &value).expect("stored");
        let put = Op::Put(key.as_bytes().to_vec(), value);
        let ended = self.lane.carry_out(&put, |outcome| outcome == Outcome::DONE);
        assert_eq!(ended.expect("sound"), Ok(true));
    }

    fn delete(&mut self, key: &Key) {
        self.client.delete(key).expect("deleted");
        let delete = Op::Delete(key.as_bytes().to_vec());
        let ended = self.lane.carry_out(&delete, |outcome| outcome == Outcome::DONE);
        assert_eq!(ended.expect("sound"), Ok(true));
    }

    /// What a client finds, and how long that took.
    fn by_client(&mut self, from: Option<Key>, entries: usize, values: bool) -> (Pairs, u64) {
        let begun = self.client.driver_mut().0.now();
        let keys: Result<Vec<_>, _> = self.client.list(from).take(entries).collect();
        let mut pairs = Vec::new();
        for key in keys.expect("listed") {
            let value =
                if values { self.client.get(&key).expect("read").expect("there") } else { Vec::new() };
            pairs.push((key.as_bytes().to_vec(), value));
        }
        (pairs, self.client.driver_mut().0.now().since(begun).as_nanos())
    }

    fn by_lane(&mut self, from: Option<Key>, entries: usize, values: bool) -> (Pairs, u64) {
        let from = from.map_or(Vec::new(), |from| from.as_bytes().to_vec());
        let list = Op::List { from, entries: entries as u32, values };
        let begun = self.lane.now();
        let own = |outcome: Outcome<'_>| match outcome {
            Outcome::Pairs { .. } => {
                outcome.pairs().into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
            }
            other => panic!("{other:?}"),
        };
        let pairs: Pairs = self.lane.carry_out(&list, own).expect("sound").expect("taken");
        (pairs, self.lane.now().since(begun).as_nanos())
    }
}

fn key(n: u64) -> Key {
    Key::new(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).expect("8 bytes")
}

fn compare(engine: EngineKind, seed: u64) {
    let (mut both, mut rng) = (Both::new(engine, seed), Seed(seed).rng());
    for n in 0..PAIRS {
        both.put(&key(n), vec![n as u8; rng.below(900) as usize]);
    }
    for n in (0..PAIRS).step_by(7) {
        both.delete(&key(n));
    }
    let left = (PAIRS - PAIRS.div_ceil(7)) as usize;
    // All; as many as there are; a few; none at all; from a key that is there, that was deleted, and behind most.
    for (from, entries) in [
        (None, usize::from(u16::MAX)),
        (None, left),
        (None, 1),
        (None, 0),
        (Some(key(1)), 400),
        (Some(key(7)), 50),
        (Some(Key::new(&[0xff; 8]).expect("8 bytes")), 60),
    ] {
        for values in [true, false] {
            let (client, lane) = (both.by_client(from, entries, values), both.by_lane(from, entries, values));
            let what = format!("{engine:?}, SAKER_SEED={seed}, {entries} from {from:?}, values: {values}");
            assert_eq!(lane.0, client.0, "{what}");
            // A client asks for nothing when it is to find nothing.
            assert!(
                lane.1 == client.1 || entries == 0,
                "{what}: {} ns by lane, {} ns by client",
                lane.1,
                client.1
            );
            if from.is_none() {
                assert_eq!(lane.0.len(), left.min(entries), "{what}");
            }
        }
    }
}

/// A test for each engine.
macro_rules! as_clients_list {
    ($($name:ident $kind:ident;)*) => {
        $(#[test]
        fn $name() {
            seeds(tier(1, 8)).for_each(|seed| compare(EngineKind::$kind, seed));
        })*
    };
}

saker_engine::for_each_engine!(as_clients_list);

/// A value that is longer than what retrieves ask for is read as a whole; a key that no command takes is refused.
#[test]
fn long_values_are_whole_and_long_keys_refused() {
    for engine in EngineKind::ALL {
        let mut both = Both::new(*engine, 1);
        let sizes = [10, 9000, 20, 20_000];
        (0..).zip(sizes).for_each(|(n, bytes)| both.put(&key(n), vec![n as u8; bytes]));
        let (pairs, _) = both.by_lane(None, 10, true);
        assert_eq!(pairs, both.by_client(None, 10, true).0, "{engine:?}");
        let mut found: Vec<_> = pairs.iter().map(|(_, value)| value.len()).collect();
        found.sort_unstable();
        assert_eq!(found, [10, 20, 9000, 20_000]);
        let list = Op::List { from: vec![1; 17], entries: 1, values: true };
        let refused = both.lane.carry_out(&list, |_| ()).expect("sound").expect_err("17 bytes");
        assert_eq!(refused, saker_store::Refusal::KeyLength(17));
    }
}
