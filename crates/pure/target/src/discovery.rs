// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log page 70h of a discovery controller.

use core::net::IpAddr;

use saker_nvme::Status;
use saker_nvme::admin::GetLogPage;
use saker_nvme::fabrics::{DiscoveryEntry, DiscoveryHeader, nqn_field};
use zerocopy::IntoBytes;

/// A subsystem and where it is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Portal {
    /// SUBNQN.
    pub nqn: String,
    /// Address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
    /// PORTID: the same for all subsystems that are reached there.
    pub id: u16,
}

/// The log never changes while the target runs.
const GENERATION: u64 = 1;

/// The part of the page that the command asks for; zeros beyond its end.
pub(crate) fn log(portals: &[Portal], command: &GetLogPage) -> Result<Vec<u8>, Status> {
    if command.offset_is_index || command.bytes > u64::from(crate::TRANSFER_BYTES_MAX) {
        return Err(Status::INVALID_FIELD);
    }
    let page = page(portals);
    let offset = usize::try_from(command.offset).map_err(|_| Status::INVALID_FIELD)?;
    let rest = page.get(offset..).ok_or(Status::INVALID_FIELD)?;
    let mut data: Vec<u8> = rest.iter().copied().take(command.bytes as usize).collect();
    data.resize(command.bytes as usize, 0);
    Ok(data)
}

fn page(portals: &[Portal]) -> Vec<u8> {
    let mut page = DiscoveryHeader::new(GENERATION, portals.len() as u64).as_bytes().to_vec();
    for portal in portals {
        let nqn = nqn_field(&portal.nqn).expect("a portal's name was checked when its subsystem was made");
        let mut entry =
            DiscoveryEntry::tcp(nqn, portal.address.is_ipv6(), &portal.address.to_string(), portal.port);
        entry.portid = portal.id.into();
        page.extend_from_slice(entry.as_bytes());
    }
    page
}
