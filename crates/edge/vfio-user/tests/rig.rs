// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server in this process, and a driver of our own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use saker_link::{DmaRegion, DoorbellKind, PAGE_BYTES};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Cqe, Key, Sqe, Status};
use saker_vfio_client::{Function, Pair};
use saker_vfio_user::{Served, Server};

/// What is served unless a test wants something else.
pub const PAIRS: &str = "mem:?size=64MiB&profile=tiny";

/// A server and the folder of its socket.
pub struct Rig {
    pub server: Option<Server>,
    pub socket: PathBuf,
    pub folder: tempfile::TempDir,
}

impl Rig {
    pub fn new(url: &str, busy_poll: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::in_folder(folder, url, busy_poll)
    }

    pub fn in_folder(folder: tempfile::TempDir, url: &str, busy_poll: bool) -> Self {
        let socket = folder.path().join("socket");
        let url = url.replace("FOLDER", folder.path().to_str().unwrap());
        let served = Served { url, socket: socket.clone(), nqn: None, busy_poll, memory_buffer: false };
        Self { server: Some(Server::start(&[served]).unwrap()), socket, folder }
    }

    /// Ends it in order.
    pub fn stop(&mut self) {
        self.server.take().unwrap().stop().unwrap();
    }

    /// A driver that has enabled the controller.
    pub fn driver(&self) -> Driver {
        let mut driver = Driver::open(self);
        driver.function.enable().unwrap();
        driver
    }
}

/// A driver: one queue pair, data in one region at a time.
pub struct Driver {
    pub function: Function,
    pub pair: Option<Pair>,
    next_cid: u16,
}

/// Pages of memory of a driver.
const PAGES: u32 = 2048;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

impl Driver {
    pub fn open(rig: &Rig) -> Self {
        Self { function: Function::open(&rig.socket, PAGES).unwrap(), pair: None, next_cid: 0 }
    }

    /// The same, with a queue pair of 64 entries.
    pub fn with_queue(mut self, interrupts: bool) -> Self {
        self.pair = Some(self.function.create_pair(1, 64, interrupts).unwrap());
        self
    }

    /// Memory that the device reaches.
    pub fn memory(&self, bytes: usize) -> DmaRegion {
        self.function.space().alloc_bytes(bytes.max(1)).unwrap()
    }

    /// Submits a command, and takes its completion.
    pub fn io(&mut self, sqe: &Sqe) -> Cqe {
        let cid = self.submit(sqe);
        let cqe = self.completion();
        assert_eq!(cqe.cid.get(), cid, "a completion of another command");
        cqe
    }

    pub fn submit(&mut self, sqe: &Sqe) -> u16 {
        self.next_cid = self.next_cid.wrapping_add(1);
        let pair = self.pair.as_mut().unwrap();
        pair.submit(&sqe.with_cid(self.next_cid)).unwrap();
        pair.ring();
        self.function.tell(1, DoorbellKind::SqTail).unwrap();
        self.next_cid
    }

    pub fn completion(&mut self) -> Cqe {
        let begun = Instant::now();
        loop {
            let pair = self.pair.as_mut().unwrap();
            if let Some(cqe) = pair.poll() {
                pair.ring_cq();
                self.function.tell(1, DoorbellKind::CqHead).unwrap();
                return cqe;
            }
            assert!(begun.elapsed() < PATIENCE, "no completion");
            std::hint::spin_loop();
        }
    }

    pub fn store(&mut self, key: &[u8], value: &[u8]) -> Status {
        let data = self.memory(value.len());
        data.write(0, value).unwrap();
        let sqe = kv::store(1, &Key::new(key).unwrap(), value.len() as u32, StoreOptions::default());
        self.io(&self.with_data(sqe, &data, value.len())).status()
    }

    pub fn retrieve(&mut self, key: &[u8]) -> Result<Vec<u8>, Status> {
        let room = 1 << 16;
        let data = self.memory(room);
        let sqe = kv::retrieve(1, &Key::new(key).unwrap(), room as u32);
        let cqe = self.io(&self.with_data(sqe, &data, room));
        if !cqe.status().is_success() {
            return Err(cqe.status());
        }
        let mut value = vec![0; cqe.result() as u32 as usize];
        data.read(0, &mut value).unwrap();
        Ok(value)
    }

    /// The entry with PRPs for a region; the list, if one is needed, is in memory that is never given back.
    pub fn with_data(&self, sqe: Sqe, data: &DmaRegion, bytes: usize) -> Sqe {
        let list = self.memory(PAGE_BYTES);
        let space = self.function.space();
        let prps = saker_nvme::prp::build(data.iova(), bytes as u32, 4096, list.iova(), |at, entry| {
            space.write_u64(at, entry).unwrap();
        });
        let (prp1, prp2) = prps.unwrap();
        if bytes > 2 * PAGE_BYTES {
            std::mem::forget(list);
        }
        sqe.with_prp(prp1, prp2)
    }
}
