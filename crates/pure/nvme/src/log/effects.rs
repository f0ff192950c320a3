// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands Supported and Effects, log page 05h (Base).

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{admin, csi, fabrics, kv, nvm};

/// What one opcode does: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommandEffects(pub u32);

bitfields!(CommandEffects(u32) {
    /// CSE: 0 no restriction; 1 no other command on the same namespace; 2 none on any.
    submission / with_submission: 16, 3 => u8;
    /// Command scope: bit 0 namespace, 1 controller, 2 NVM set, 3 endurance group, 4 domain, 5 subsystem.
    scope / with_scope: 20, 12 => u16;
} flags {
    /// CSUPP: supported.
    supported / with_supported: 0;
    /// LBCC: user data may change.
    content_change / with_content_change: 1;
    /// NCC: capabilities of a namespace may change.
    namespace_change / with_namespace_change: 2;
    /// NIC: the number of namespaces may change.
    inventory_change / with_inventory_change: 3;
    /// CCC: capabilities of the controller may change.
    controller_change / with_controller_change: 4;
    /// A UUID index is supported.
    uuid / with_uuid: 19;
});

impl CommandEffects {
    /// Supported, changing nothing.
    pub const PLAIN: Self = Self(1 << 0);
    /// Supported, changing user data.
    pub const CHANGES_CONTENT: Self = Self(1 << 0 | 1 << 1);
    /// Format NVM: changes content and the namespace, alone on its namespace.
    const FORMAT: Self = Self(1 << 0 | 1 << 1 | 1 << 2 | 1 << 16);
}

/// The log page, 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct EffectsLog {
    /// By opcode: the admin commands.
    pub admin: [U32; 256],
    /// By opcode: the I/O commands of the command set asked for.
    pub io: [U32; 256],
    /// Reserved.
    pub reserved_2048: [u8; 2048],
}

layout!(EffectsLog, 4096, admin @ 0, io @ 1024, reserved_2048 @ 2048);

/// The admin commands of [`AdminCommand`](admin::AdminCommand).
const ADMIN: &[(u8, CommandEffects)] = &[
    (admin::opcode::DELETE_SQ, CommandEffects::PLAIN),
    (admin::opcode::CREATE_SQ, CommandEffects::PLAIN),
    (admin::opcode::GET_LOG_PAGE, CommandEffects::PLAIN),
    (admin::opcode::DELETE_CQ, CommandEffects::PLAIN),
    (admin::opcode::CREATE_CQ, CommandEffects::PLAIN),
    (admin::opcode::IDENTIFY, CommandEffects::PLAIN),
    (admin::opcode::ABORT, CommandEffects::PLAIN),
    (admin::opcode::SET_FEATURES, CommandEffects::PLAIN),
    (admin::opcode::GET_FEATURES, CommandEffects::PLAIN),
    (admin::opcode::ASYNC_EVENT_REQUEST, CommandEffects::PLAIN),
    (admin::opcode::KEEP_ALIVE, CommandEffects::PLAIN),
    (admin::opcode::FORMAT_NVM, CommandEffects::FORMAT),
];

/// Nothing beyond CSUPP and LBCC: more would make Linux freeze its queues around every passthrough command, and deny it
/// to ordinary users (`nvme_passthru_start`, `nvme_cmd_allowed`).
const KV: &[(u8, CommandEffects)] = &[
    (kv::opcode::FLUSH, CommandEffects::PLAIN),
    (kv::opcode::STORE, CommandEffects::CHANGES_CONTENT),
    (kv::opcode::RETRIEVE, CommandEffects::PLAIN),
    (kv::opcode::LIST, CommandEffects::PLAIN),
    (kv::opcode::DELETE, CommandEffects::CHANGES_CONTENT),
    (kv::opcode::EXIST, CommandEffects::PLAIN),
];

const NVM: &[(u8, CommandEffects)] = &[
    (nvm::opcode::FLUSH, CommandEffects::PLAIN),
    (nvm::opcode::WRITE, CommandEffects::CHANGES_CONTENT),
    (nvm::opcode::READ, CommandEffects::PLAIN),
    (nvm::opcode::COMPARE, CommandEffects::PLAIN),
    (nvm::opcode::WRITE_ZEROES, CommandEffects::CHANGES_CONTENT),
    (nvm::opcode::DATASET_MANAGEMENT, CommandEffects::CHANGES_CONTENT),
    (nvm::opcode::VERIFY, CommandEffects::PLAIN),
    (nvm::opcode::COPY, CommandEffects::CHANGES_CONTENT),
];

impl EffectsLog {
    /// The commands that this crate decodes, for one command set; of a command set it does not know, only the admin
    /// commands. A device adds its vendor commands and takes away what it does not support.
    #[must_use]
    pub fn for_csi(csi: u8) -> Self {
        let mut log = Self::new_zeroed();
        let io: &[_] = match csi {
            csi::KV => KV,
            csi::NVM => NVM,
            _ => &[],
        };
        ADMIN.iter().for_each(|(opcode, effects)| log.set_admin(*opcode, *effects));
        io.iter().for_each(|(opcode, effects)| log.set_io(*opcode, *effects));
        log
    }

    /// The same of a controller over Fabrics: its queues are made by Connect, not by admin commands, and any queue
    /// takes Fabrics commands.
    #[must_use]
    pub fn over_fabrics(mut self) -> Self {
        for opcode in admin::QUEUE_OPCODES {
            self.set_admin(opcode, CommandEffects::default());
        }
        self.set_admin(fabrics::OPCODE, CommandEffects::PLAIN);
        self.set_io(fabrics::OPCODE, CommandEffects::PLAIN);
        self
    }

    /// Sets the effects of an admin opcode; the default value takes the command away.
    pub fn set_admin(&mut self, opcode: u8, effects: CommandEffects) {
        set(&mut self.admin, opcode, effects);
    }

    /// Sets the effects of an I/O opcode; the default value takes the command away.
    pub fn set_io(&mut self, opcode: u8, effects: CommandEffects) {
        set(&mut self.io, opcode, effects);
    }

    /// The effects of an admin opcode.
    #[must_use]
    pub fn admin(&self, opcode: u8) -> CommandEffects {
        get(&self.admin, opcode)
    }

    /// The effects of an I/O opcode.
    #[must_use]
    pub fn io(&self, opcode: u8) -> CommandEffects {
        get(&self.io, opcode)
    }
}

fn set(table: &mut [U32; 256], opcode: u8, effects: CommandEffects) {
    if let Some(slot) = table.get_mut(usize::from(opcode)) {
        *slot = U32::new(effects.0);
    }
}

fn get(table: &[U32; 256], opcode: u8) -> CommandEffects {
    CommandEffects(table.get(usize::from(opcode)).map_or(0, |effects| effects.get()))
}
