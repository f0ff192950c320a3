// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Subsystems that hosts must not take for one.

use saker::Raw;
use saker_nvme::admin::{Identify, build};
use saker_nvme::identify::cns;
use saker_tcp::{Served, Server};

use crate::loopback::support::{config, serve};

/// SN of the controller and the descriptors of the namespace.
fn identity(server: &Server, nqn: &str) -> [Vec<u8>; 2] {
    let mut device = Raw::open(&format!("tcp://{}/{nqn}", server.addresses()[0])).expect("open");
    let mut page = |cns, nsid| {
        let command = Identify { nsid, cns, cntid: 0, specific_id: 0, csi: 1, uuid_index: 0 };
        let (status, _, page) = device.admin(build::identify(&command), 4096).expect("an answer");
        assert!(status.is_success(), "{status}");
        page
    };
    [page(cns::CONTROLLER, 0)[4..24].to_vec(), page(cns::NAMESPACE_DESCRIPTORS, 1)]
}

fn only(server: &Server) -> [Vec<u8>; 2] {
    identity(server, &server.names()[0])
}

/// A server of one device under a name.
fn named(url: &str, nqn: &str) -> Server {
    let mut config = config(url);
    config.subsystems[0].nqn = Some(nqn.into());
    Server::start(config).expect("the server starts")
}

fn assert_differ(one: &[Vec<u8>; 2], other: &[Vec<u8>; 2]) {
    assert_ne!(one[0], other[0], "serial numbers");
    assert_ne!(one[1], other[1], "identifiers");
}

const A: &str = "nqn.2026-11.dev.saker:a";
const B: &str = "nqn.2026-11.dev.saker:b";

#[test]
fn two_targets_of_devices_in_memory_are_two() {
    let (one, other) = (serve("mem:?size=512MiB"), serve("mem:?size=512MiB"));
    assert_differ(&only(&one), &only(&other));
    assert_ne!(one.names(), other.names());
    let (one, other) = (named("mem:?size=512MiB", A), named("mem:?size=512MiB", A));
    assert_differ(&only(&one), &only(&other));
}

#[test]
fn a_name_belongs_to_the_identity_of_a_seeded_device() {
    let url = "mem:?size=512MiB&seed=7";
    let (one, other, again) = (named(url, A), named(url, B), named(url, A));
    assert_differ(&only(&one), &only(&other));
    assert_eq!(only(&one), only(&again), "repeatable");
    assert_eq!(only(&serve(url)), only(&serve(url)), "repeatable without a name of its own");
}

#[test]
fn two_subsystems_of_one_target_are_two() {
    let mut config = config("mem:?size=512MiB");
    config.subsystems.push(Served { url: "mem:?size=512MiB".into(), ..Served::default() });
    let server = Server::start(config).expect("the server starts");
    let names = server.names();
    assert_differ(&identity(&server, &names[0]), &identity(&server, &names[1]));
}
