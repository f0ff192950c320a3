// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify: bytes at the offsets of the specifications.

use saker_nvme::admin::{Identify, build};
use saker_nvme::{NSID_ALL, Status};

use super::support::*;
use crate::controller::{Identity, NamespaceKind};

#[test]
fn the_controller_says_what_it_is() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&identify(0x01, 0, 0));
    assert_eq!(data.len(), 4096);
    assert_eq!(&data[4..24], b"SKR0001             ");
    assert_eq!(&data[24..64], b"Saker KV SSD                            ");
    assert_eq!(&data[64..72], b"0.1.0   ");
    assert_eq!((data[76], data[77], u16_at(&data, 78)), (0, 10, 5), "CMIC, MDTS, CNTLID");
    assert_eq!(
        (u32_at(&data, 80), u32_at(&data, 92), data[111]),
        (0x0002_0000, 0x100, 1),
        "VER, OAES, CNTRLTYPE"
    );
    assert_eq!((u16_at(&data, 256), data[258], data[259]), (0b10, 3, 3), "OACS, ACL, AERL");
    assert_eq!((data[260], data[261], data[262], data[263]), (3, 0b110, 15, 0), "FRMW, LPA, ELPE, NPSS");
    assert_eq!(
        (u16_at(&data, 266), u16_at(&data, 268), u16_at(&data, 320)),
        (343, 353, 1),
        "WCTEMP, CCTEMP, KAS"
    );
    assert_eq!((data[512], data[513], u16_at(&data, 514)), (0x66, 0x44, 1024), "SQES, CQES, MAXCMD");
    assert_eq!((u32_at(&data, 516), u16_at(&data, 520), data[525]), (1024, 0x19D, 0b111), "NN, ONCS, VWC");
    assert_eq!((u32_at(&data, 96), u16_at(&data, 522), u16_at(&data, 534)), (1, 0, 1), "CTRATT, FUSES, OCFS");
    assert_eq!(u32_at(&data, 536), 0, "SGLS");
    assert_eq!(&data[768..783], b"nqn.2014-08.org");
    assert_eq!(data[768 + identity().subnqn.len()..1024].iter().max(), Some(&0));
}

#[test]
fn options_show() {
    let changed = Identity {
        volatile_write_cache: false,
        sgl: true,
        max_transfer_bytes: 4096,
        max_queue_entries: 1 << 16,
        subnqn: format!("nqn.{}", "x".repeat(219)),
        ..identity()
    };
    let mut bench = Bench::of(changed, CC_ALL);
    let data = bench.data(&identify(0x01, 0, 0));
    assert_eq!((data[77], u16_at(&data, 514), data[525], u32_at(&data, 536)), (0, 0xFFFF, 0b110, 1));
    assert_eq!(&data[768 + 222..768 + 224], b"x\0");
    assert_eq!(bench.data(&identify(0x08, KV, 0))[0], 1 << 5, "VWCNP");
}

#[test]
fn namespace_lists_ascend_and_can_be_continued() {
    let mut bench = Bench::enabled(CC_ALL);
    let mut list = |cns, after, csi| {
        let data = bench.data(&identify(cns, after, csi));
        assert_eq!(data.len(), 4096);
        [u32_at(&data, 0), u32_at(&data, 4), u32_at(&data, 8)]
    };
    assert_eq!(list(0x02, 0, 0), [KV, BLOCK, 0]);
    assert_eq!(list(0x02, 1, 0), [BLOCK, 0, 0]);
    assert_eq!(list(0x02, 0xFFFF_FFFD, 0), [0, 0, 0]);
    assert_eq!((list(0x07, 0, 0), list(0x07, 0, 1)), ([BLOCK, 0, 0], [KV, 0, 0]));
    for after in [0xFFFF_FFFE, NSID_ALL] {
        for cns in [0x02, 0x07] {
            let refused = bench.refusal(&identify(cns, after, 0));
            assert_eq!(refused, Status::INVALID_NAMESPACE_OR_FORMAT);
        }
    }
    assert_eq!(bench.refusal(&identify(0x07, 0, 2)), Status::INVALID_FIELD);
}

#[test]
fn a_key_value_namespace_is_described() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&identify(0x05, KV, 1));
    assert_eq!((u64_at(&data, 0), u64_at(&data, 16)), (1 << 30, 0x1234), "NSZE, NUSE");
    assert_eq!((data[25], data[29]), (0, 0), "one format, in use");
    assert_eq!((&data[48..64], &data[64..72]), (&[0xA1; 16][..], &[0xE1; 8][..]));
    assert_eq!((u16_at(&data, 72), u32_at(&data, 76)), (16, 2 << 20), "KVKML, KVVML");
    assert_eq!(bench.refusal(&identify(0x05, KV, 0)), Status::INVALID_COMMAND_SET);
}

