// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A run: the subject, what it says of its format, the keys that are ours.

use std::collections::BTreeSet;

use saker_nvme::admin::{Identify, build};
use saker_nvme::identify::{KvNamespace, cns};
use saker_nvme::{IDENTIFY_BYTES, Sqe, Status, csi, kv};
use zerocopy::FromBytes;

use crate::subject::{Answer, Broken, Data, Subject};
use crate::verdict::Verdict;

/// The state of a run.
pub(crate) struct Session<'a> {
    subject: &'a mut dyn Subject,
    /// KVKML of the format in force.
    pub key_bytes_max: usize,
    /// KVVML of the format in force.
    pub value_bytes_max: u32,
    stored: BTreeSet<Vec<u8>>,
    next: u64,
}

pub(crate) type Checked = Result<Verdict, Broken>;

/// Fails with what was seen unless `holds`.
macro_rules! demand {
    ($holds:expr, $($seen:tt)*) => {
        if !$holds {
            return Ok($crate::verdict::Verdict::Fail(format!($($seen)*)));
        }
    };
}
pub(crate) use demand;

impl<'a> Session<'a> {
    pub fn begin(subject: &'a mut dyn Subject) -> Result<Self, Broken> {
        let mut session =
            Self { subject, key_bytes_max: 0, value_bytes_max: 0, stored: BTreeSet::new(), next: 1 };
        let (_, page) = session.kv_namespace()?;
        let page =
            page.ok_or_else(|| Broken("Identify Namespace (CNS 05h, CSI 01h) gives no data".into()))?;
        let format = page.kvf[usize::from(page.kvfc & 0xF)];
        session.key_bytes_max = usize::from(format.key_max_bytes.get()).min(16);
        session.value_bytes_max = format.value_max_bytes.get();
        Ok(session)
    }

    /// Deletes what is left of ours.
    pub fn end(mut self) -> Result<(), Broken> {
        for key in std::mem::take(&mut self.stored) {
            self.delete(&key)?;
        }
        Ok(())
    }

    pub fn subject(&mut self) -> &mut dyn Subject {
        self.subject
    }

    /// CNS 05h, CSI 01h: the status, and the page of a success.
    pub fn kv_namespace(&mut self) -> Result<(Status, Option<Box<KvNamespace>>), Broken> {
        let nsid = self.subject.nsid();
        let answer = self.identify(cns::CSI_NAMESPACE, nsid, csi::KV)?;
        let page = KvNamespace::read_from_bytes(&answer.data).ok().map(Box::new);
        Ok((answer.status, page.filter(|_| answer.status.is_success())))
    }

    pub fn identify(&mut self, cns: u8, nsid: u32, csi: u8) -> Result<Answer, Broken> {
        let command = Identify { nsid, cns, cntid: 0, specific_id: 0, csi, uuid_index: 0 };
        self.subject.admin(&build::identify(&command), IDENTIFY_BYTES as u32)
    }

    /// Bytes of the longest value that can be stored and read here.
    pub fn value_bytes_usable(&self) -> u32 {
        self.value_bytes_max.min(self.subject.transfer_bytes_max())
    }

    /// An entry for the namespace, with a key of any length up to 255: bytes behind the 16th have no place.
    pub fn sqe(&self, opcode: u8, key: &[u8]) -> Sqe {
        let mut sqe = Sqe::new(opcode, self.subject.nsid());
        let mut bytes = [0; 16];
        let used = key.len().min(16);
        bytes[..used].copy_from_slice(&key[..used]);
        let dword = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (sqe.cdw2, sqe.cdw3) = (dword(0).into(), dword(4).into());
        (sqe.cdw14, sqe.cdw15) = (dword(8).into(), dword(12).into());
        sqe.cdw11 = (key.len() as u32).into();
        sqe
    }

    /// An entry with CDW10, bytes of the value or the buffer.
    pub fn sized(&self, opcode: u8, key: &[u8], bytes: u32) -> Sqe {
        let mut sqe = self.sqe(opcode, key);
        sqe.cdw10 = bytes.into();
        sqe
    }

    /// A Store, with options as bits 15:8 of CDW11.
    pub fn store_command(&self, key: &[u8], value: &[u8], options: u32) -> (Sqe, Data) {
        let mut sqe = self.sized(kv::opcode::STORE, key, value.len() as u32);
        sqe.cdw11 = (key.len() as u32 | options << 8).into();
        let data = if value.is_empty() { Data::None } else { Data::Send(value.to_vec()) };
        (sqe, data)
    }

