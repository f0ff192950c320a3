// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A controller that is one of several ways to the same namespaces (Base 2.0, sections 2.4 and 8.1).
//!
//! A device on rings has one controller, and says so: CMIC and NMIC are zero and there is no asymmetric access. A target
//! gives each host that connects a controller; these are the ways to one subsystem, whose namespaces they share. All namespaces
//! are in one ANA group, for whatever keeps a way from one of them keeps it from all.

use saker_nvme::Status;
use saker_nvme::admin::feature::AsyncEventConfig;
use saker_nvme::admin::{GetLogPage, Identify};
use saker_nvme::csi;
use saker_nvme::identify::{
    Controller as ControllerPage, IndependentNamespace, KvNamespace, NvmNamespace, cns,
};
use saker_nvme::log::{AccessGroup, AccessHeader, GROUPS_ONLY, access_state};
use zerocopy::{FromBytes, IntoBytes};

use super::Controller;
use super::logs::cut;
use super::namespace::{NSID_MAX, Visible};
use super::outcome::{Decision, Outcome};

/// CMIC bits 0 and 1: several ports and several controllers; bit 3: asymmetric access is told.
const CMIC: u8 = 1 | 1 << 1 | 1 << 3;
/// NMIC bit 0: the namespace may be attached to several controllers at once.
const SHARED: u8 = 1;
/// ANACAP bits 0 to 2: the states that are told; bit 6: a namespace stays in its group.
const ANACAP: u8 = 0b111 | 1 << 6;
/// ANATT: a change is over at once, and the field must not be 0. Seconds.
const TRANSITION_SECONDS: u8 = 1;
/// ANAGRPID of every namespace.
const GROUP: u32 = 1;
/// ANAGRPMAX and NANAGRPID.
const GROUPS: u32 = 1;

/// How well a controller reaches the namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// As well as can be.
    #[default]
    Optimized,
    /// Well, but hosts should prefer others.
    NonOptimized,
    /// Not now: I/O commands are refused, and hosts use others.
    Inaccessible,
}

impl Access {
    const fn state(self) -> u8 {
        match self {
            Self::Optimized => access_state::OPTIMIZED,
            Self::NonOptimized => access_state::NON_OPTIMIZED,
            Self::Inaccessible => access_state::INACCESSIBLE,
        }
    }

    /// Whether commands may use the namespaces.
    ///
    /// # Errors
    /// 302h, which makes hosts try another way.
    pub const fn check(self) -> Result<(), Status> {
        match self {
            Self::Inaccessible => Err(Status::ASYMMETRIC_ACCESS_INACCESSIBLE),
            Self::Optimized | Self::NonOptimized => Ok(()),
        }
    }
}

/// What a controller tells when it is one of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paths {
    access: Access,
    /// CHGCNT of log page 0Ch.
    changes: u64,
}

impl Controller {
    /// Makes the controller one of several of its subsystem. To be called before the host looks.
    pub fn share(&mut self, access: Access) {
        self.paths = Some(Paths { access, changes: 0 });
        self.features.support_event(AsyncEventConfig::default().with_ana_change(true));
    }

    /// How well the controller reaches the namespaces.
    #[must_use]
    pub fn access(&self) -> Access {
        self.paths.map_or(Access::Optimized, |paths| paths.access)
    }

    /// Changes that: for log page 0Ch and, where the host asked for it, an asynchronous event. See
    /// [`Controller::next_event`]. Of no effect on a controller that is the only one.
    pub fn set_access(&mut self, access: Access) {
        let Some(paths) = self.paths.as_mut().filter(|paths| paths.access != access) else { return };
        *paths = Paths { access, changes: paths.changes + 1 };
        self.events.access_changed(self.features.values().events.ana_change());
    }

    /// Log page 0Ch.
    pub(super) fn access_log(&mut self, command: &GetLogPage, namespaces: Visible<'_>) -> Decision {
        let paths = self.paths.ok_or(Status::INVALID_LOG_PAGE)?;
        let nsids = if command.lsp & GROUPS_ONLY != 0 { Vec::new() } else { namespaces.nsids(None) };
        let page = page(paths, &nsids);
        let data = cut(&page, command, self.identity.max_transfer_bytes)?;
        if !command.retain_event {
            self.events.access_read();
        }
        Ok(Outcome::data(data))
    }

    /// Enters in a page of Identify that there are other controllers.
    pub(super) fn tell_paths(&self, command: &Identify, mut outcome: Outcome) -> Outcome {
        if let (Some(_), Some(page)) = (self.paths, &mut outcome.data) {
            match command.cns {
                cns::CONTROLLER => of_controller(page),
                cns::NAMESPACE => of_blocks(page),
                cns::CSI_NAMESPACE if command.csi == csi::KV => of_pairs(page),
                cns::INDEPENDENT_NAMESPACE => of_any(page),
                _ => {}
            }
        }
        outcome
    }
}

fn page(paths: Paths, nsids: &[u32]) -> Vec<u8> {
    let header = AccessHeader::new(paths.changes, GROUPS as u16);
    let group = AccessGroup::new(GROUP, nsids.len() as u32, paths.changes, paths.access.state());
    let nsids = nsids.iter().flat_map(|nsid| nsid.to_le_bytes());
    header.as_bytes().iter().chain(group.as_bytes()).copied().chain(nsids).collect()
}

fn of_controller(page: &mut [u8]) {
    let Ok(data) = ControllerPage::mut_from_bytes(page) else { return };
    data.cmic = CMIC;
    (data.anacap, data.anatt) = (ANACAP, TRANSITION_SECONDS);
    (data.anagrpmax, data.nanagrpid) = (GROUPS.into(), GROUPS.into());
    // With asymmetric access MNAN is not 0 (Linux refuses the controller otherwise) and at most NN.
    data.mnan = NSID_MAX.into();
    data.oaes = AsyncEventConfig(data.oaes.get()).with_ana_change(true).0.into();
}

fn of_blocks(page: &mut [u8]) {
    if let Ok(data) = NvmNamespace::mut_from_bytes(page)
        && data.nsze.get() > 0
    {
        (data.nmic, data.anagrpid) = (SHARED, GROUP.into());
    }
}

fn of_pairs(page: &mut [u8]) {
    if let Ok(data) = KvNamespace::mut_from_bytes(page)
        && data.nsze.get() > 0
    {
        (data.nmic, data.anagrpid) = (SHARED, GROUP.into());
    }
}

fn of_any(page: &mut [u8]) {
    if let Ok(data) = IndependentNamespace::mut_from_bytes(page)
        && data.nstat != 0
    {
        (data.nmic, data.anagrpid) = (SHARED, GROUP.into());
    }
}