/// SPDK and `nvme id-ns` ask every namespace for the structure of blocks.
#[test]
fn a_key_value_namespace_answers_who_asks_for_blocks() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&identify(0x00, KV, 0));
    let sizes = [0, 8, 16, 48].map(|at| u64_at(&data, at));
    assert_eq!(sizes, [(1 << 30) / 512, (1 << 30) / 512, 0x1234_u64.div_ceil(512), 1 << 30]);
    assert_eq!((data[25], data[26], &data[128..136]), (0, 0, &[0, 0, 9, 0, 0, 0, 0, 0][..]), "one format");
    assert_eq!((&data[104..120], &data[120..128]), (&[0xA1; 16][..], &[0xE1; 8][..]));
    // Smaller than a block: there all the same.
    for facts in &mut bench.namespaces {
        if let NamespaceKind::Kv { size_bytes, used_bytes, .. } = &mut facts.kind {
            (*size_bytes, *used_bytes) = (100, 600);
        }
    }
    let data = bench.data(&identify(0x00, KV, 0));
    assert_eq!([0, 8, 16].map(|at| u64_at(&data, at)), [1, 1, 1]);
}

#[test]
fn a_block_namespace_is_described() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&identify(0x00, BLOCK, 0));
    assert_eq!((u64_at(&data, 0), u64_at(&data, 8), u64_at(&data, 16)), (0x1_0000, 0x1_0000, 0x42));
    assert_eq!((data[25], data[26], u64_at(&data, 48)), (0, 0, 1 << 28), "NLBAF, FLBAS, NVMCAP");
    assert_eq!((&data[104..120], &data[120..128]), (&[0xB2; 16][..], &[0; 8][..]));
    assert_eq!(data[128..132], [0, 0, 12, 0], "LBAF0");
    assert_eq!(
        (data[24], data[33]),
        (0, 0b001),
        "NSFEAT; DLFEAT: zeros, and nothing that older kernels of Linux misread"
    );
    assert_eq!((u16_at(&data, 74), u32_at(&data, 76), data[80]), (256, 256, 127), "MSSRL, MCL, MSRC");
    assert_eq!(bench.data(&identify(0x05, BLOCK, 0)), vec![0; 4096]);
    assert_eq!(bench.refusal(&identify(0x05, BLOCK, 1)), Status::INVALID_COMMAND_SET);
}

#[test]
fn namespaces_are_identified_by_descriptors() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&identify(0x03, KV, 0));
    let mut golden = vec![4, 1, 0, 0, 1, 2, 16, 0, 0];
    golden.extend([0xA1; 16]);
    golden.extend([1, 8, 0, 0]);
    golden.extend([0xE1; 8]);
    golden.extend([3, 16, 0, 0, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88, 0x99, 0xAA, 0xBB]);
    golden.extend([0xCC, 0xDD, 0xEE, 0xFE, 0, 0, 0, 0]);
    assert_eq!((&data[..golden.len()], data.len()), (&golden[..], 4096));

    let block = bench.data(&identify(0x03, BLOCK, 0));
    assert_eq!(block[..9], [4, 1, 0, 0, 0, 2, 16, 0, 0]);
    assert_eq!(block[25..29], [3, 16, 0, 0], "no EUI64");
    assert_eq!(block[44], 0xFD, "another UUID");
    let mut nameless = Bench::of(Identity { uuid: [0; 16], ..identity() }, CC_ALL);
    assert_eq!(nameless.data(&identify(0x03, BLOCK, 0))[25..], [0; 4096 - 25]);
}

#[test]
fn namespaces_of_every_set_are_ready() {
    let mut bench = Bench::enabled(CC_ALL);
    for nsid in [KV, BLOCK] {
        let data = bench.data(&identify(0x08, nsid, 0));
        assert_eq!((data[0], data[1], data[14], data.len()), (0, 0, 1, 4096));
    }
}

#[test]
fn command_sets_are_described() {
    let mut bench = Bench::enabled(CC_ALL);
    for csi in [0, 1] {
        assert_eq!(bench.data(&identify(0x06, 0, csi)), vec![0; 4096]);
    }
    assert_eq!(bench.refusal(&identify(0x06, 0, 2)), Status::INVALID_FIELD);
    assert_eq!(bench.refusal(&identify(0x05, KV, 2)), Status::INVALID_FIELD);
    let of = |cntid| {
        build::identify(&Identify { nsid: 0, cns: 0x1C, cntid, specific_id: 0, csi: 0, uuid_index: 0 })
    };
    for cntid in [0xFFFF, 5] {
        let data = bench.data(&of(cntid));
        assert_eq!((u64_at(&data, 0), u64_at(&data, 8)), (0b11, 0));
    }
    assert_eq!(bench.refusal(&of(6)), Status::INVALID_FIELD);
}

