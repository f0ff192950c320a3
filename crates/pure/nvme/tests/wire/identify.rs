// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify data structures.

use saker_nvme::identify::{Controller, KvFormat, KvNamespace, NvmNamespace, fill_text};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, KvCommand, Status};
use zerocopy::{FromZeros, IntoBytes};

use crate::golden::assert_image;

#[test]
fn controller_golden() {
    let mut id = Controller::new_zeroed();
    id.vid = 0x1122.into();
    id.ssvid = 0x3344.into();
    fill_text(&mut id.sn, "S1");
    id.mn = [0x4D; 40];
    id.fr = *b"12345678";
    id.rab = 0x61;
    id.ieee = [0x62, 0x63, 0x64];
    id.cmic = 0x65;
    id.mdts = 0x66;
    id.cntlid = 0x6768.into();
    id.ver = 0x0002_0001.into();
    id.rtd3r = 0x7172_7374.into();
    id.rtd3e = 0x7576_7778.into();
    id.oaes = 0x8182_8384.into();
    id.ctratt = 0x8586_8788.into();
    id.rrls = 0x898A.into();
    id.reserved_102 = [0x01; 9];
    id.cntrltype = 0x8B;
    id.fguid = [0x8C; 16];
    id.crdt = [0x0102.into(), 0x0304.into(), 0x0506.into()];
    id.reserved_134 = [0x02; 122];
    id.oacs = 0x9192.into();
    (id.acl, id.aerl, id.frmw, id.lpa, id.elpe, id.npss) = (0x93, 0x94, 0x95, 0x96, 0x97, 0x98);
    (id.avscc, id.apsta) = (0x99, 0x9A);
    id.wctemp = 0xA1A2.into();
    id.cctemp = 0xA3A4.into();
    id.mtfa = 0xA5A6.into();
    id.hmpre = 0xA7A8_A9AA.into();
    id.hmmin = 0xABAC_ADAE.into();
    id.tnvmcap = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10.into();
    id.unvmcap = 0x1112_1314_1516_1718_191A_1B1C_1D1E_1F20.into();
    id.rpmbs = 0xB1B2_B3B4.into();
    id.edstt = 0xB5B6.into();
    (id.dsto, id.fwug) = (0xB7, 0xB8);
    id.kas = 0xB9BA.into();
    id.hctma = 0xBBBC.into();
    id.mntmt = 0xBDBE.into();
    id.mxtmt = 0xBFC0.into();
    id.sanicap = 0xC1C2_C3C4.into();
    id.hmminds = 0xC5C6_C7C8.into();
    id.hmmaxd = 0xC9CA.into();
    id.nsetidmax = 0xCBCC.into();
    id.endgidmax = 0xCDCE.into();
    (id.anatt, id.anacap) = (0xCF, 0xD0);
    id.anagrpmax = 0xD1D2_D3D4.into();
    id.nanagrpid = 0xD5D6_D7D8.into();
    id.pels = 0xD9DA_DBDC.into();
    id.domainid = 0xDDDE.into();
    id.reserved_358 = [0x03; 154];
    (id.sqes, id.cqes) = (0x66, 0x44);
    id.maxcmd = 0xE1E2.into();
    id.nn = 0xE3E4_E5E6.into();
    id.oncs = 0xE7E8.into();
    id.fuses = 0xE9EA.into();
    (id.fna, id.vwc) = (0xEB, 0xEC);
    id.awun = 0xEDEE.into();
    id.awupf = 0xEFF0.into();
    (id.icsvscc, id.nwpc) = (0xF1, 0xF2);
    id.acwu = 0xF3F4.into();
    id.ocfs = 0x0404.into();
    id.sgls = 0xF5F6_F7F8.into();
    id.mnan = 0xF9FA_FBFC.into();
    id.reserved_544 = [0x05; 224];
    id.subnqn = [0x6E; 256];
    id.reserved_1024 = [0x06; 768];
    id.ioccsz = 0x1213_1415.into();
    id.iorcsz = 0x1617_1819.into();
    id.icdoff = 0x1A1B.into();
    (id.fcatt, id.msdbd) = (0x1C, 0x1D);
    id.ofcs = 0x1E1F.into();
    id.dctype = 0x20;
    id.reserved_1807 = [0x07; 241];
    id.psd[0].max_power = 0x3132.into();
    id.psd[0].reserved_2 = 0x33;
    id.psd[0].flags = 0x34;
    id.psd[0].entry_latency_us = 0x3536_3738.into();
    id.psd[0].exit_latency_us = 0x393A_3B3C.into();
    id.psd[0].relative_performance = [1, 2, 3, 4];
    id.psd[0].power = [0x3D; 16];
    id.psd[31].power = [0x3E; 16];
    id.vendor = [0x08; 1024];

    assert_image(
        id.as_bytes(),
        &[
            (0, &[0x22, 0x11, 0x44, 0x33]),
            (4, b"S1                  "),
            (24, &[0x4D; 40]),
            (64, b"12345678"),
            (72, &[0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x68, 0x67]),
            (80, &[0x01, 0x00, 0x02, 0x00]),
            (84, &[0x74, 0x73, 0x72, 0x71, 0x78, 0x77, 0x76, 0x75]),
            (92, &[0x84, 0x83, 0x82, 0x81, 0x88, 0x87, 0x86, 0x85]),
            (100, &[0x8A, 0x89]),
            (102, &[0x01; 9]),
            (111, &[0x8B]),
            (112, &[0x8C; 16]),
            (128, &[2, 1, 4, 3, 6, 5]),
            (134, &[0x02; 122]),
            (256, &[0x92, 0x91, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A]),
            (266, &[0xA2, 0xA1, 0xA4, 0xA3, 0xA6, 0xA5]),
            (272, &[0xAA, 0xA9, 0xA8, 0xA7, 0xAE, 0xAD, 0xAC, 0xAB]),
            (280, &[16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (296, &[32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17]),
            (312, &[0xB4, 0xB3, 0xB2, 0xB1, 0xB6, 0xB5, 0xB7, 0xB8]),
            (320, &[0xBA, 0xB9, 0xBC, 0xBB, 0xBE, 0xBD, 0xC0, 0xBF]),
            (328, &[0xC4, 0xC3, 0xC2, 0xC1, 0xC8, 0xC7, 0xC6, 0xC5]),
            (336, &[0xCA, 0xC9, 0xCC, 0xCB, 0xCE, 0xCD, 0xCF, 0xD0]),
            (344, &[0xD4, 0xD3, 0xD2, 0xD1, 0xD8, 0xD7, 0xD6, 0xD5]),
            (352, &[0xDC, 0xDB, 0xDA, 0xD9, 0xDE, 0xDD]),
            (358, &[0x03; 154]),
            (512, &[0x66, 0x44, 0xE2, 0xE1]),
            (516, &[0xE6, 0xE5, 0xE4, 0xE3]),
            (520, &[0xE8, 0xE7, 0xEA, 0xE9, 0xEB, 0xEC]),
            (526, &[0xEE, 0xED, 0xF0, 0xEF, 0xF1, 0xF2, 0xF4, 0xF3]),
            (534, &[0x04; 2]),
            (536, &[0xF8, 0xF7, 0xF6, 0xF5, 0xFC, 0xFB, 0xFA, 0xF9]),
            (544, &[0x05; 224]),
            (768, &[0x6E; 256]),
            (1024, &[0x06; 768]),
            (1792, &[0x15, 0x14, 0x13, 0x12, 0x19, 0x18, 0x17, 0x16]),
            (1800, &[0x1B, 0x1A, 0x1C, 0x1D, 0x1F, 0x1E, 0x20]),
            (1807, &[0x07; 241]),
            (2048, &[0x32, 0x31, 0x33, 0x34, 0x38, 0x37, 0x36, 0x35, 0x3C, 0x3B, 0x3A, 0x39, 1, 2, 3, 4]),
            (2064, &[0x3D; 16]),
            (3056, &[0x3E; 16]),
            (3072, &[0x08; 1024]),
        ],
    );
}

#[test]
fn new_controller_golden() {
    let runs: &[(usize, &[u8])] = &[(4, &[b' '; 68]), (82, &[2]), (111, &[1]), (512, &[0x66, 0x44])];
    assert_image(Controller::new().as_bytes(), runs);
}

#[test]
fn transfer_limit() {
    let mut id = Controller::new();
    assert_eq!(id.max_transfer_bytes(0), None);
    id.mdts = 9;
    assert_eq!(id.max_transfer_bytes(0), Some(2 << 20));
    assert_eq!(id.max_transfer_bytes(1), Some(4 << 20));
    id.mdts = 255;
    assert_eq!(id.max_transfer_bytes(u32::MAX), None);
}

#[test]
fn text_is_padded_and_cut() {
    let mut field = [0; 4];
    fill_text(&mut field, "ab");
    assert_eq!(&field, b"ab  ");
    fill_text(&mut field, "abc\ndef");
    assert_eq!(&field, b"abc ");
}

#[test]
fn kv_namespace_golden() {
    let mut id = KvNamespace::new_zeroed();
    id.nsze = 0x0102_0304_0506_0708.into();
    id.reserved_8 = [0xA1; 8];
    id.nuse = 0x1112_1314_1516_1718.into();
    (id.nsfeat, id.nkvf, id.nmic, id.rescap, id.fpi, id.kvfc) = (0x21, 0x22, 0x23, 0x24, 0x25, 0x26);
    id.reserved_30 = [0xA2; 2];
    id.novg = 0x3132_3334.into();
    id.anagrpid = 0x3536_3738.into();
    id.reserved_40 = [0xA3; 3];
    id.nsattr = 0x39;
    id.nvmsetid = 0x4142.into();
    id.endgid = 0x4344.into();
    id.nguid = [0x45; 16];
    id.eui64 = [0x46; 8];
    id.kvf[0] = KvFormat {
        key_max_bytes: 0x5152.into(),
        reserved_2: 0x53,
        relative_performance: 0x54,
        value_max_bytes: 0x5556_5758.into(),
        keys_max: 0x595A_5B5C.into(),
        reserved_12: [0x5D, 0x5E, 0x5F, 0x60],
    };
    id.kvf[15] = KvFormat::new(16, 0x20_0000);
    id.reserved_328 = [0xA4; 3512];
    id.vendor = [0xA5; 256];
    assert_image(
        id.as_bytes(),
        &[
            (0, &[8, 7, 6, 5, 4, 3, 2, 1]),
            (8, &[0xA1; 8]),
            (16, &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]),
            (24, &[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0xA2, 0xA2]),
            (32, &[0x34, 0x33, 0x32, 0x31, 0x38, 0x37, 0x36, 0x35]),
            (40, &[0xA3, 0xA3, 0xA3, 0x39, 0x42, 0x41, 0x44, 0x43]),
            (48, &[0x45; 16]),
            (64, &[0x46; 8]),
            (72, &[0x52, 0x51, 0x53, 0x54, 0x58, 0x57, 0x56, 0x55]),
            (80, &[0x5C, 0x5B, 0x5A, 0x59, 0x5D, 0x5E, 0x5F, 0x60]),
            (312, &[16, 0, 0, 0, 0, 0, 0x20, 0]),
            (328, &[0xA4; 3512]),
            (3840, &[0xA5; 256]),
        ],
    );
}

#[test]
fn one_format_is_stored_as_zero() {
    let id = KvNamespace::new(1 << 30, KvFormat::new(16, 0x20_0000));
    assert_image(id.as_bytes(), &[(3, &[0x40]), (72, &[16, 0, 0, 0, 0, 0, 0x20, 0])]);
    assert_eq!(id.current_format(), &KvFormat::new(16, 0x20_0000));
    let mut second = id;
    second.kvfc = 0xF1;
    second.kvf[1] = KvFormat::new(8, 512);
    assert_eq!(second.current_format(), &KvFormat::new(8, 512));
}

#[test]
fn format_limits_keys_and_stored_values() {
    let format = KvFormat::new(4, 100);
    let check = |sqe| format.check(&KvCommand::decode(&sqe).unwrap());
    let (fits, long) = (Key::new(b"1234").unwrap(), Key::new(b"12345").unwrap());
    assert_eq!(check(kv::store(1, &fits, 100, StoreOptions::NONE)), Ok(()));
    assert_eq!(check(kv::store(1, &fits, 101, StoreOptions::NONE)), Err(Status::INVALID_VALUE_SIZE));
    assert_eq!(check(kv::store(1, &long, 101, StoreOptions::NONE)), Err(Status::INVALID_KEY_SIZE));
    assert_eq!(check(kv::retrieve(1, &fits, 101)), Ok(()), "a buffer may be larger");
    for sqe in
        [kv::retrieve(1, &long, 0), kv::delete(1, &long), kv::exist(1, &long), kv::list(1, Some(&long), 4)]
    {
        assert_eq!(check(sqe), Err(Status::INVALID_KEY_SIZE));
    }
    assert_eq!(check(kv::list(1, None, 4)), Ok(()));
    assert_eq!(check(kv::flush(1)), Ok(()));
}

#[test]
fn nvm_namespace_golden() {
    let mut id = NvmNamespace::new_zeroed();
    id.nsze = 0x0102_0304_0506_0708.into();
    id.ncap = 0x1112_1314_1516_1718.into();
    id.nuse = 0x2122_2324_2526_2728.into();
    (id.nsfeat, id.nlbaf, id.flbas, id.mc, id.dpc, id.dps) = (0x31, 0x32, 0x33, 0x34, 0x35, 0x36);
    (id.nmic, id.rescap, id.fpi, id.dlfeat) = (0x37, 0x38, 0x39, 0x3A);
    id.nawun = 0x4142.into();
    id.nawupf = 0x4344.into();
    id.nacwu = 0x4546.into();
    id.nabsn = 0x4748.into();
    id.nabo = 0x494A.into();
    id.nabspf = 0x4B4C.into();
    id.noiob = 0x4D4E.into();
    id.nvmcap = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10.into();
    id.npwg = 0x5152.into();
    id.npwa = 0x5354.into();
    id.npdg = 0x5556.into();
    id.npda = 0x5758.into();
    id.nows = 0x595A.into();
    id.mssrl = 0x5B5C.into();
    id.mcl = 0x5D5E_5F60.into();
    id.msrc = 0x61;
    id.reserved_81 = [0xA1; 11];
    id.anagrpid = 0x6263_6465.into();
    id.reserved_96 = [0xA2; 3];
    id.nsattr = 0x66;
    id.nvmsetid = 0x6768.into();
    id.endgid = 0x696A.into();
    id.nguid = [0x6B; 16];
    id.eui64 = [0x6C; 8];
    id.lbaf[0].metadata_bytes = 0x7172.into();
    id.lbaf[0].data_size_log2 = 0x0C;
    id.lbaf[0].relative_performance = 0x03;
    id.lbaf[63].data_size_log2 = 0x09;
    id.vendor = [0xA3; 3712];
    assert_image(
        id.as_bytes(),
        &[
            (0, &[8, 7, 6, 5, 4, 3, 2, 1]),
            (8, &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]),
            (16, &[0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21]),
            (24, &[0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A]),
            (34, &[0x42, 0x41, 0x44, 0x43, 0x46, 0x45, 0x48, 0x47, 0x4A, 0x49, 0x4C, 0x4B, 0x4E, 0x4D]),
            (48, &[16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (64, &[0x52, 0x51, 0x54, 0x53, 0x56, 0x55, 0x58, 0x57, 0x5A, 0x59, 0x5C, 0x5B]),
            (76, &[0x60, 0x5F, 0x5E, 0x5D, 0x61]),
            (81, &[0xA1; 11]),
            (92, &[0x65, 0x64, 0x63, 0x62, 0xA2, 0xA2, 0xA2, 0x66]),
            (100, &[0x68, 0x67, 0x6A, 0x69]),
            (104, &[0x6B; 16]),
            (120, &[0x6C; 8]),
            (128, &[0x72, 0x71, 0x0C, 0x03]),
            (382, &[0x09]),
            (384, &[0xA3; 3712]),
        ],
    );
}

#[test]
fn block_size_comes_from_the_current_format() {
    let mut id = NvmNamespace::new(1000, 12);
    assert_image(id.as_bytes(), &[(0, &[0xE8, 3]), (8, &[0xE8, 3]), (130, &[12])]);
    assert_eq!(id.block_bytes(), Some(4096));
    id.lbaf[1].data_size_log2 = 9;
    id.flbas = 0x61;
    assert_eq!(id.block_bytes(), Some(512), "bits 6:5 do not count below 17 formats");
    id.lbaf[0x31].data_size_log2 = 13;
    id.nlbaf = 63;
    assert_eq!(id.block_bytes(), Some(8192));
    id.lbaf[0x31].data_size_log2 = 255;
    assert_eq!(id.block_bytes(), None);
}
