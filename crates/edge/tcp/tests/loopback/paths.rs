// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two ways to one subsystem: what controllers say of sharing, and what happens when one way is closed.

use std::net::SocketAddr;

use saker::Raw;
use saker_nvme::admin::{GetLogPage, Identify, SetFeatures, build, feature::fid};
use saker_nvme::fabrics::DISCOVERY_NQN;
use saker_nvme::identify::{Controller, IndependentNamespace, KvNamespace, cns};
use saker_nvme::log::{AccessGroup, AccessHeader, access_state, lid};
use saker_nvme::{Sqe, Status, csi, kv};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{Access, Server};
use zerocopy::FromBytes;

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{DEVICE, config};

fn two_ways() -> Server {
    let mut config = config(DEVICE);
    config.listen.push("127.0.0.1:0".parse().expect("an address"));
    Server::start(config).expect("the server starts")
}

fn identify(cns: u8) -> Sqe {
    let command = Identify { nsid: 1, cns, cntid: 0, specific_id: 0, csi: csi::KV, uuid_index: 0 };
    build::identify(&command)
}

fn log_page(lid: u8, lsp: u8, bytes: u64) -> GetLogPage {
    GetLogPage {
        nsid: 0,
        lid,
        lsp,
        retain_event: false,
        bytes,
        lsi: 0,
        offset: 0,
        offset_is_index: false,
        uuid_index: 0,
        csi: 0,
    }
}

/// A host's controller by one of the addresses, with an I/O queue.
struct Way {
    admin: RawQueue,
    queue: RawQueue,
}

impl Way {
    fn new(address: SocketAddr, nqn: &str) -> Self {
        let (admin, cntlid) = RawQueue::admin(address, nqn);
        let (queue, _) = RawQueue::connect(address, nqn, cntlid, (1, 32)).expect("connected");
        Self { admin, queue }
    }

    fn page<T: FromBytes>(&mut self, sqe: Sqe) -> T {
        let answer = self.admin.execute(sqe, Data::Receive(size_of::<T>() as u32));
        assert_eq!(answer.cqe.status(), Status::SUCCESS);
        T::read_from_bytes(&answer.data).expect("a whole page")
    }

    /// The access log: changes, state and NSIDs.
    fn access(&mut self) -> (u64, u8, Vec<u32>) {
        let answer = self
            .admin
            .execute(build::get_log_page(&log_page(lid::ASYMMETRIC_ACCESS, 0, 64)), Data::Receive(64));
        assert_eq!(answer.cqe.status(), Status::SUCCESS);
        let (header, rest) = AccessHeader::read_from_prefix(&answer.data).expect("a header");
        let (group, rest) = AccessGroup::read_from_prefix(rest).expect("a group");
        assert_eq!((header.groups.get(), group.id.get(), header.changes), (1, 1, group.changes));
        let nsids = rest.chunks_exact(4).take(group.namespaces.get() as usize);
        let nsids = nsids.map(|nsid| u32::from_le_bytes(nsid.try_into().expect("four bytes"))).collect();
        (header.changes.get(), group.state, nsids)
    }

    fn store(&mut self, key: u32) -> Status {
        let mut sqe = Sqe::new(kv::opcode::STORE, 1);
        sqe.cdw2.set(key);
        (sqe.cdw10, sqe.cdw11) = (3.into(), 4.into());
        self.queue.execute(sqe, Data::Send(b"abc".to_vec())).cqe.status()
    }

    fn exists(&mut self, key: u32) -> Status {
        let mut sqe = Sqe::new(kv::opcode::EXIST, 1);
        sqe.cdw2.set(key);
        sqe.cdw11.set(4);
        self.queue.execute(sqe, Data::None).cqe.status()
    }

    fn listen(&mut self) {
        let set = SetFeatures { nsid: 0, fid: fid::ASYNC_EVENT_CONFIG, save: false, cdw11: 1 << 11 };
        assert!(self.admin.execute(build::set_features(&set), Data::None).cqe.status().is_success());
        assert!(self.admin.protocol.submit(build::async_event_request().with_cid(99), Data::None, 0));
        self.admin.send();
    }
}

#[test]
fn two_controllers_share_what_they_say_they_share() {
    let server = two_ways();
    let nqn = &server.names()[0];
    let mut ways = [0, 1].map(|n| Way::new(server.addresses()[n], nqn));
    let pages = ways.each_mut().map(|way| way.page::<Controller>(identify(cns::CONTROLLER)));
    assert_ne!(pages[0].cntlid, pages[1].cntlid);
    assert_eq!((pages[0].subnqn, pages[0].sn), (pages[1].subnqn, pages[1].sn));
    for page in &pages {
        assert_eq!(page.cmic, 0b1011, "ports, controllers, asymmetric access");
        assert_ne!(page.oaes.get() & 1 << 11, 0);
        assert_eq!((page.anagrpmax.get(), page.nanagrpid.get(), page.anacap), (1, 1, 0b100_0111));
        assert!(page.anatt > 0 && (1..=page.nn.get()).contains(&page.mnan.get()));
    }
    let of_set = ways.each_mut().map(|way| way.page::<KvNamespace>(identify(cns::CSI_NAMESPACE)));
    let of_any =
        ways.each_mut().map(|way| way.page::<IndependentNamespace>(identify(cns::INDEPENDENT_NAMESPACE)));
    for (set, any) in of_set.iter().zip(&of_any) {
        assert_eq!((set.nmic, set.anagrpid.get(), any.nmic, any.anagrpid.get()), (1, 1, 1, 1));
        assert_eq!((set.nguid, set.eui64), (of_set[0].nguid, of_set[0].eui64));
    }
    assert_eq!(
        ways.each_mut().map(Way::access),
        [(0, access_state::OPTIMIZED, vec![1]), (0, access_state::OPTIMIZED, vec![1])]
    );
    assert_eq!(ways[0].store(5), Status::SUCCESS);
    assert_eq!(ways[1].exists(5), Status::SUCCESS);
    drop(ways);
    server.stop().expect("stopped");
}

