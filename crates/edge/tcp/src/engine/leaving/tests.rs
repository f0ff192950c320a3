// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine without sockets, whose device stands still until it is given a turn.

use std::sync::Arc;

use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Sqe};
use saker_sim::Instant;
use saker_target::{Answer, Hosts, IoCommand, Kind, Policies, Subsystem, SubsystemConfig};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::{Engine, Flight, Peer, Purpose, Watch};
use crate::authenticator::Authenticator;
use crate::config::Served;
use crate::connection::messages::Reply;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::turn::Turn;

/// More turns than all of this takes.
const TURNS_MAX: usize = 10_000;
const VALUE_BYTES: u32 = 5;

struct Rig {
    engine: Engine,
    memory: Arc<Memory>,
    replies: Vec<UnboundedReceiver<Reply>>,
}

fn rig() -> Rig {
    let engine = engine_of("mem:?profile=tiny&size=16MiB");
    Rig { engine, memory: Memory::new(64 << 20, 10), replies: Vec::new() }
}

pub(in crate::engine) fn engine_of(url: &str) -> Engine {
    let served = Served { url: url.into(), ..Served::default() };
    let (local, _) = Opened::open(&served).expect("a device").settle();
    let config = SubsystemConfig {
        nqn: "nqn.2014-08.org.example:leaving".into(),
        serial: "1".into(),
        model: "tiny".into(),
        firmware: "1".into(),
        volatile_write_cache: false,
        vendor: None,
        hosts: Hosts::Any,
        policies: Policies::default(),
        portals: Vec::new(),
        kind: Kind::Nvm,
        controllers_max: 1,
        remote_ports: Default::default(),
        namespace_rates: Default::default(),
    };
    let ways = (Authenticator::start().expect("a thread"), unbounded_channel().0.downgrade());
    Engine::new(
        Subsystem::new(config).expect("names that fit"),
        Some(local),
        false,
        ways,
        Watch::new(Arc::default(), None),
    )
}

fn key(name: &str) -> Key {
    Key::new(name.as_bytes()).expect("a short key")
}

fn store(name: &str, value: &[u8; VALUE_BYTES as usize]) -> IoCommand {
    let sqe = kv::store(1, &key(name), VALUE_BYTES, StoreOptions::NONE);
    IoCommand { sqe, data: value.to_vec(), room: 0, is_value: false }
}

fn retrieve(name: &str) -> IoCommand {
    let sqe = kv::retrieve(1, &key(name), VALUE_BYTES);
    IoCommand { sqe, data: Vec::new(), room: VALUE_BYTES, is_value: true }
}

impl Rig {
    fn join(&mut self, id: u64) {
        let (replies, received) = unbounded_channel();
        self.replies.push(received);
        let host = self.engine.traffic.join("host", Default::default(), Instant::ZERO);
        let turn = Turn::new(self.engine.crowd.clone());
        let peer = Peer { replies, host, turn, answers: Vec::new(), outstanding: 0, is_draining: false };
        self.engine.peers.insert(id, peer);
    }

    fn ask(&mut self, id: u64, token: u16, command: IoCommand) {
        let sqe = Sqe::new(command.sqe.opcode, 1);
        let flight = Flight::of(id, token, Purpose::Io, &sqe, Instant::ZERO);
        self.engine.enqueue(Flight { is_read: command.room > 0, ..flight }, command);
        self.engine.submit_waiting();
    }

    fn lose(&mut self, id: u64) {
        let seat = self.memory.seat(id);
        self.engine.closed(id, seat);
    }

    /// Gives the device turns until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..TURNS_MAX {
            if self.engine.in_flight == 0 && self.engine.traffic.waiting() == 0 {
                return;
            }
            self.engine.submit_waiting();
            self.engine.drive();
        }
        panic!("{} commands wait for ever", self.engine.traffic.waiting());
    }

    fn answer(&mut self, id: u64, token: u16) -> Option<Answer> {
        let peer = self.engine.peers.get_mut(&id)?;
        let at = peer.answers.iter().position(|(of, _)| *of == token)?;
        Some(peer.answers.swap_remove(at).1)
    }

    /// The value of a key, asked for on a connection.
    fn value(&mut self, id: u64, name: &str) -> Option<Vec<u8>> {
        self.ask(id, u16::MAX, retrieve(name));
        self.settle();
        let answer = self.answer(id, u16::MAX).expect("an answer");
        answer.status.is_success().then_some(answer.data)
    }
}

/// As many commands as the device takes stand in it; those of a host that is lost wait behind them, and are never begun.
#[test]
fn commands_that_wait_for_the_device_are_dropped_with_their_connection() {
    let mut rig = rig();
    (1..=3).for_each(|id| rig.join(id));
    let slots = rig.engine.flights.len();
    (0..slots).for_each(|token| rig.ask(1, token as u16, retrieve("none")));
    assert_eq!((rig.engine.in_flight, rig.engine.traffic.waiting()), (slots, 0), "the device is full");
    rig.ask(2, 0, store("lost", b"older"));
    rig.ask(2, 1, store("both", b"older"));
    rig.ask(3, 0, store("both", b"newer"));
    assert_eq!(rig.engine.traffic.waiting(), 3);
    rig.lose(2);
    rig.settle();
    assert!((0..slots).all(|token| rig.answer(1, token as u16).is_some()), "others are answered");
    assert!(rig.answer(3, 0).is_some_and(|answer| answer.status.is_success()));
    assert_eq!(rig.value(3, "lost"), None, "a command of a connection that is gone was carried out");
    assert_eq!(rig.value(3, "both").as_deref(), Some(&b"newer"[..]));
}

/// One of its commands is with the device, one waits: the first ends before anything else begins, the second never does.
#[test]
fn what_the_device_has_begun_ends_before_others_begin() {
    let mut rig = rig();
    (1..=3).for_each(|id| rig.join(id));
    let slots = rig.engine.flights.len();
    (1..slots).for_each(|token| rig.ask(1, token as u16, retrieve("none")));
    rig.ask(2, 0, store("begun", b"older"));
    rig.ask(2, 1, store("lost", b"older"));
    assert_eq!((rig.engine.in_flight, rig.engine.traffic.waiting()), (slots, 1));
    rig.lose(2);
    rig.ask(3, 0, store("begun", b"newer"));
    assert_eq!(rig.engine.leaving.get(&2).map(|(commands, _)| *commands), Some(1));
    rig.settle();
    assert!(rig.engine.leaving.is_empty(), "nothing of it is with the device");
    assert_eq!(rig.value(3, "begun").as_deref(), Some(&b"newer"[..]));
    assert_eq!(rig.value(3, "lost"), None, "a command of a connection that is gone was carried out");
}
