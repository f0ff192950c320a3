// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host may do: which namespaces it sees, whether it may write, and which admin commands that others feel.

use saker_device::controller::{NamespaceFacts, NamespaceKind};
use saker_nvme::admin::feature::fid;
use saker_nvme::admin::opcode as admin;
use saker_nvme::group::{Form, asks_for_outcome};
use saker_nvme::transfer::Contents;
use saker_nvme::vendor_specific::{COMMANDS, FID_SETTING, opcode as vendor};
use saker_nvme::{Sqe, Status, kv};

/// Admin commands that change what other hosts have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdminRights {
    /// Format NVM, Sanitize.
    pub format: bool,
    /// Set Features of the device: its write cache, settings of its engines.
    pub settings: bool,
    /// Namespace Management and Attachment.
    pub namespaces: bool,
    /// Firmware Commit and Firmware Image Download.
    pub firmware: bool,
}

impl AdminRights {
    /// All of them: what a host of this machine has if nothing else is said.
    pub const ALL: Self = Self { format: true, settings: true, namespaces: true, firmware: true };
    /// None: what a host that comes by the network has if nothing else is said.
    pub const NONE: Self = Self { format: false, settings: false, namespaces: false, firmware: false };

    fn allow(self, sqe: &Sqe) -> bool {
        match sqe.opcode {
            admin::FORMAT_NVM | SANITIZE => self.format,
            admin::SET_FEATURES => {
                self.settings || !matches!(sqe.cdw10.get() as u8, fid::VOLATILE_WRITE_CACHE | FID_SETTING)
            }
            NAMESPACE_MANAGEMENT | NAMESPACE_ATTACHMENT => self.namespaces,
            FIRMWARE_COMMIT | FIRMWARE_DOWNLOAD => self.firmware,
            _ => true,
        }
    }
}

// Commands that no device of ours has. Who gives it one shall not open it to everybody.
const NAMESPACE_MANAGEMENT: u8 = 0x0D;
const FIRMWARE_COMMIT: u8 = 0x10;
const FIRMWARE_DOWNLOAD: u8 = 0x11;
const NAMESPACE_ATTACHMENT: u8 = 0x15;
const SANITIZE: u8 = 0x84;

/// What a host may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// NSIDs that exist for it; `None`: all.
    pub namespaces: Option<Vec<u32>>,
    /// Whether it may only read.
    pub read_only: bool,
    /// Admin commands; `None`: [`AdminRights::ALL`] for a host that comes by this machine's own address, [`AdminRights::NONE`] for
    /// others.
    pub admin: Option<AdminRights>,
}

impl Rights {
    pub(crate) fn sees(&self, nsid: u32) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(&nsid))
    }

    /// The namespaces that exist for the host; `None` for all of them.
    pub(crate) fn narrow(&self, facts: &[NamespaceFacts]) -> Option<Vec<NamespaceFacts>> {
        self.namespaces.as_ref()?;
        Some(facts.iter().filter(|facts| self.sees(facts.nsid)).cloned().collect())
    }

    /// An admin command, or what is said to it. Who does not see all namespaces formats none that others have by naming all.
    pub(crate) fn check_admin(&self, sqe: &Sqe, is_local: bool) -> Result<(), Status> {
        let rights = self.admin.unwrap_or(if is_local { AdminRights::ALL } else { AdminRights::NONE });
        let is_format = matches!(sqe.opcode, admin::FORMAT_NVM | SANITIZE);
        let is_all = self.namespaces.is_some() && sqe.nsid.get() == saker_nvme::NSID_ALL;
        if !rights.allow(sqe) || (is_format && (self.read_only || is_all)) {
            return Err(Status::OPERATION_DENIED);
        }
        Ok(())
    }

    /// An I/O command, or what is said to it.
    pub(crate) fn check_io(&self, sqe: &Sqe, facts: &[NamespaceFacts]) -> Result<(), Status> {
        let nsid = sqe.nsid.get();
        let is_flush = sqe.opcode == kv::opcode::FLUSH;
        let is_for_all = is_flush && nsid == saker_nvme::NSID_ALL;
        if !self.sees(nsid) && !is_for_all {
            return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
        }
        if self.read_only && !is_flush && !only_reads(sqe, facts) {
            return Err(Status::NAMESPACE_WRITE_PROTECTED);
        }
        Ok(())
    }
}

/// Whether the command leaves what is stored as it is. Of a group its form says so, if all its entries are of one kind.
fn only_reads(sqe: &Sqe, facts: &[NamespaceFacts]) -> bool {
    let kind = facts.iter().find(|facts| facts.nsid == sqe.nsid.get()).map(|facts| &facts.kind);
    let contents = match kind {
        Some(NamespaceKind::Block { block_bytes, .. }) => Contents::Blocks { block_bytes: *block_bytes },
        // Of no namespace: the device refuses it.
        _ => Contents::Kv,
    };
    let is_harmless = COMMANDS.iter().any(|(code, _, changes)| *code == sqe.opcode && !changes);
    let reads = sqe.opcode == vendor::GROUP && reads_by_form(sqe);
    contents.only_reads(sqe) || is_harmless || reads || asks_for_outcome(sqe)
}

fn reads_by_form(sqe: &Sqe) -> bool {
    matches!(Form::from_number(sqe.cdw12.get() as u8), Some(Form::All(op)) if !op.is_write())
}
