// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device says of itself.

use saker_nvme::admin::feature::{FeatureSelect, fid};
use saker_nvme::admin::{GetFeatures, GetLogPage, build};
use saker_nvme::identify::{
    CommandSetCombinations, Descriptor, DescriptorReader, IndependentNamespace, KvNamespace, cns,
};
use saker_nvme::log::{CommandEffects, EffectsLog, lid};
use saker_nvme::{IDENTIFY_BYTES, Status, csi, kv};
use zerocopy::FromBytes;

use crate::session::{Checked, Session, demand, value};
use crate::verdict::Verdict;

pub(super) fn descriptors(session: &mut Session<'_>) -> Checked {
    let nsid = session.subject().nsid();
    let answer = session.identify(cns::NAMESPACE_DESCRIPTORS, nsid, 0)?;
    demand!(answer.status.is_success(), "CNS 03h: {}", answer.status);
    let sets: Vec<u8> = DescriptorReader::new(&answer.data)
        .filter_map(|descriptor| match descriptor {
            Ok(Descriptor::Csi(csi)) => Some(csi),
            _ => None,
        })
        .collect();
    demand!(sets == [csi::KV], "the descriptors tell command sets {sets:?}");
    Ok(Verdict::Pass)
}

pub(super) fn command_sets(session: &mut Session<'_>) -> Checked {
    let mut command = saker_nvme::admin::Identify {
        nsid: 0,
        cns: cns::COMMAND_SETS,
        cntid: 0xFFFF,
        specific_id: 0,
        csi: 0,
        uuid_index: 0,
    };
    command.nsid = 0;
    let answer = session.subject().admin(&build::identify(&command), IDENTIFY_BYTES as u32)?;
    demand!(answer.status.is_success(), "CNS 1Ch: {}", answer.status);
    let page = CommandSetCombinations::read_from_bytes(&answer.data);
    let with_kv = page.is_ok_and(|page| page.iter().any(|vector| vector & (1 << csi::KV) != 0));
    demand!(with_kv, "no combination has bit 1");
    Ok(Verdict::Pass)
}

pub(super) fn formats(session: &mut Session<'_>) -> Checked {
    let (status, page) = session.kv_namespace()?;
    let Some(page) = page else { return Ok(Verdict::Fail(format!("CNS 05h, CSI 01h: {status}"))) };
    demand!(page.nkvf < 16, "NKVF is {}", page.nkvf);
    let current = usize::from(page.kvfc & 0xF);
    demand!(current <= usize::from(page.nkvf), "KVFC names format {current} of {}", page.nkvf + 1);
    let (key, value) = (page.kvf[current].key_max_bytes.get(), page.kvf[current].value_max_bytes.get());
    demand!((1..=16).contains(&key), "KVKML is {key}");
    demand!(value > 0, "KVVML is 0");
    Ok(Verdict::Pass)
}

fn reserved_ranges(page: &KvNamespace) -> [(&'static str, bool); 5] {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    [
        ("8 to 15", is_zero(&page.reserved_8)),
        ("30 and 31", is_zero(&page.reserved_30)),
        ("40 to 42", is_zero(&page.reserved_40)),
        ("328 to 3839", is_zero(&page.reserved_328)),
        ("2, 12 to 15 of a format", page.kvf.iter().all(|f| f.reserved_2 == 0 && is_zero(&f.reserved_12))),
    ]
}

pub(super) fn reserved(session: &mut Session<'_>) -> Checked {
    let (status, page) = session.kv_namespace()?;
    let Some(page) = page else { return Ok(Verdict::Fail(format!("CNS 05h, CSI 01h: {status}"))) };
    for (bytes, is_zero) in reserved_ranges(&page) {
        demand!(is_zero, "bytes {bytes} are not zero");
    }
    Ok(Verdict::Pass)
}