#[test]
fn a_way_that_closes_is_told_and_the_other_goes_on() {
    let server = two_ways();
    let (addresses, nqn) = (server.addresses().to_vec(), server.names()[0].clone());
    let mut ways = [0, 1].map(|n| Way::new(addresses[n], &nqn));
    ways.iter_mut().for_each(Way::listen);
    assert!(server.set_access(addresses[1], Access::Inaccessible));
    let event = ways[1].admin.answer();
    assert_eq!((event.cqe.cid.get(), event.cqe.result_dw0()), (99, 0x000C_0302), "notice 03h, log page 0Ch");
    assert!(ways[1].store(6).is(Status::ASYMMETRIC_ACCESS_INACCESSIBLE));
    assert_eq!((ways[0].store(6), ways[0].access().1), (Status::SUCCESS, access_state::OPTIMIZED));
    assert_eq!(ways[1].access(), (1, access_state::INACCESSIBLE, vec![1]));
    // Who comes by that address now finds it so.
    let mut late = Way::new(addresses[1], &nqn);
    assert_eq!(late.access().1, access_state::INACCESSIBLE);
    ways[1].listen_again();
    assert!(server.set_access(addresses[1], Access::NonOptimized));
    assert_eq!(ways[1].admin.answer().cqe.result_dw0(), 0x000C_0302);
    assert_eq!((ways[1].store(7), ways[0].exists(7)), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!(ways[1].access(), (2, access_state::NON_OPTIMIZED, vec![1]));
    assert!(!server.set_access("127.0.0.1:1".parse().expect("an address"), Access::Optimized));
    drop((ways, late));
    server.stop().expect("stopped");
}

impl Way {
    fn listen_again(&mut self) {
        assert!(self.admin.protocol.submit(build::async_event_request().with_cid(98), Data::None, 0));
        self.admin.send();
    }
}

#[test]
fn groups_can_be_read_without_their_namespaces() {
    let server = two_ways();
    let mut way = Way::new(server.addresses()[0], &server.names()[0]);
    let groups_only = build::get_log_page(&log_page(lid::ASYMMETRIC_ACCESS, 1, 48));
    let answer = way.admin.execute(groups_only, Data::Receive(48));
    let (group, _) = AccessGroup::read_from_prefix(&answer.data[16..]).expect("a group");
    assert_eq!((group.namespaces.get(), group.state), (0, access_state::OPTIMIZED));
    drop(way);
    server.stop().expect("stopped");
}

#[test]
fn discovery_names_each_address_as_a_port_of_its_own() {
    let server = two_ways();
    let (mut admin, _) = RawQueue::admin(server.addresses()[0], DISCOVERY_NQN);
    let answer = admin.execute(build::get_log_page(&log_page(lid::DISCOVERY, 0, 3072)), Data::Receive(3072));
    let records = answer.data.chunks_exact(1024).skip(1);
    let ports: Vec<(u8, String)> = records
        .map(|record| (record[4], String::from_utf8_lossy(&record[32..64]).trim_end_matches('\0').to_owned()))
        .collect();
    let expected: Vec<_> = (1..).zip(server.addresses()).map(|(n, at)| (n, at.port().to_string())).collect();
    assert_eq!(ports, expected);
    drop(admin);
    server.stop().expect("stopped");
}

#[test]
fn a_device_on_rings_has_one_controller_and_says_so() {
    let mut device = Raw::open(DEVICE).expect("open");
    let mut page = |sqe| device.admin(sqe, 4096).expect("an answer");
    let (_, _, controller) = page(identify(cns::CONTROLLER));
    let controller = Controller::read_from_bytes(&controller).expect("a page");
    assert_eq!((controller.cmic, controller.anacap, controller.oaes.get() & 1 << 11), (0, 0, 0));
    let (_, _, namespace) = page(identify(cns::CSI_NAMESPACE));
    assert_eq!(KvNamespace::read_from_bytes(&namespace).expect("a page").nmic, 0);
    let (status, ..) = page(build::get_log_page(&log_page(lid::ASYMMETRIC_ACCESS, 0, 64)));
    assert!(status.is(Status::INVALID_LOG_PAGE), "{status}");
}
