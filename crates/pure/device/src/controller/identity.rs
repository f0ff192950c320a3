// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a controller says of itself, and what it promises hosts.

use saker_nvme::regs::Cap;
use saker_nvme::vendor_specific::Capabilities;
use thiserror::Error;

/// Bytes of a memory page: CAP.MPSMIN and CAP.MPSMAX are both 0.
pub const PAGE_BYTES: u32 = 4096;

/// The longest NVMe qualified name in bytes (Base 2.0, section 4.5).
const NQN_BYTES_MAX: usize = 223;

/// CAP.TO in units of 500 ms: the longest a host waits for CSTS.RDY. 30 s leave room for the recovery of a large image.
const READY_TIMEOUT: u8 = 60;

/// How hosts reach a controller, and what for: it decides which commands there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// Queues in memory, made by admin commands.
    #[default]
    Memory,
    /// Fabrics: queues are connections.
    Fabrics,
    /// Fabrics, to a discovery controller: no I/O, no namespaces.
    Discovery,
}

/// The constant properties of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// SN: at most 20 characters of printable ASCII.
    pub serial: String,
    /// MN: at most 40 characters of printable ASCII.
    pub model: String,
    /// FR: at most 8 characters of printable ASCII.
    pub firmware: String,
    /// SUBNQN: the NVM subsystem's qualified name, 1 to 223 bytes.
    pub subnqn: String,
    /// The subsystem's UUID, from which those of the namespaces derive; all zeros for none.
    pub uuid: [u8; 16],
    /// CNTLID.
    pub controller_id: u16,
    /// I/O submission queues, and as many completion queues: 1 to 65,534.
    pub max_queue_pairs: u16,
    /// Entries of the largest I/O queue: 2 to 65,536.
    pub max_queue_entries: u32,
    /// The largest transfer of one command (MDTS): a power of two, at least a page, and at least the longest value.
    pub max_transfer_bytes: u32,
    /// Whether completed writes may be lost with the power before a Flush (VWC).
    pub volatile_write_cache: bool,
    /// Whether data pointers may be SGLs.
    pub sgl: bool,
    /// How hosts reach it.
    pub transport: Transport,
    /// Log page C0h; `None` for a device without vendor commands.
    pub vendor: Option<Capabilities>,
}

/// A property that the wire cannot carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum IdentityError {
    /// A text is too long for its field or not printable ASCII.
    #[error("{field} must be at most {max} characters of printable ASCII")]
    Text {
        /// Name of the field.
        field: &'static str,
        /// Characters that it holds.
        max: usize,
    },
    /// The qualified name is empty, too long, or does not begin with "nqn.".
    #[error("the subsystem's name must begin with \"nqn.\" and have at most {NQN_BYTES_MAX} bytes")]
    Subnqn,
    /// No queue pair, or more than the Number of Queues feature can grant.
    #[error("{0} queue pairs: must be 1 to 65534")]
    QueuePairs(u16),
    /// A queue size that CAP.MQES cannot hold.
    #[error("{0} queue entries: must be 2 to 65536")]
    QueueEntries(u32),
    /// A transfer size that MDTS cannot hold.
    #[error("transfers of {0} bytes: must be a power of two of at least a page")]
    Transfer(u32),
}

impl Identity {
    /// Whether every property fits its field on the wire.
    ///
    /// # Errors
    /// The first property that does not.
    pub fn check(&self) -> Result<(), IdentityError> {
        check_text("the serial number", &self.serial, 20)?;
        check_text("the model number", &self.model, 40)?;
        check_text("the firmware revision", &self.firmware, 8)?;
        if !self.subnqn.starts_with("nqn.") || self.subnqn.len() > NQN_BYTES_MAX {
            return Err(IdentityError::Subnqn);
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), IdentityError> {
        if !(1..u16::MAX).contains(&self.max_queue_pairs) {
            return Err(IdentityError::QueuePairs(self.max_queue_pairs));
        }
        if !(2..=1 << 16).contains(&self.max_queue_entries) {
            return Err(IdentityError::QueueEntries(self.max_queue_entries));
        }
        if !self.max_transfer_bytes.is_power_of_two() || self.max_transfer_bytes < PAGE_BYTES {
            return Err(IdentityError::Transfer(self.max_transfer_bytes));
        }
        Ok(())
    }

    /// CAP: contiguous queues, round robin, doorbells 4 bytes apart, 4 KiB pages, subsystem reset, the NVM command set
    /// alone or all command sets. Without CSS bit 6 Linux would ignore every Key Value namespace.
    #[must_use]
    pub fn caps(&self) -> Cap {
        Cap::default()
            .with_mqes((self.max_queue_entries - 1) as u16)
            .with_cqr(true)
            .with_to(READY_TIMEOUT)
            .with_nssrs(true)
            .with_css(Cap::CSS_NVM | Cap::CSS_IO_SETS)
    }

    /// Interrupt vectors: one for each completion queue, that of the admin queue included.
    #[must_use]
    pub const fn vectors(&self) -> u16 {
        self.max_queue_pairs + 1
    }

    /// MDTS: log2 of the pages of the largest transfer. A single page has no encoding but 0, which means "no limit", so
    /// the limit of such a controller is enforced without being announced.
    pub(super) fn mdts(&self) -> u8 {
        (self.max_transfer_bytes / PAGE_BYTES).trailing_zeros() as u8
    }

    /// The UUID of a namespace: the subsystem's, told apart by the NSID in its last four bytes, which hold neither
    /// version nor variant (RFC 9562, section 4). Hosts refuse two namespaces with one identifier.
    pub(super) fn namespace_uuid(&self, nsid: u32) -> Option<[u8; 16]> {
        let mut uuid = self.uuid;
        for (byte, mask) in uuid[12..].iter_mut().zip(nsid.to_be_bytes()) {
            *byte ^= mask;
        }
        (self.uuid != [0; 16]).then_some(uuid)
    }
}

fn check_text(field: &'static str, text: &str, max: usize) -> Result<(), IdentityError> {
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if printable && text.len() <= max { Ok(()) } else { Err(IdentityError::Text { field, max }) }
}