pub(super) fn usage(session: &mut Session<'_>) -> Checked {
    let used = |session: &mut Session<'_>| {
        session.kv_namespace().map(|(_, page)| page.map_or((0, 0), |page| (page.nsze.get(), page.nuse.get())))
    };
    let (size, before) = used(session)?;
    demand!(before <= size, "NUSE {before} of NSZE {size}");
    let key = session.key()?;
    let bytes = session.value_bytes_usable().min(65_536) as usize;
    let stored = session.store(&key, &value(1, bytes), 0)?;
    demand!(stored.is_success(), "Store of {bytes} bytes: {stored}");
    let (size, after) = used(session)?;
    session.delete(&key)?;
    demand!(after <= size, "NUSE {after} of NSZE {size}");
    let grown = after.saturating_sub(before);
    demand!(grown >= bytes as u64, "NUSE grew by {grown} when {bytes} bytes were stored");
    Ok(Verdict::Pass)
}

pub(super) fn ready(session: &mut Session<'_>) -> Checked {
    let nsid = session.subject().nsid();
    let answer = session.identify(cns::INDEPENDENT_NAMESPACE, nsid, 0)?;
    demand!(answer.status.is_success(), "CNS 08h: {}", answer.status);
    let ready = IndependentNamespace::read_from_bytes(&answer.data).is_ok_and(|page| page.nstat & 1 != 0);
    demand!(ready, "NSTAT bit 0 is clear");
    Ok(Verdict::Pass)
}

pub(super) fn missing(session: &mut Session<'_>) -> Checked {
    // Valid, and far beyond what any device has.
    let answer = session.identify(cns::CSI_NAMESPACE, 0xFFFF_FFF0, csi::KV)?;
    let is_empty = answer.status.is_success() && answer.data.iter().all(|byte| *byte == 0);
    let is_refused = answer.status.is(Status::INVALID_NAMESPACE_OR_FORMAT);
    demand!(is_empty || is_refused, "NSID FFFFFFF0h: {}", answer.status);
    Ok(Verdict::Pass)
}

pub(super) fn effects(session: &mut Session<'_>) -> Checked {
    let bytes = size_of::<EffectsLog>();
    let command = GetLogPage {
        nsid: 0,
        lid: lid::EFFECTS,
        lsp: 0,
        retain_event: false,
        bytes: bytes as u64,
        lsi: 0,
        offset: 0,
        offset_is_index: false,
        uuid_index: 0,
        csi: csi::KV,
    };
    let answer = session.subject().admin(&build::get_log_page(&command), bytes as u32)?;
    demand!(answer.status.is_success(), "log page 05h, CSI 01h: {}", answer.status);
    let Ok(log) = EffectsLog::read_from_bytes(&answer.data) else {
        return Ok(Verdict::Fail("log page 05h has no 4096 bytes".into()));
    };
    let of = |opcode: u8| CommandEffects(log.io[usize::from(opcode)].get());
    for opcode in
        [kv::opcode::STORE, kv::opcode::RETRIEVE, kv::opcode::LIST, kv::opcode::DELETE, kv::opcode::EXIST]
    {
        demand!(of(opcode).supported(), "opcode {opcode:02X}h is not listed");
        let changes = matches!(opcode, kv::opcode::STORE | kv::opcode::DELETE);
        demand!(of(opcode).content_change() == changes, "opcode {opcode:02X}h: LBCC is {}", !changes);
    }
    Ok(Verdict::Pass)
}

pub(super) fn key_value_feature(session: &mut Session<'_>) -> Checked {
    let nsid = session.subject().nsid();
    let command = GetFeatures { nsid, fid: fid::KV_CONFIG, select: FeatureSelect::Current, cdw11: 0 };
    let answer = session.subject().admin(&build::get_features(&command), 0)?;
    demand!(answer.status.is_success(), "Get Features 20h: {}", answer.status);
    demand!(answer.dw0 & !1 == 0, "DW0 is {:08X}h", answer.dw0);
    Ok(Verdict::Pass)
}
