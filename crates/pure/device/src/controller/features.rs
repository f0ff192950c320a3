// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Get and Set Features (Base 2.0, sections 5.15 and 5.27; KV 1.0d, section 4.1.3).
//!
//! | feature | here |
//! |---|---|
//! | 01h Arbitration | kept; arbitration is round robin |
//! | 02h Power Management | power state 0 only (NPSS = 0) |
//! | 04h Temperature Threshold | kept, of the composite temperature only |
//! | 05h Error Recovery | per block namespace: TLER is kept, nothing being retried; DULBE is 02h (NSFEAT bit 2 clear) |
//! | 06h Volatile Write Cache | where there is one |
//! | 07h Number of Queues | set only while no I/O queue exists, else 0Ch |
//! | 08h, 09h interrupts | kept; the rings are polled |
//! | 0Ah Write Atomicity Normal | DN is kept, AWUN being no more than AWUPF |
//! | 0Bh Asynchronous Event Configuration | bits outside OAES and the critical warnings are dropped |
//! | 0Fh Keep Alive Timer | kept; the device watches the time. Over Fabrics Connect sets it first |
//! | 19h I/O Command Set Profile | combination 0, else 2Bh |
//! | 20h Key Value Configuration | per namespace; kept by the device over power cycles |
//! | 81h Host Identifier | 64 or 128 bits of data; over Fabrics 128 of Connect (64: 02h), not set (0Ch) |
//!
//! Any other identifier is 02h. All but 05h and 20h belong to the controller: Set Features with an NSID other than 0
//! and FFFFFFFFh is 0Fh, while Get Features ignores the NSID. All but 20h return to their defaults with a reset and
//! cannot be saved (0Dh): their saved value is the default. 20h is always saved, whatever SV says; its NSID must name
//! one active Key Value namespace, else 0Bh; so with 05h and block namespaces, of which FFFFFFFFh sets all.

mod error_recovery;
mod host_identifier;
mod kv;
mod temperature;
mod values;

use saker_nvme::admin::feature::{AsyncEventConfig, Capabilities, fid};
use saker_nvme::admin::{FeatureSelect, GetFeatures, SetFeatures};
use saker_nvme::{NSID_ALL, Status};

use super::identity::{Identity, Transport};
use super::namespace::Visible;
use super::outcome::{Action, Decision, Outcome};
use host_identifier::HostIdentifiers;
pub(super) use values::{EVENTS_SUPPORTED, Values};

/// The controller's features, and what they may become.
#[derive(Debug)]
pub(super) struct Features {
    values: Values,
    defaults: Values,
    write_cache_present: bool,
    queue_pairs_max: u16,
    host: HostIdentifiers,
}

impl Features {
    pub fn new(identity: &Identity) -> Self {
        let defaults = Values::new(identity.max_queue_pairs);
        Self {
            values: defaults.clone(),
            defaults,
            write_cache_present: identity.volatile_write_cache,
            queue_pairs_max: identity.max_queue_pairs,
            host: HostIdentifiers::new(identity.transport != Transport::Memory),
        }
    }

    /// What Connect said of feature 0Fh: its default.
    pub const fn connect_keep_alive(&mut self, ms: u32) {
        (self.values.keep_alive_ms, self.defaults.keep_alive_ms) = (ms, ms);
    }

    /// The host can switch this event on too.
    pub const fn support_event(&mut self, event: AsyncEventConfig) {
        let supported = AsyncEventConfig(self.defaults.events_supported.0 | event.0);
        (self.values.events_supported, self.defaults.events_supported) = (supported, supported);
    }

    /// The host's identifier is known.
    pub const fn note_host_identifier(&mut self, identifier: [u8; 16], extended: bool) {
        self.host.note(identifier, extended);
    }

    /// A controller level reset.
    pub fn reset(&mut self) {
        self.values = self.defaults.clone();
        self.host.reset();
    }

    pub const fn values(&self) -> &Values {
        &self.values
    }

