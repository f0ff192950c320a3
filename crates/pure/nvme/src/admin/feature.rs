// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Feature identifiers and their attribute dwords: CDW11 of Set Features, DW0 of Get Features.

/// Feature identifiers (Base, Figure "Feature Identifiers"; KV, section 4.1.3).
pub mod fid {
    /// Arbitration.
    pub const ARBITRATION: u8 = 0x01;
    /// Power Management.
    pub const POWER_MANAGEMENT: u8 = 0x02;
    /// Temperature Threshold.
    pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
    /// Error Recovery, per namespace of logical blocks.
    pub const ERROR_RECOVERY: u8 = 0x05;
    /// Volatile Write Cache.
    pub const VOLATILE_WRITE_CACHE: u8 = 0x06;
    /// Number of Queues.
    pub const NUMBER_OF_QUEUES: u8 = 0x07;
    /// Interrupt Coalescing.
    pub const INTERRUPT_COALESCING: u8 = 0x08;
    /// Interrupt Vector Configuration.
    pub const INTERRUPT_VECTOR: u8 = 0x09;
    /// Write Atomicity Normal.
    pub const WRITE_ATOMICITY: u8 = 0x0A;
    /// Asynchronous Event Configuration.
    pub const ASYNC_EVENT_CONFIG: u8 = 0x0B;
    /// Timestamp.
    pub const TIMESTAMP: u8 = 0x0E;
    /// Keep Alive Timer.
    pub const KEEP_ALIVE_TIMER: u8 = 0x0F;
    /// Host Behavior Support.
    pub const HOST_BEHAVIOR: u8 = 0x16;
    /// I/O Command Set Profile.
    pub const COMMAND_SET_PROFILE: u8 = 0x19;
    /// Key Value Configuration, per namespace.
    pub const KV_CONFIG: u8 = 0x20;
    /// Host Identifier.
    pub const HOST_IDENTIFIER: u8 = 0x81;
}

/// SEL of Get Features: which value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FeatureSelect {
    /// 000b: the value in force.
    #[default]
    Current = 0,
    /// 001b: the default.
    Default = 1,
    /// 010b: the saved value.
    Saved = 2,
    /// 011b: [`Capabilities`].
    Supported = 3,
}

impl FeatureSelect {
    /// Decodes the three bits of SEL; `None` for a reserved value.
    #[must_use]
    pub const fn decode(sel: u32) -> Option<Self> {
        match sel {
            0 => Some(Self::Current),
            1 => Some(Self::Default),
            2 => Some(Self::Saved),
            3 => Some(Self::Supported),
            _ => None,
        }
    }
}

/// DW0 of Get Features with [`FeatureSelect::Supported`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(pub u32);

bitfields!(Capabilities(u32) {} flags {
    /// The feature can be saved.
    saveable / with_saveable: 0;
    /// The feature is per namespace.
    namespace_specific / with_namespace_specific: 1;
    /// The feature can be changed.
    changeable / with_changeable: 2;
});

/// Volatile Write Cache, 06h.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VolatileWriteCache(pub u32);

bitfields!(VolatileWriteCache(u32) {} flags {
    /// WCE: the cache is enabled.
    enabled / with_enabled: 0;
});

/// Number of Queues, 07h: asked for in CDW11, granted in DW0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NumberOfQueues(pub u32);

bitfields!(NumberOfQueues(u32) {
    /// NSQR / NSQA: I/O submission queues, 0's based. FFFFh is not allowed.
    submission / with_submission: 0, 16 => u16;
    /// NCQR / NCQA: I/O completion queues, 0's based. FFFFh is not allowed.
    completion / with_completion: 16, 16 => u16;
} flags {});

/// Asynchronous Event Configuration, 0Bh. The same bits announce support in OAES of Identify Controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AsyncEventConfig(pub u32);

bitfields!(AsyncEventConfig(u32) {
    /// SMART / health critical warnings to report.
    critical_warnings / with_critical_warnings: 0, 8 => u8;
} flags {
    /// Namespace attribute notices.
    namespace_attribute / with_namespace_attribute: 8;
    /// Firmware activation notices.
    firmware_activation / with_firmware_activation: 9;
    /// Asymmetric namespace access change notices.
    ana_change / with_ana_change: 11;
    /// Discovery log page change notices.
    discovery_change / with_discovery_change: 31;
});

/// Error Recovery, 05h (NVM, Set Features command): per namespace of logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorRecovery(pub u32);

bitfields!(ErrorRecovery(u32) {
    /// TLER: how long a read or write may be retried, in units of 100 ms; 0 without limit.
    retry_time / with_retry_time: 0, 16 => u16;
} flags {
    /// DULBE: reading a deallocated or unwritten block is an error.
    deallocated_is_error / with_deallocated_is_error: 16;
});

/// Write Atomicity Normal, 0Ah (NVM, Set Features command).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteAtomicity(pub u32);

bitfields!(WriteAtomicity(u32) {} flags {
    /// DN: AWUN need not be kept, AWUPF must.
    disable_normal / with_disable_normal: 0;
});

/// Host Identifier, 81h: CDW11. The identifier itself is data, 16 bytes or 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostIdentifier(pub u32);

bitfields!(HostIdentifier(u32) {} flags {
    /// EXHID: 128 bits instead of 64.
    extended / with_extended: 0;
});

impl HostIdentifier {
    /// Bytes of the identifier.
    #[must_use]
    pub const fn bytes(self) -> usize {
        if self.extended() { 16 } else { 8 }
    }
}

/// I/O Command Set Profile, 19h.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommandSetProfile(pub u32);

bitfields!(CommandSetProfile(u32) {
    /// IOCSCI: index of the combination in the data of Identify CNS 1Ch; 0 until set.
    combination / with_combination: 0, 9 => u16;
} flags {});

/// Key Value Configuration, 20h (KV, section 4.1.3.1): per namespace, persistent. Its zero value is our default: the
/// specification states none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KvConfig(pub u32);

bitfields!(KvConfig(u32) {} flags {
    /// EDNEK: Delete of a key that does not exist is an error, 87h; else it succeeds.
    delete_missing_is_error / with_delete_missing_is_error: 0;
});
