// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Strangers cannot use the server up.

use std::io::Read;
use std::time::Duration;

use saker::Kv;
use saker_nvme::admin::{SetFeatures, build, feature::fid};
use saker_nvme::fabrics::{self, DISCOVERY_NQN, property};
use saker_nvme::{Sqe, Status, admin, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::Server;

use crate::loopback::raw::{RawQueue, dial, last_words, shaken};
use crate::loopback::support::{DEVICE, config, open, serve, url};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn who_does_not_connect_a_queue_in_time_is_cut_off() {
    let mut config = config(DEVICE);
    config.handshake_timeout = SHORT;
    let server = Server::start(config).expect("the server starts");
    let mut kv = open(&server, "");
    let mut silent = dial(server.addresses()[0]);
    let mut polite = shaken(server.addresses()[0]);
    assert!(last_words(&mut silent).is_empty() && last_words(&mut polite).is_empty());
    kv.put(b"connected", b"in time").expect("connected queues stay");
    server.stop().expect("stopped");
}

#[test]
fn a_flood_of_half_open_connections_disturbs_nobody() {
    let mut config = config(DEVICE);
    (config.handshake_timeout, config.handshakes_max) = (SHORT, 8);
    let server = Server::start(config).expect("the server starts");
    let mut kv = open(&server, "");
    let flood: Vec<_> = (0..200).map(|_| dial(server.addresses()[0])).collect();
    for n in 0..100_u32 {
        kv.put(&n.to_le_bytes(), b"undisturbed").expect("stored");
    }
    let mut first = 0;
    for mut stream in flood {
        // Most are closed at once, the first ones after their time.
        first += usize::from(last_words(&mut stream).is_empty());
    }
    assert_eq!(first, 200);
    let mut late = open(&server, "");
    assert_eq!(late.get(&7_u32.to_le_bytes()).expect("read"), Some(b"undisturbed".to_vec()));
    server.stop().expect("stopped");
}

#[test]
fn connections_have_a_limit_and_come_back() {
    let mut config = config(DEVICE);
    config.connections_max = 4;
    let server = Server::start(config).expect("the server starts");
    // Each has an admin queue and an I/O queue.
    let (first, second) = (open(&server, ""), open(&server, ""));
    let third = Kv::open(&url(&server, "timeout=2"));
    assert!(third.is_err(), "a fifth connection");
    drop(first);
    let mut third = None;
    for _ in 0..100 {
        third = Kv::open(&url(&server, "timeout=2")).ok();
        if third.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(third.is_some(), "room again");
    drop((second, third));
    server.stop().expect("stopped");
}

#[test]
fn sixty_four_queues_of_depth_128() {
    const DEPTH: u16 = 128;
    let server = serve(DEVICE);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let (mut admin, cntlid) = RawQueue::admin(address, &nqn);
    let command = SetFeatures { nsid: 0, fid: fid::NUMBER_OF_QUEUES, save: false, cdw11: 0xFFFE_FFFE };
    let granted = admin.execute(build::set_features(&command), Data::None).cqe.result_dw0();
    assert_eq!(granted, 63 << 16 | 63, "64 queues, 0's based");
    let connect = |qid| RawQueue::connect(address, &nqn, cntlid, (qid, DEPTH)).expect("connected").0;
    let mut queues: Vec<_> = (1..=64).map(connect).collect();
    for (n, queue) in queues.iter_mut().enumerate() {
        for cid in 0..DEPTH {
            let mut sqe = Sqe::new(kv::opcode::STORE, 1).with_cid(cid);
            sqe.cdw2.set(n as u32);
            sqe.cdw3.set(cid.into());
            sqe.cdw10.set(5_000);
            sqe.cdw11.set(8);
            // 5,000 bytes with R2T for one half, in the capsule for the other.
            assert!(queue.protocol.submit(sqe, Data::Send(vec![cid as u8; 5_000]), 8192 * (n % 2)));
        }
    }
    for queue in &mut queues {
        while queue.protocol.in_flight() > 0 {
            queue.step();
            while let Some(answer) = queue.protocol.next_answer() {
                assert_eq!(answer.cqe.status(), Status::SUCCESS);
            }
        }
    }
    drop(queues);
    assert_eq!(open(&server, "").list(None).count(), 64 * usize::from(DEPTH));
    server.stop().expect("stopped");
}

#[test]
fn shutdowns_complete_with_and_without_a_device() {
    let server = serve(DEVICE);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    for name in [nqn.as_str(), DISCOVERY_NQN] {
        let (mut admin, _) = RawQueue::admin(address, name);
        let shut_down = fabrics::property_set(property::CC, false, 0x0046_4061);
        assert!(admin.execute(shut_down, Data::None).cqe.status().is_success());
        let csts = admin.execute(fabrics::property_get(property::CSTS, false), Data::None);
        assert_eq!(csts.cqe.result_dw0() >> 2 & 3, 2, "SHST of {name}");
    }
    server.stop().expect("stopped");
}

#[test]
fn a_host_that_is_silent_for_its_keep_alive_time_is_let_go() {
    let server = serve(DEVICE);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let (mut admin, _) = RawQueue::admin(address, &nqn);
    let timer = SetFeatures { nsid: 0, fid: fid::KEEP_ALIVE_TIMER, save: false, cdw11: 300 };
    assert!(admin.execute(build::set_features(&timer), Data::None).cqe.status().is_success());
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(100));
        let alive = admin.execute(Sqe::new(admin::opcode::KEEP_ALIVE, 0), Data::None);
        assert!(alive.cqe.status().is_success());
    }
    let mut stream = admin.into_stream();
    assert_eq!(stream.read(&mut [0; 64]).expect("an orderly end"), 0);
    server.stop().expect("stopped");
}