    /// The device could not switch the cache to `enabled`.
    pub fn undo_write_cache(&mut self, enabled: bool) {
        self.values.write_cache = !enabled;
    }

    pub fn get(&self, command: &GetFeatures, namespaces: Visible<'_>) -> Decision {
        match command.fid {
            fid::KV_CONFIG => return kv::get(command, namespaces),
            fid::ERROR_RECOVERY => return error_recovery::get(command, &self.values.retry_times, namespaces),
            fid::HOST_IDENTIFIER => return self.host.get(command),
            _ => {}
        }
        // Even capabilities are told only of features, and of sub-features, that exist.
        let current = self.read(&self.values, command)?;
        Ok(Outcome::dw0(match command.select {
            FeatureSelect::Current => current,
            FeatureSelect::Default | FeatureSelect::Saved => self.read(&self.defaults, command)?,
            FeatureSelect::Supported => Capabilities::default().with_changeable(true).0,
        }))
    }

    fn read(&self, values: &Values, command: &GetFeatures) -> Result<u32, Status> {
        match command.fid {
            fid::ARBITRATION => Ok(values.arbitration),
            fid::POWER_MANAGEMENT => Ok(0),
            fid::TEMPERATURE_THRESHOLD => values.temperature.get(command.cdw11),
            fid::VOLATILE_WRITE_CACHE if self.write_cache_present => Ok(u32::from(values.write_cache)),
            fid::NUMBER_OF_QUEUES => Ok(values.queues.0),
            fid::INTERRUPT_COALESCING => Ok(values.interrupt_coalescing),
            fid::INTERRUPT_VECTOR => values.interrupt_vector(command.cdw11, self.queue_pairs_max),
            fid::WRITE_ATOMICITY => Ok(values.atomicity.0),
            fid::ASYNC_EVENT_CONFIG => Ok(values.events.0),
            fid::KEEP_ALIVE_TIMER => Ok(values.keep_alive_ms),
            fid::COMMAND_SET_PROFILE => Ok(0),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// `queues_exist`: whether an I/O queue has been created.
    pub fn set(&mut self, command: &SetFeatures, queues_exist: bool, namespaces: Visible<'_>) -> Decision {
        match command.fid {
            fid::KV_CONFIG => return kv::set(command, namespaces),
            fid::ERROR_RECOVERY => {
                return error_recovery::set(command, &mut self.values.retry_times, namespaces);
            }
            fid::HOST_IDENTIFIER => return self.host.set(command),
            _ => {}
        }
        self.check_scope(command)?;
        let value = command.cdw11;
        match command.fid {
            fid::NUMBER_OF_QUEUES if queues_exist => Err(Status::COMMAND_SEQUENCE_ERROR),
            fid::NUMBER_OF_QUEUES => self.values.grant_queues(value, self.queue_pairs_max).map(Outcome::dw0),
            fid::VOLATILE_WRITE_CACHE => Ok(self.switch_write_cache(value & 1 != 0)),
            _ => self.values.set(command.fid, value, self.queue_pairs_max).map(|()| Outcome::done()),
        }
    }

    /// The feature exists, belongs to the controller, and is not asked to be saved.
    fn check_scope(&self, command: &SetFeatures) -> Result<(), Status> {
        if !self.exists(command.fid) {
            return Err(Status::INVALID_FIELD);
        }
        if command.save {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        let of_controller = matches!(command.nsid, 0 | NSID_ALL);
        if of_controller { Ok(()) } else { Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC) }
    }

    fn exists(&self, fid: u8) -> bool {
        let probe = GetFeatures { nsid: 0, fid, select: FeatureSelect::Current, cdw11: 0 };
        self.read(&self.values, &probe).is_ok()
    }

    fn switch_write_cache(&mut self, enabled: bool) -> Outcome {
        let before = std::mem::replace(&mut self.values.write_cache, enabled);
        if before == enabled { Outcome::done() } else { Outcome::act(Action::SetWriteCache(enabled)) }
    }
}
