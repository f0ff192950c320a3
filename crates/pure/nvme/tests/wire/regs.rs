// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registers and doorbells.

use proptest::prelude::*;
use saker_nvme::regs::{Aqa, Cap, Cc, Csts, Doorbell, Vs};

#[test]
fn enabling_words_of_linux() {
    let cc = Cc::default().with_css(Cc::CSS_ALL).with_iosqes(6).with_iocqes(4);
    assert_eq!(cc.0, 0x0046_0060);
    assert_eq!(cc.with_en(true).0, 0x0046_0061);
    assert_eq!(cc.page_bytes(), 4096);
    assert_eq!(Aqa::default().with_asqs(31).with_acqs(31).0, 0x001F_001F);
    assert_eq!(Vs::V2_0.mjr(), 2);
    assert_eq!(Vs::default().with_mjr(1).with_mnr(4).0, 0x0001_0400);
}

#[test]
fn each_field_of_cap_has_its_bits() {
    let cap = Cap::default();
    let fields = [
        (cap.with_mqes(0xFFFF).0, 0, 16),
        (cap.with_cqr(true).0, 16, 1),
        (cap.with_ams(3).0, 17, 2),
        (cap.with_to(0xFF).0, 24, 8),
        (cap.with_dstrd(0xF).0, 32, 4),
        (cap.with_nssrs(true).0, 36, 1),
        (cap.with_css(0xFF).0, 37, 8),
        (cap.with_bps(true).0, 45, 1),
        (cap.with_mpsmin(0xF).0, 48, 4),
        (cap.with_mpsmax(0xF).0, 52, 4),
        (cap.with_pmrs(true).0, 56, 1),
        (cap.with_cmbs(true).0, 57, 1),
        (cap.with_nsss(true).0, 58, 1),
        (cap.with_crwms(true).0, 59, 1),
        (cap.with_crims(true).0, 60, 1),
    ];
    for (word, low, width) in fields {
        assert_eq!(word, ((1_u64 << width) - 1) << low, "bit {low}");
    }
    let sets = cap.with_css(Cap::CSS_NVM | Cap::CSS_IO_SETS).0;
    assert_eq!(sets, 1 << 37 | 1 << 43);
}

#[test]
fn each_field_of_cc_and_csts_has_its_bits() {
    let (cc, csts) = (Cc::default(), Csts::default());
    let fields = [
        (cc.with_en(true).0, 0x1),
        (cc.with_css(7).0, 0x70),
        (cc.with_mps(15).0, 0x780),
        (cc.with_ams(7).0, 0x3800),
        (cc.with_shn(3).0, 0xC000),
        (cc.with_iosqes(15).0, 0xF_0000),
        (cc.with_iocqes(15).0, 0xF0_0000),
        (cc.with_crime(true).0, 0x100_0000),
        (csts.with_rdy(true).0, 0x1),
        (csts.with_cfs(true).0, 0x2),
        (csts.with_shst(Csts::SHST_COMPLETE).0, 0x8),
        (csts.with_nssro(true).0, 0x10),
        (csts.with_pp(true).0, 0x20),
        (csts.with_st(true).0, 0x40),
    ];
    for (index, (word, bits)) in fields.into_iter().enumerate() {
        assert_eq!(word, bits, "field {index}");
    }
}

#[test]
fn doorbells_golden() {
    assert_eq!(Doorbell::SqTail(0).offset(0), 0x1000);
    assert_eq!(Doorbell::CqHead(0).offset(0), 0x1004);
    assert_eq!(Doorbell::SqTail(1).offset(0), 0x1008);
    assert_eq!(Doorbell::CqHead(3).offset(2), 0x1070);
    for none in [0, 0xFFC, 0x1002, 0x1000 + 8 * 65_536, u64::MAX] {
        assert_eq!(Doorbell::at(none, 0), None, "{none:#x}");
    }
    assert_eq!(Doorbell::at(0x1004, 1), None, "between two");
}

proptest! {
    #[test]
    fn doorbells_invert(qid: u16, stride in 0_u32..16, head: bool) {
        let doorbell = if head { Doorbell::CqHead(qid) } else { Doorbell::SqTail(qid) };
        prop_assert_eq!(Doorbell::at(doorbell.offset(stride), stride), Some(doorbell));
    }

    #[test]
    fn offsets_invert(offset in prop_oneof![0_u64..0x4000, any::<u64>()], stride in 0_u32..16) {
        if let Some(doorbell) = Doorbell::at(offset, stride) {
            prop_assert_eq!(doorbell.offset(stride), offset);
        }
    }

    #[test]
    fn setters_leave_the_rest(word: u32, mps in 0_u32..16, en: bool) {
        let cc = Cc(word).with_mps(mps).with_en(en);
        prop_assert_eq!(cc.0 & !0x781, word & !0x781);
        prop_assert_eq!((cc.mps(), cc.en()), (mps, en));
    }
}
