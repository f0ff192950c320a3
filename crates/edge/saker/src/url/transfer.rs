// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The option `transfer`: how values go to the device.

use saker_host::transfer::Adaptive;
use saker_host::{Method, Pacing, TransferOptions, TransferPolicy};
use saker_nvme::vendor_specific::PIGGYBACK_BYTES;

/// Values that fit the store command travel in it (BandSlim, ICPP'24, section 3.2); longer ones by PRPs.
pub(super) fn in_one_command() -> TransferOptions {
    let policy = TransferPolicy::Adaptive(Adaptive::new(PIGGYBACK_BYTES as u32 + 1, 0));
    TransferOptions { policy, ..TransferOptions::default() }
}

/// The policy of that name.
pub(super) fn parse(name: &str) -> Option<TransferOptions> {
    if name == "small" {
        return Some(in_one_command());
    }
    let method = methods().find(|method| method.name() == name)?;
    Some(TransferOptions::fixed(method, Pacing::Pipelined))
}

/// Devices opened here take no SGLs.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|method| *method != Method::Sgl)
}

/// What can be written for `transfer`.
pub(super) fn choices() -> String {
    let names: Vec<_> = methods().map(Method::name).collect();
    match names.as_slice() {
        [others @ .., last] => format!("write small, {} or {last}", others.join(", ")),
        [] => "write small".into(),
    }
}
