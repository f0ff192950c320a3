// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host with several queues on a device of either driver.

use saker_assembly::Build;
use saker_assembly::port;
use saker_device::{Attachment, DeviceStats};
use saker_host::connect::KvQueueOptions;
use saker_host::transfer::Available;
use saker_host::{
    ConnectOptions, Connection, Driver, KvQueue, Method, Pacing, Patience, RawData, Ticket, TransferOptions,
};
use saker_link::Traffic;
use saker_nvme::kv::StoreOptions;
use saker_nvme::{Key, Sqe, Status};
use saker_profile::Profile;
use saker_world::{Clocked, Inline};

const TURNS_MAX: u64 = 1_000_000;

/// A device that the tests can look into.
pub trait Machine: Driver {
    fn build(build: &Build, host: Attachment) -> Self;
    fn gathered(&self) -> usize;
    fn stats(&mut self) -> DeviceStats;
}

impl Machine for Inline {
    fn build(build: &Build, host: Attachment) -> Self {
        Self(build.untimed(host))
    }
    fn gathered(&self) -> usize {
        self.0.gathered_bytes()
    }
    fn stats(&mut self) -> DeviceStats {
        self.0.stats().device
    }
}

impl Machine for Clocked {
    fn build(build: &Build, host: Attachment) -> Self {
        Self(build.timed(host))
    }
    fn gathered(&self) -> usize {
        self.0.gathered_bytes()
    }
    fn stats(&mut self) -> DeviceStats {
        self.0.stats().device
    }
}

/// A command's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: Status,
    pub dw0: u32,
    pub data: Vec<u8>,
}

pub struct Rig<D> {
    pub machine: D,
    pub connection: Connection,
    pub queues: Vec<KvQueue>,
    pub available: Available,
    /// What has completed, by queue and ticket.
    pub done: Vec<Vec<(Ticket, Answer)>>,
}

/// Room for values of 2 MiB.
pub fn large() -> Build {
    let profile = Profile::builtin("default").expect("built in");
    Build::kv(&profile, 512 << 20, 7).expect("large enough")
}

/// 64 MiB of the smallest profile.
pub fn build() -> Build {
    let profile = Profile::builtin("tiny").expect("built in");
    Build::kv(&profile, 64 << 20, 7).expect("large enough")
}

pub fn key(name: u32) -> Key {
    Key::new(&name.to_le_bytes()).expect("4 bytes")
}

/// Bytes that tell apart any two values, and any two places of one.
pub fn value(name: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n as u32).wrapping_mul(2_654_435_761).rotate_left(7) as u8 ^ name as u8).collect()
}

impl<D: Machine> Rig<D> {
    /// Queues of so many entries and slots.
    pub fn new(build: &Build, queues: &[(u32, u16)]) -> Self {
        let host = build.attach(queues.len() as u16, 200);
        let port = port(&host);
        Self::attached(D::build(build, host), port, queues)
    }

    pub fn attached(mut machine: D, port: saker_host::Port, queues: &[(u32, u16)]) -> Self {
        let patience = Patience { polls_max: TURNS_MAX };
        let options =
            ConnectOptions { io_queues: queues.len() as u16, patience, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut machine, options).expect("connects");
        let make = |(entries, slots): &(u32, u16)| {
            let options = KvQueueOptions { entries: *entries, slots: *slots };
            connection.create_kv_queue(&mut machine, 1, options).expect("a queue")
        };
        let queues: Vec<_> = queues.iter().map(make).collect();
        let available = connection.transfer_methods(&mut machine, 0).expect("log pages");
        let done = queues.iter().map(|_| Vec::new()).collect();
        Self { machine, connection, queues, available, done }
    }

    /// Queue `q` sends by `method` from now on, PRPs where it cannot carry the value.
    pub fn choose(&mut self, q: usize, method: Method, pacing: Pacing) {
        let sq_entries = self.queues[q].pair().sq_entries();
        let options = TransferOptions::fixed(method, pacing);
        self.queues[q].set_transfer(options, Available { sq_entries, ..self.available });
    }

    /// One turn of the device, then every completion; values go on.
    pub fn pump(&mut self) {
        self.machine.drive();
        self.take();
    }

    pub fn take(&mut self) {
        for (queue, done) in self.queues.iter_mut().zip(&mut self.done) {
            while let Some(polled) = queue
                .poll(|d| (d.ticket, Answer { status: d.status, dw0: d.result, data: d.data().to_vec() }))
            {
                let (ticket, answer) = polled.expect("an answer to a command of ours");
                done.push((ticket, answer));
            }
            if queue.continue_value() > 0 {
                queue.ring();
            }
        }
    }

    /// Submits a store, waiting for room.
    pub fn store(&mut self, q: usize, key: &Key, value: &[u8]) -> Ticket {
        for _ in 0..TURNS_MAX {
            match self.queues[q].store(key, value, StoreOptions::NONE) {
                Ok(ticket) => return ticket,
                Err(saker_host::SubmitError::Full) => {}
                Err(e) => panic!("{e}"),
            }
            self.queues[q].ring();
            self.pump();
        }
        panic!("never room");
    }

    /// The answer to a command, if it has come; once.
    pub fn over(&mut self, q: usize, ticket: Ticket) -> Option<Answer> {
        let at = self.done[q].iter().position(|(t, _)| *t == ticket)?;
        Some(self.done[q].swap_remove(at).1)
    }

    /// Waits for a command.
    pub fn wait(&mut self, q: usize, ticket: Ticket) -> Answer {
        self.queues[q].ring();
        for _ in 0..TURNS_MAX {
            if let Some(answer) = self.over(q, ticket) {
                return answer;
            }
            self.pump();
        }
        panic!("no answer");
    }

    pub fn put(&mut self, q: usize, key: &Key, value: &[u8]) -> Status {
        let ticket = self.store(q, key, value);
        self.wait(q, ticket).status
    }

    pub fn get(&mut self, q: usize, key: &Key) -> Answer {
        let ticket = self.queues[q].retrieve(key, 2 << 20).expect("room");
        self.wait(q, ticket)
    }

    /// An entry as it is.
    pub fn raw(&mut self, q: usize, sqe: Sqe) -> Answer {
        let ticket = self.queues[q].raw(sqe, RawData::Untouched).expect("room");
        self.wait(q, ticket)
    }

    /// Waits for everything.
    pub fn drain(&mut self) {
        for _ in 0..TURNS_MAX {
            self.queues.iter_mut().for_each(KvQueue::ring);
            self.pump();
            if self.queues.iter().all(|q| q.in_flight() == 0 && !q.is_amid_value()) {
                return;
            }
        }
        panic!("never idle");
    }

    /// What crossed the link, both sides.
    pub fn traffic(&mut self) -> Traffic {
        let host = self.queues.iter().map(|q| q.stats().traffic());
        host.fold(self.machine.stats().traffic, |sum, t| sum + t)
    }
}

/// The device without time.
pub type Quick = Rig<Inline>;
/// The device in virtual time.
pub type Timed = Rig<Clocked>;

/// Bytes as slots of a submission queue, the last one filled up with zeros.
pub fn payload(bytes: &[u8]) -> Vec<[u8; 64]> {
    let slot = |part: &[u8]| std::array::from_fn(|n| part.get(n).copied().unwrap_or(0));
    bytes.chunks(64).map(slot).collect()
}
