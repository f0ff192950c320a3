// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Get Log Page (Base 2.0, section 5.16).
//!
//! Pages 00h to 05h, 0Ch of a controller that is one of several, C0h to C3h of a device with vendor commands; any other is 09h.
//! An offset at or beyond the end of a page, and a length above MDTS, are 02h; a
//! length that passes the end is filled with zeros, which the specification leaves open. Offsets by index are 02h: no
//! page here has them. The health log is the controller's: an NSID other than 0 and FFFFFFFFh is 02h (LPA bit 0 clear).
//! C1h and C2h are of
//! one namespace (`settings`, `stalls`). The other pages ignore the NSID.

use saker_nvme::admin::GetLogPage;
use saker_nvme::log::{CommandEffects, EffectsLog, FirmwareSlots, SupportedLogs, lid};
use saker_nvme::vendor_specific::{
    COMMANDS, LID_CAPABILITIES, LID_COUNTERS, LID_SETTINGS, LID_WRITE_STALLS, Methods,
};
use saker_nvme::{NSID_ALL, Status, admin, csi, identify::fill_text};
use zerocopy::IntoBytes;

use super::Controller;
use super::identity::Transport;
use super::namespace::CommandSets;
use super::outcome::{Decision, Outcome};
use crate::methods::is_known;

const SUPPORTED: &[u8] =
    &[lid::SUPPORTED, lid::ERROR, lid::SMART, lid::FIRMWARE, lid::CHANGED_NAMESPACES, lid::EFFECTS];

/// No command set: only the admin commands.
const CSI_NONE: u8 = 0xFF;

impl Controller {
    pub(super) fn log_page(&mut self, command: &GetLogPage) -> Decision {
        let page = self.whole_page(command)?;
        let data = cut(&page, command, self.identity.max_transfer_bytes)?;
        if command.lid == lid::CHANGED_NAMESPACES && !command.retain_event {
            self.events.changes_read();
        }
        Ok(Outcome::data(data))
    }

    fn whole_page(&self, command: &GetLogPage) -> Result<Vec<u8>, Status> {
        match command.lid {
            lid::SUPPORTED => Ok(self.supported_page().as_bytes().to_vec()),
            lid::ERROR => Ok(self.health.error_page()),
            lid::SMART if !matches!(command.nsid, 0 | NSID_ALL) => Err(Status::INVALID_FIELD),
            lid::SMART => Ok(self.health.smart_page().as_bytes().to_vec()),
            lid::FIRMWARE => Ok(firmware_page(&self.identity.firmware)),
            lid::CHANGED_NAMESPACES => Ok(self.events.changed_page()),
            lid::EFFECTS => {
                effects_page(command.csi, self.command_sets(), self.identity.transport, self.methods())
            }
            LID_CAPABILITIES => match &self.identity.vendor {
                Some(page) => Ok(page.as_bytes().to_vec()),
                None => Err(Status::INVALID_LOG_PAGE),
            },
            LID_COUNTERS if self.has_vendor_commands() => Ok(self.health.counters_page()),
            _ => Err(Status::INVALID_LOG_PAGE),
        }
    }

    fn supported_page(&self) -> SupportedLogs {
        let discovery: &[u8] =
            if self.identity.transport == Transport::Discovery { &[lid::DISCOVERY] } else { &[] };
        let paths: &[u8] = if self.paths.is_some() { &[lid::ASYMMETRIC_ACCESS] } else { &[] };
        let vendor: &[u8] = if self.identity.vendor.is_some() {
            &[LID_CAPABILITIES, LID_SETTINGS, LID_WRITE_STALLS, LID_COUNTERS]
        } else {
            &[]
        };
        SupportedLogs::new(&[SUPPORTED, paths, discovery, vendor].concat())
    }

    fn methods(&self) -> Methods {
        self.identity.vendor.map_or(Methods::default(), |page| page.methods())
    }
}

/// The part of a page that the command asks for.
pub(super) fn cut(page: &[u8], command: &GetLogPage, bytes_max: u32) -> Result<Vec<u8>, Status> {
    if command.offset_is_index || command.bytes > u64::from(bytes_max) {
        return Err(Status::INVALID_FIELD);
    }
    let offset = usize::try_from(command.offset).map_err(|_| Status::INVALID_FIELD)?;
    let rest = page.get(offset..).filter(|rest| !rest.is_empty()).ok_or(Status::INVALID_FIELD)?;
    let mut data: Vec<u8> = rest.iter().copied().take(command.bytes as usize).collect();
    data.resize(command.bytes as usize, 0);
    Ok(data)
}

fn firmware_page(revision: &str) -> Vec<u8> {
    let mut text = [0; 8];
    fill_text(&mut text, revision);
    FirmwareSlots::single(text).as_bytes().to_vec()
}

/// CSI counts only where CC.CSS lets the host use several command sets.
fn effects_page(
    csi: u8,
    sets: CommandSets,
    transport: Transport,
    methods: Methods,
) -> Result<Vec<u8>, Status> {
    let csi = match sets {
        _ if transport == Transport::Discovery => CSI_NONE,
        CommandSets::Nvm => csi::NVM,
        CommandSets::AdminOnly => CSI_NONE,
        CommandSets::All => csi,
    };
    if sets == CommandSets::All && transport != Transport::Discovery && !sets.contains(csi) {
        return Err(Status::INVALID_FIELD);
    }
    let mut log = EffectsLog::for_csi(csi);
    if transport != Transport::Memory {
        log = log.over_fabrics();
    }
    if transport == Transport::Discovery {
        log.set_admin(admin::opcode::FORMAT_NVM, CommandEffects::default());
    }
    if csi == csi::KV {
        for (opcode, _, changes) in COMMANDS.into_iter().filter(|(opcode, ..)| is_known(methods, *opcode)) {
            let effects = if changes { CommandEffects::CHANGES_CONTENT } else { CommandEffects::PLAIN };
            log.set_io(opcode, effects);
        }
    }
    Ok(log.as_bytes().to_vec())
}
