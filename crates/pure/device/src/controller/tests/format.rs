// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format NVM.

use saker_nvme::admin::{FormatNvm, build};
use saker_nvme::{NSID_ALL, Status};

use super::support::*;
use crate::controller::Action;

const FORMAT: FormatNvm = FormatNvm { nsid: KV, format_index: 0, secure_erase: 0 };

fn formats(nsids: &[u32], erase_user_data: bool) -> Action {
    Action::Format { nsids: nsids.to_vec(), erase_user_data }
}

#[test]
fn one_or_all_namespaces_are_formatted() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.action(&build::format_nvm(&FORMAT)), formats(&[KV], false));
    let erase = FormatNvm { nsid: BLOCK, secure_erase: 1, ..FORMAT };
    assert_eq!(bench.action(&build::format_nvm(&erase)), formats(&[BLOCK], true));
    let all = FormatNvm { nsid: NSID_ALL, ..FORMAT };
    assert_eq!(bench.action(&build::format_nvm(&all)), formats(&[KV, BLOCK], false));

    let mut bench = Bench::enabled(CC_NVM);
    assert_eq!(bench.action(&build::format_nvm(&all)), formats(&[BLOCK], false));
    let hidden = bench.refusal(&build::format_nvm(&FORMAT));
    assert_eq!(hidden, Status::INVALID_NAMESPACE_OR_FORMAT);
    let mut bench = Bench::enabled(CC_ADMIN);
    assert_eq!(bench.refusal(&build::format_nvm(&all)), Status::INVALID_NAMESPACE_OR_FORMAT);
}

#[test]
fn other_formats_and_erasures_are_refused() {
    let mut bench = Bench::enabled(CC_ALL);
    for format_index in [1, 15, 16, 63] {
        let other = FormatNvm { format_index, ..FORMAT };
        assert_eq!(bench.refusal(&build::format_nvm(&other)), Status::INVALID_FORMAT);
    }
    for secure_erase in 2..8 {
        let other = FormatNvm { secure_erase, ..FORMAT };
        assert_eq!(bench.refusal(&build::format_nvm(&other)), Status::INVALID_FIELD);
    }
    for nsid in [0, INACTIVE, 1025] {
        let nobody = FormatNvm { nsid, ..FORMAT };
        assert_eq!(bench.refusal(&build::format_nvm(&nobody)), Status::INVALID_NAMESPACE_OR_FORMAT);
    }
}

#[test]
fn protection_information_is_a_matter_of_blocks() {
    let mut bench = Bench::enabled(CC_ALL);
    for bit in 4..8 {
        for (nsid, refused) in [(KV, false), (BLOCK, true), (NSID_ALL, true)] {
            let mut sqe = build::format_nvm(&FormatNvm { nsid, ..FORMAT });
            sqe.cdw10 = (1_u32 << bit).into();
            if refused {
                assert_eq!(bench.refusal(&sqe), Status::INVALID_FORMAT);
            } else {
                assert_eq!(bench.action(&sqe), formats(&[KV], false));
            }
        }
    }
}
