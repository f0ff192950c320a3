//! stub
#![allow(missing_docs, reason = "stub")]
use saker_link::{Registers, Sqe};
use saker_nvme::Status;
pub struct Identity { pub serial: String, pub model: String, pub firmware: String, pub subnqn: String, pub uuid: [u8;16], pub controller_id: u16, pub max_queue_pairs: u16, pub max_queue_entries: u32, pub max_transfer_bytes: u32, pub volatile_write_cache: bool, pub sgl: bool }
pub enum NamespaceFactsKind { Kv { key_bytes_max: u16, value_bytes_max: u32, size_bytes: u64, used_bytes: u64, ednek: bool }, Block { block_bytes: u32, blocks: u64, used_blocks: u64 } }
pub struct NamespaceFacts { pub nsid: u32, pub kind: NamespaceFactsKind, pub nguid: [u8;16], pub eui64: [u8;8] }
pub enum RegisterAction { Nothing, Enable { asq: u64, acq: u64, asq_entries: u16, acq_entries: u16 }, Disable, Shutdown(bool) }
pub enum Action { CreateCq { qid: u16, entries: u32, iova: u64 }, CreateSq { qid: u16, cqid: u16, entries: u32, iova: u64 }, DeleteSq(u16), DeleteCq(u16), Abort { sqid: u16, cid: u16 }, HoldAsyncEvent, SetEdnek { nsid: u32, value: bool }, Format { nsid: u32 } }
pub struct Outcome { pub status: Status, pub dw0: u32, pub data: Option<Vec<u8>>, pub action: Option<Action> }
#[derive(Debug)]
pub struct Controller;
impl Controller {
    pub fn new(_: Identity) -> Self { Self }
    pub fn publish(&self, _: &Registers) {}
    pub fn on_register_change(&mut self, _: &Registers) -> RegisterAction { RegisterAction::Nothing }
    pub fn ready(&mut self, _: &Registers) {}
    pub fn fail(&mut self, _: &Registers) {}
    pub fn disabled(&mut self, _: &Registers) {}
    pub fn shutdown_done(&mut self, _: &Registers) {}
    pub fn admin(&mut self, _: &Sqe, _: &[NamespaceFacts]) -> Outcome { Outcome { status: Status::SUCCESS, dw0: 0, data: None, action: None } }
    pub fn undo(&mut self, _: &Action) {}
}