    /// A Retrieve with a buffer of so many bytes.
    pub fn retrieve_command(&self, key: &[u8], bytes: u32) -> (Sqe, Data) {
        let sqe = self.sized(kv::opcode::RETRIEVE, key, bytes);
        (sqe, if bytes == 0 { Data::None } else { Data::Receive(bytes) })
    }

    pub fn one(&mut self, sqe: Sqe, data: Data) -> Result<Answer, Broken> {
        self.all(vec![(sqe, data)])?.pop().ok_or_else(|| Broken("a command without an answer".into()))
    }

    /// All at once.
    pub fn all(&mut self, commands: Vec<(Sqe, Data)>) -> Result<Vec<Answer>, Broken> {
        self.subject.io(commands)
    }

    pub fn store(&mut self, key: &[u8], value: &[u8], options: u32) -> Result<Status, Broken> {
        let (sqe, data) = self.store_command(key, value, options);
        self.stored.insert(key.to_vec());
        Ok(self.one(sqe, data)?.status)
    }

    pub fn retrieve(&mut self, key: &[u8], bytes: u32) -> Result<Answer, Broken> {
        let (sqe, data) = self.retrieve_command(key, bytes);
        self.one(sqe, data)
    }

    pub fn exist(&mut self, key: &[u8]) -> Result<Status, Broken> {
        let sqe = self.sqe(kv::opcode::EXIST, key);
        Ok(self.one(sqe, Data::None)?.status)
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<Status, Broken> {
        self.stored.remove(key);
        let sqe = self.sqe(kv::opcode::DELETE, key);
        Ok(self.one(sqe, Data::None)?.status)
    }

    /// A List from `key` on, or from the beginning.
    pub fn list(&mut self, key: &[u8], bytes: u32) -> Result<Answer, Broken> {
        let sqe = self.sized(kv::opcode::LIST, key, bytes);
        self.one(sqe, if bytes == 0 { Data::None } else { Data::Receive(bytes) })
    }

    /// A key of `bytes` bytes that the device does not have; `None` if it has all that were tried.
    pub fn free_key(&mut self, bytes: usize) -> Result<Option<Vec<u8>>, Broken> {
        for _ in 0..1024 {
            let key: Vec<u8> = mixed(self.next).to_le_bytes().iter().copied().cycle().take(bytes).collect();
            self.next += 1;
            let is_ours = self.stored.contains(&key);
            if !is_ours && self.exist(&key)?.is(Status::KEY_DOES_NOT_EXIST) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// A free key of the longest kind. Failing that, the device is full of everything.
    pub fn key(&mut self) -> Result<Vec<u8>, Broken> {
        let found = self.free_key(self.key_bytes_max)?;
        found.ok_or_else(|| Broken("no free key was found: Exist never answers 87h".into()))
    }

    /// Whether the pair is there as it should be; what is wrong.
    pub fn is_stored(&mut self, key: &[u8], value: &[u8]) -> Result<Option<String>, Broken> {
        let room = (value.len() as u32 + 64).min(self.subject.transfer_bytes_max());
        let answer = self.retrieve(key, room)?;
        let seen = answer.data.get(..value.len()).unwrap_or_default();
        Ok(if !answer.status.is_success() {
            Some(format!("Retrieve of {} bytes: {}", value.len(), answer.status))
        } else if answer.dw0 as usize != value.len() {
            Some(format!("DW0 is {} for a value of {} bytes", answer.dw0, value.len()))
        } else if seen != value {
            let at = seen.iter().zip(value).position(|(a, b)| a != b).unwrap_or(seen.len());
            Some(format!("a value of {} bytes came back changed from byte {at} on", value.len()))
        } else {
            None
        })
    }
}

/// Bytes that tell which value they are of, and never repeat on the way.
pub(crate) fn value(seed: u64, bytes: usize) -> Vec<u8> {
    let words = (0..bytes.div_ceil(8) as u64).map(|n| mixed(seed << 32 | n).to_le_bytes());
    words.flatten().take(bytes).collect()
}

/// A bijection of 64 bits (the finaliser of SplitMix64; Steele et al., OOPSLA'14, Figure 17).
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}
