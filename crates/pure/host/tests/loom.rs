// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions on two threads in every interleaving (up to loom's bounds):
//! `RUSTFLAGS="--cfg loom" cargo test -p saker-host --profile soak --test loom`
#![cfg(loom)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use loom::thread;
use saker_host::session::{Answer, Command, Hub, Options, Session, Wire};
use saker_host::{DriverFn, HostError, Patience, SubmitError};
use saker_link::ShortLock;
use saker_nvme::group::{Form, Op, parse};
use saker_nvme::{Key, Status};

/// A device that executes commands when somebody looks for completions.
#[derive(Default)]
struct Device {
    pairs: BTreeMap<Key, Vec<u8>>,
}

type Write = (Key, Option<Vec<u8>>);

struct MapWire {
    device: Arc<ShortLock<Device>>,
    queued: VecDeque<(u16, Vec<Write>)>,
}

impl Wire for MapWire {
    fn slots(&self) -> usize {
        2
    }

    fn group_bytes_max(&self) -> usize {
        1 << 16
    }

    fn has_iterators(&self) -> bool {
        false
    }

    fn name(&self) -> u16 {
        1
    }

    fn submit(&mut self, command: Command<'_>) -> Result<u16, SubmitError> {
        let slot = (0..2).find(|slot| self.queued.iter().all(|(taken, _)| taken != slot));
        let slot = slot.ok_or(SubmitError::Full)?;
        let writes = match command {
            Command::Group { form, payload, .. } => writes_of(form, payload),
            Command::Store(key, value) => vec![(*key, Some(value.to_vec()))],
            Command::Delete(key) => vec![(*key, None)],
            Command::Flush => Vec::new(),
            other => unreachable!("not used here: {other:?}"),
        };
        self.queued.push_back((slot, writes));
        Ok(slot)
    }

    fn ring(&mut self) {}

    fn poll(&mut self, visit: &mut dyn FnMut(Answer<'_>)) -> Result<bool, HostError> {
        let Some((slot, writes)) = self.queued.pop_front() else { return Ok(false) };
        let mut device = self.device.lock();
        for (key, value) in writes {
            match value {
                Some(value) => drop(device.pairs.insert(key, value)),
                None => drop(device.pairs.remove(&key)),
            }
        }
        drop(device);
        visit(Answer { slot, status: Status::SUCCESS, dw0: 0, dw1: 0, data: &[] });
        Ok(true)
    }
}

fn writes_of(form: Form, payload: &[u8]) -> Vec<Write> {
    let bytes = |range: &std::ops::Range<u32>| &payload[range.start as usize..range.end as usize];
    let mut writes = Vec::new();
    let parsed = parse(form, payload, |e| {
        let key = Key::new(bytes(&e.key)).expect("1 to 16 bytes");
        writes.push((key, (e.op == Op::Store).then(|| bytes(&e.value).to_vec())));
    });
    parsed.expect("a good payload");
    writes
}

fn key(n: u8) -> Key {
    Key::new(&[n]).expect("one byte")
}

type Shared = (Arc<ShortLock<Device>>, Arc<Hub<MapWire>>);

fn hub(batch: u16) -> Shared {
    let device = Arc::new(ShortLock::new(Device::default()));
    let wire = |_| MapWire { device: Arc::clone(&device), queued: VecDeque::new() };
    // One stripe would be enough for two keys; two is the least there is.
    let options = Options { batch, container_bytes: 128, stripes: 2, volatile: false, ..Options::default() };
    let hub = Arc::new(Hub::new((0..2).map(wire).collect(), options));
    (device, hub)
}

fn session(hub: &Arc<Hub<MapWire>>, lane: usize) -> Session<MapWire, DriverFn<fn()>> {
    let driver = DriverFn(thread::yield_now as fn());
    Session::new(Arc::clone(hub), (lane, lane), driver, 100, Patience { polls_max: 1 << 20 })
}

/// Locks are many, so few preemptions; the time is a bound, too.
fn bounded(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 20_000;
    builder.max_duration = Some(std::time::Duration::from_secs(40));
    builder.check(check);
}

/// Each writes what the other wrote first: the second writes are parked, and who retires the first moves them on.
#[test]
fn crossed_keys_end_with_the_newest_write_of_each() {
    bounded(|| {
        let (device, hub) = hub(64);
        let (mut a, mut b) = (session(&hub, 0), session(&hub, 1));
        let thread = thread::spawn(move || {
            b.put(&key(2), b"b2").expect("buffered");
            b.put(&key(1), b"b1").expect("buffered");
            b.sync().expect("stored");
        });
        a.put(&key(1), b"a1").expect("buffered");
        a.put(&key(2), b"a2").expect("buffered");
        a.sync().expect("stored");
        thread.join().expect("no panic");
        assert_eq!((hub.pending(), hub.parked_bytes()), (Vec::new(), 0));
        let stored = device.lock().pairs.clone();
        assert!([&b"a1"[..], b"b1"].contains(&&stored[&key(1)][..]));
        assert!([&b"a2"[..], b"b2"].contains(&&stored[&key(2)][..]));
    });
}

/// The owner of the container does nothing more; who waits sends it, and takes its completions.
#[test]
fn an_idle_owner_keeps_nobody_waiting() {
    bounded(|| {
        let (device, hub) = hub(64);
        let (mut idle, mut busy) = (session(&hub, 0), session(&hub, 1));
        idle.put(&key(1), b"older").expect("buffered");
        let thread = thread::spawn(move || {
            busy.put(&key(1), b"newer").expect("parked");
            busy.sync().expect("stored");
        });
        // Buffered still, or stored already; never absent.
        let seen = hub.look(&key(1), &mut saker_sim::Free, |write| write.is_some());
        assert_ne!(seen, Ok(false));
        thread.join().expect("no panic");
        assert_eq!(device.lock().pairs.get(&key(1)), Some(&b"newer".to_vec()));
        drop(idle);
    });
}

/// While containers are sent and retired, a reader never sees an older value after a newer one.
#[test]
fn a_reader_follows_the_writer_through_containers_and_parked_writes() {
    bounded(|| {
        let (_device, hub) = hub(1);
        let mut writer = session(&hub, 0);
        let reader = Arc::clone(&hub);
        writer.put(&key(1), b"1").expect("buffered");
        let thread = thread::spawn(move || {
            let look = || reader.look(&key(1), &mut saker_sim::Free, |write| write.map(<[u8]>::to_vec));
            let (first, second) = (look(), look());
            if let (Ok(first), Ok(second)) = (first, second) {
                assert!(first <= second, "{first:?} before {second:?}");
            }
        });
        writer.put(&key(1), b"2").expect("buffered");
        writer.sync().expect("stored");
        thread.join().expect("no panic");
        assert!(hub.pending().is_empty());
    });
}
