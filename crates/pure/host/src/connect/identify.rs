// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify (Base 2.0, section 5.17; KV 1.0d, section 4.1.5).

use saker_link::DmaError;
use saker_nvme::admin::{self, Identify};
use saker_nvme::identify::{
    ActiveNamespaces, CommandSetCombinations, Controller, Descriptor, DescriptorReader, IndependentNamespace,
    KvNamespace, cns,
};
use saker_nvme::{IDENTIFY_BYTES, csi};
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

use super::Connection;
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError};

impl Connection {
    /// Identify Controller, CNS 01h.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify_controller(&mut self, driver: &mut impl Driver) -> Result<Box<Controller>, HostError> {
        self.identify(driver, &request(cns::CONTROLLER, 0, 0))
    }

    /// The active namespaces of every command set in ascending order, CNS 02h. Repeats the command while lists are full.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify_active_namespaces(&mut self, driver: &mut impl Driver) -> Result<Vec<u32>, HostError> {
        let mut nsids = Vec::new();
        loop {
            let after = nsids.last().copied().unwrap_or(0);
            let list: Box<ActiveNamespaces> =
                self.identify(driver, &request(cns::ACTIVE_NAMESPACES, after, 0))?;
            let before = nsids.len();
            // A list that does not ascend would go on for ever.
            nsids.extend(list.iter().filter(|nsid| *nsid > after));
            if nsids.len() - before < list.nsids.len() {
                return Ok(nsids);
            }
        }
    }

    /// The command set of a namespace by its descriptors, CNS 03h; `None` if they do not tell.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify_command_set(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
    ) -> Result<Option<u8>, HostError> {
        let data: Box<[u8; IDENTIFY_BYTES]> =
            self.identify(driver, &request(cns::NAMESPACE_DESCRIPTORS, nsid, 0))?;
        let sets = DescriptorReader::new(&*data).filter_map(|descriptor| match descriptor {
            Ok(Descriptor::Csi(csi)) => Some(csi),
            _ => None,
        });
        Ok(sets.last())
    }

    /// A key-value namespace, CNS 05h with CSI 01h.
    ///
    /// # Errors
    /// [`HostError`]; [`Namespace`](crate::KvError::Namespace) if it is none.
    pub fn identify_kv_namespace(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
    ) -> Result<Box<KvNamespace>, HostError> {
        self.identify(driver, &request(cns::CSI_NAMESPACE, nsid, csi::KV))
    }

    /// What is known of a namespace whatever its command set, CNS 08h.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify_independent_namespace(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
    ) -> Result<Box<IndependentNamespace>, HostError> {
        self.identify(driver, &request(cns::INDEPENDENT_NAMESPACE, nsid, 0))
    }

    /// The combinations of command sets, CNS 1Ch, for the controller that answers.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify_command_sets(
        &mut self,
        driver: &mut impl Driver,
    ) -> Result<Box<CommandSetCombinations>, HostError> {
        self.identify(driver, &Identify { cntid: 0xFFFF, ..request(cns::COMMAND_SETS, 0, 0) })
    }

    /// The active key-value namespaces.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn kv_namespaces(&mut self, driver: &mut impl Driver) -> Result<Vec<u32>, HostError> {
        let mut found = Vec::new();
        for nsid in self.identify_active_namespaces(driver)? {
            if self.identify_command_set(driver, nsid)? == Some(csi::KV) {
                found.push(nsid);
            }
        }
        Ok(found)
    }

    /// Any Identify data structure of 4096 bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn identify<D>(&mut self, driver: &mut impl Driver, command: &Identify) -> Result<Box<D>, HostError>
    where
        D: FromBytes + IntoBytes + KnownLayout,
    {
        const { assert!(size_of::<D>() == IDENTIFY_BYTES) };
        self.execute_admin(driver, admin::build::identify(command).with_prp(self.page.iova(), 0))?;
        let mut data = Box::new(D::new_zeroed());
        let copied: Result<(), DmaError> = self.page.read(0, data.as_mut_bytes());
        copied.map_err(|_| ProtocolError::AdminQueue)?;
        Ok(data)
    }
}

fn request(cns: u8, nsid: u32, csi: u8) -> Identify {
    Identify { nsid, cns, cntid: 0, specific_id: 0, csi, uuid_index: 0 }
}
