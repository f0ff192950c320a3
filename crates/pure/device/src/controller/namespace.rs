// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the controller needs to know of the namespaces, and which of them a host may use.

use saker_engine::Setting;
use saker_engine::write_gate::WriteControl;
use saker_nvme::csi;
use saker_nvme::regs::Cc;

/// NN: the largest NSID. One Active Namespace ID list holds them all.
pub const NSID_MAX: u32 = saker_nvme::identify::NSID_LIST_MAX as u32;

/// One attached namespace, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamespaceFacts {
    /// NSID: 1 to [`NSID_MAX`].
    pub nsid: u32,
    /// Its command set and size.
    pub kind: NamespaceKind,
    /// NGUID; all zeros for none.
    pub nguid: [u8; 16],
    /// EUI64; all zeros for none.
    pub eui64: [u8; 8],
}

/// The command set of a namespace with what that set reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamespaceKind {
    /// Key Value Command Set, with a single format.
    Kv {
        /// KVKML: the longest key.
        key_bytes_max: u16,
        /// KVVML: the longest value.
        value_bytes_max: u32,
        /// NSZE: room for keys and values.
        size_bytes: u64,
        /// NUSE: keys and values stored.
        used_bytes: u64,
        /// EDNEK of the Key Value Configuration feature.
        ednek: bool,
        /// The engine, as log page C1h names it.
        engine: &'static str,
        /// Its settings.
        settings: Vec<SettingFacts>,
        /// What its write control does and has done.
        writes: Box<WriteControl>,
    },
    /// NVM Command Set, with a single format.
    Block {
        /// Bytes of a logical block: a power of two of at least 512.
        block_bytes: u32,
        /// NSZE and NCAP: logical blocks.
        blocks: u64,
        /// NUSE: logical blocks in use.
        used_blocks: u64,
    },
}

/// A setting of a namespace, as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingFacts {
    /// Which.
    pub setting: &'static Setting,
    /// Its value; `None`: no number says it.
    pub number: Option<u64>,
}

impl NamespaceFacts {
    /// The Command Set Identifier.
    #[must_use]
    pub const fn csi(&self) -> u8 {
        match self.kind {
            NamespaceKind::Kv { .. } => csi::KV,
            NamespaceKind::Block { .. } => csi::NVM,
        }
    }
}

/// The I/O command sets that CC.CSS chose when the controller was enabled (Base 2.0, section 3.1.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CommandSets {
    /// 000b: the NVM Command Set only; Key Value namespaces are as if not attached.
    #[default]
    Nvm,
    /// 110b: every supported set, that is combination 0 of feature 19h.
    All,
    /// 111b: no I/O command set; no namespace can be used.
    AdminOnly,
}

impl CommandSets {
    /// Decodes CC.CSS; `None` for a value without meaning here.
    pub(super) const fn decode(css: u8) -> Option<Self> {
        match css {
            Cc::CSS_NVM => Some(Self::Nvm),
            Cc::CSS_ALL => Some(Self::All),
            Cc::CSS_ADMIN_ONLY => Some(Self::AdminOnly),
            _ => None,
        }
    }

    /// Whether the command set `csi` may be used.
    #[must_use]
    pub const fn contains(self, csi: u8) -> bool {
        match self {
            Self::Nvm => csi == csi::NVM,
            Self::All => csi == csi::NVM || csi == csi::KV,
            Self::AdminOnly => false,
        }
    }
}

/// The namespaces that the host can see: those of the command sets in use.
#[derive(Clone, Copy)]
pub(super) struct Visible<'a> {
    pub all: &'a [NamespaceFacts],
    pub sets: CommandSets,
}

impl<'a> Visible<'a> {
    pub fn iter(self) -> impl Iterator<Item = &'a NamespaceFacts> {
        self.all.iter().filter(move |facts| self.sets.contains(facts.csi()))
    }

    /// The namespace `nsid`, if it is active.
    pub fn find(self, nsid: u32) -> Option<&'a NamespaceFacts> {
        self.iter().find(|facts| facts.nsid == nsid)
    }

    /// The active NSIDs in ascending order, whatever order the device keeps them in.
    pub fn nsids(self, csi: Option<u8>) -> Vec<u32> {
        let chosen = self.iter().filter(|facts| csi.is_none_or(|csi| facts.csi() == csi));
        let mut nsids: Vec<u32> = chosen.map(|facts| facts.nsid).collect();
        nsids.sort_unstable();
        nsids
    }
}
