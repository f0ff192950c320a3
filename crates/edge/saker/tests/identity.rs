// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who devices in memory are: each its own, unless a seed asks for the same one again. What they do depends on the seed alone.

use saker::{EngineKind, Kv, Raw};
use saker_nvme::admin::{Identify, build};
use saker_nvme::identify::cns;

fn page(device: &mut Raw, cns: u8, nsid: u32) -> Vec<u8> {
    let command = Identify { nsid, cns, cntid: 0, specific_id: 0, csi: 1, uuid_index: 0 };
    let (status, _, page) = device.admin(build::identify(&command), 4096).expect("an answer");
    assert!(status.is_success(), "{status}");
    page
}

/// SN and SUBNQN of the controller, the descriptors of the namespace.
fn identity(url: &str) -> [Vec<u8>; 3] {
    let mut device = Raw::open(url).expect("open");
    let controller = page(&mut device, cns::CONTROLLER, 0);
    let descriptors = page(&mut device, cns::NAMESPACE_DESCRIPTORS, 1);
    [controller[4..24].to_vec(), controller[768..1024].to_vec(), descriptors]
}

/// Every engine, and shards.
fn kinds() -> impl Iterator<Item = String> {
    let engines =
        EngineKind::ALL.iter().map(|kind| format!("profile=tiny&size=32MiB&engine={}", kind.name()));
    engines.chain(["profile=tiny&size=256MiB&engine=lsm&shards=3".to_owned()])
}

#[test]
fn each_opening_is_a_device_of_its_own() {
    for kind in kinds() {
        let (one, other) = (identity(&format!("mem:?{kind}")), identity(&format!("mem:?{kind}")));
        for (n, what) in ["serial numbers", "NQNs", "identifiers"].into_iter().enumerate() {
            assert_ne!(one[n], other[n], "{what} of {kind}");
        }
    }
}

#[test]
fn a_seed_asks_for_the_same_device() {
    for kind in kinds() {
        let of = |seed: u32| identity(&format!("mem:?{kind}&seed={seed}"));
        assert_eq!(of(1), of(1), "{kind}");
        assert_ne!(of(1), of(2), "{kind}");
    }
}

fn keys(url: &str) -> Vec<Vec<u8>> {
    let mut kv = Kv::open(url).expect("open");
    (0..500_u32).for_each(|n| kv.put(&n.to_be_bytes(), b"value").expect("stored"));
    kv.list(None).map(|key| key.expect("listed")).collect()
}

#[test]
fn what_a_device_does_depends_on_its_seed_alone() {
    let order = keys("mem:?size=512MiB");
    assert_eq!((order.len(), &order), (500, &keys("mem:?size=512MiB")));
    assert_eq!(order, keys("mem:?size=512MiB&seed=1"));
    assert_ne!(order, keys("mem:?size=512MiB&seed=2"));
}