#[test]
fn namespaces_that_are_not_there() {
    let mut bench = Bench::enabled(CC_ALL);
    for nsid in [INACTIVE, 1024] {
        for (cns, csi) in [(0x00, 0), (0x05, 0), (0x05, 1), (0x08, 0)] {
            assert_eq!(bench.data(&identify(cns, nsid, csi)), vec![0; 4096], "CNS {cns:#x}");
        }
        let unnamed = bench.refusal(&identify(0x03, nsid, 0));
        assert_eq!(unnamed, Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    for nsid in [0, 1025, 0xFFFF_FFFE, NSID_ALL] {
        for cns in [0x00, 0x03, 0x05, 0x08] {
            let invalid = bench.refusal(&identify(cns, nsid, 0));
            assert_eq!(invalid, Status::INVALID_NAMESPACE_OR_FORMAT, "CNS {cns:#x} of {nsid:#x}");
        }
    }
}

#[test]
fn command_sets_not_chosen_are_hidden() {
    let mut bench = Bench::enabled(CC_NVM);
    assert_eq!(u64_at(&bench.data(&identify(0x02, 0, 0)), 0), u64::from(BLOCK));
    assert_eq!(u64_at(&bench.data(&identify(0x07, 0, 1)), 0), 0);
    assert_eq!(bench.data(&identify(0x08, KV, 0)), vec![0; 4096]);
    assert_eq!(bench.data(&identify(0x05, KV, 1)), vec![0; 4096]);
    assert_eq!(bench.refusal(&identify(0x03, KV, 0)), Status::INVALID_NAMESPACE_OR_FORMAT);
    let usable = |bench: &Bench| {
        let all = bench.namespaces.iter();
        all.filter(|facts| bench.controller.is_usable(facts)).map(|facts| facts.nsid).collect::<Vec<_>>()
    };
    assert_eq!(usable(&bench), [BLOCK]);
    assert_eq!(usable(&Bench::enabled(CC_ALL)), [BLOCK, KV]);
    assert_eq!(usable(&Bench::enabled(CC_ADMIN)), [0; 0]);
}

#[test]
fn other_structures_do_not_exist() {
    let mut bench = Bench::enabled(CC_ALL);
    let known = [0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x12, 0x13, 0x1C];
    for cns in (0..=255).filter(|cns| !known.contains(cns)) {
        assert_eq!(bench.refusal(&identify(cns, KV, 1)), Status::INVALID_FIELD, "CNS {cns:#x}");
    }
}

fn of_format(cns: u8, csi: u8, index: u16) -> saker_nvme::Sqe {
    build::identify(&Identify { nsid: 0, cns, cntid: 0, specific_id: index, csi, uuid_index: 0 })
}

#[test]
fn formats_are_described_without_a_namespace() {
    let mut bench = Bench::enabled(CC_ALL);
    let data = bench.data(&of_format(0x09, 0, 0));
    assert_eq!((u64_at(&data, 0), u64_at(&data, 8), data[25]), (0, 0, 0), "no sizes");
    assert_eq!((&data[128..132], data[33], u32_at(&data, 76)), (&[0, 0, 12, 0][..], 0b001, 256));
    assert_eq!(bench.data(&of_format(0x0A, 0, 0)), vec![0; 4096]);
    let pairs = bench.data(&of_format(0x0A, 1, 0));
    assert_eq!((u64_at(&pairs, 0), u16_at(&pairs, 72), u32_at(&pairs, 76)), (0, 16, 2 << 20));
    for other in [of_format(0x09, 0, 1), of_format(0x0A, 0, 1), of_format(0x0A, 1, 63), of_format(0x0A, 2, 0)]
    {
        assert_eq!(bench.refusal(&other), Status::INVALID_FIELD);
    }
    let mut bench = Bench::enabled(CC_NVM);
    assert_eq!(bench.refusal(&of_format(0x0A, 1, 0)), Status::INVALID_FIELD, "no pairs to be seen");
}

#[test]
fn controllers_are_listed_from_the_one_asked_for() {
    let mut bench = Bench::enabled(CC_ALL);
    let of = |cns, nsid, cntid| {
        build::identify(&Identify { nsid, cns, cntid, specific_id: 0, csi: 0, uuid_index: 0 })
    };
    let list = |bench: &mut Bench, cns, nsid, cntid| {
        let data = bench.data(&of(cns, nsid, cntid));
        let count = usize::from(u16_at(&data, 0));
        assert!(data[2 + 2 * count..].iter().all(|byte| *byte == 0), "zeros behind the last");
        (0..count).map(|n| u16_at(&data, 2 + 2 * n)).collect::<Vec<_>>()
    };
    assert_eq!(list(&mut bench, 0x13, 0, 0), [5], "alone");
    bench.controller.note_controllers(vec![2, 5, 9]);
    for (cntid, expected) in [(0, vec![2, 5, 9]), (3, vec![5, 9]), (9, vec![9]), (10, vec![])] {
        assert_eq!(list(&mut bench, 0x13, 0, cntid), expected);
        assert_eq!(list(&mut bench, 0x12, KV, cntid), expected);
    }
    assert_eq!(list(&mut bench, 0x12, INACTIVE, 0), [0; 0], "attached to none");
    assert_eq!(bench.refusal(&of(0x12, NSID_ALL, 0)), Status::INVALID_FIELD);
    assert_eq!(bench.refusal(&of(0x12, 0, 0)), Status::INVALID_NAMESPACE_OR_FORMAT);
}
