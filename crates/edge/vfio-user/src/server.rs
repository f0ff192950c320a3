// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets, start and stop.

#[cfg(test)]
mod idle;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use saker::{DeviceUrl, Error, build_device_at, refuse_damaged};
use saker_device::Attachment;
use saker_link::{DmaSpace, Doorbells};
use saker_pcie::bar::{BAR4_BYTES, QUEUE_PAIRS};
use saker_pcie::{Function, MemoryBuffer};

use crate::doorbells::{self, DoorbellPage};
use crate::engine::{Engine, Parts, Stop};
use crate::error::ServeError;
use crate::probe::{Counts, Probe, Questions};

/// A device and where it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The device: `mem:` or `file:`, with options.
    pub url: String,
    /// The socket.
    pub socket: PathBuf,
    /// The subsystem's name; the device has one of its own.
    pub nqn: Option<String>,
    /// Whether its thread polls while a client is there, which may then map the doorbells.
    pub busy_poll: bool,
    /// Whether it has a controller memory buffer.
    pub memory_buffer: bool,
}

/// Devices that are served.
#[derive(Debug)]
pub struct Server {
    sockets: Vec<PathBuf>,
    probes: Vec<Probe>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
    stop: Arc<Stop>,
}

impl Server {
    /// Opens the devices, listens, and returns when clients can connect.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(served: &[Served]) -> Result<Self, ServeError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from)?;
        let stop = Arc::new(Stop { is_wanted: AtomicBool::new(false), wake });
        let mut server = Self { sockets: Vec::new(), probes: Vec::new(), threads: Vec::new(), stop };
        for served in served {
            server.add(served)?;
        }
        Ok(server)
    }

    fn add(&mut self, served: &Served) -> Result<(), ServeError> {
        let listener = listen(&served.socket)?;
        self.sockets.push(served.socket.clone());
        let parts = open(served, listener)?;
        let name = served.nqn.clone().unwrap_or_else(|| served.url.clone());
        self.probes.push(Probe { name, questions: Arc::clone(&parts.questions) });
        let engine = Engine::new(parts, Arc::clone(&self.stop));
        let thread = std::thread::Builder::new().name("saker-vfio-user".into());
        self.threads.push(thread.spawn(move || engine.run())?);
        tracing::info!(socket = %served.socket.display(), url = served.url, "serving by vfio-user");
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub fn sockets(&self) -> &[PathBuf] {
        &self.sockets
    }

    /// What asks the threads of the devices, in the order of the sockets.
    #[must_use]
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Leaves all clients, flushes and closes the devices. Clients that can be asked to leave are asked, and have 20 s.
    ///
    /// # Errors
    /// [`ServeError::Device`] if one could not be closed.
    pub fn stop(mut self) -> Result<(), ServeError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServeError> {
        self.stop.is_wanted.store(true, Ordering::Release);
        // A counter that is full wakes as well.
        let _ = rustix::io::write(&self.stop.wake, &1_u64.to_ne_bytes());
        let mut ended = Ok(());
        for thread in self.threads.drain(..) {
            let closed = thread.join().unwrap_or_else(|_| unreachable!("a panic there ends the process"));
            ended = ended.and(closed);
        }
        for socket in self.sockets.drain(..) {
            // Somebody may have removed it.
            let _ = std::fs::remove_file(socket);
        }
        Ok(ended?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Who drops it has no use for the answer.
        let _ = self.end();
    }
}

/// The device of a URL, attached to memory of clients that are still to come.
fn open(served: &Served, listener: UnixListener) -> Result<Parts, ServeError> {
    let mut url = DeviceUrl::parse(&served.url).map_err(Error::from)?;
    url.nqn.clone_from(&served.nqn);
    let page = served.busy_poll.then(DoorbellPage::new).transpose()?;
    let space = DmaSpace::new(0, 0);
    let attach = |queue_pairs| {
        let host = Attachment::new(Arc::clone(&space), queue_pairs);
        match &page {
            Some(page) => Attachment { doorbells: Arc::clone(&page.doorbells), ..host },
            None => Attachment { doorbells: Doorbells::new(QUEUE_PAIRS + 1), ..host },
        }
    };
    let (device, host, _) = build_device_at(&url, &attach)?;
    let mut device = refuse_damaged(device)?;
    let function = Function::new(host.registers, host.doorbells, host.bar);
    let buffer = served.memory_buffer.then(|| doorbells::memory(BAR4_BYTES)).transpose()?;
    let (function, memory_file) = match buffer {
        Some((file, memory)) => (function.with_memory(MemoryBuffer::new(memory)), Some(file)),
        None => (function, None),
    };
    let (counts, questions) = (Arc::<Counts>::default(), Arc::new(Questions::new()?));
    device.count_for(Arc::clone(&counts) as _);
    let doorbells = page.map(|page| page.file);
    let socket = served.socket.display().to_string();
    Ok(Parts { socket, listener, device, function, space, doorbells, memory_file, counts, questions })
}

/// A socket that only its owner may connect to. One that nobody listens on any more is replaced.
fn listen(path: &Path) -> Result<UnixListener, ServeError> {
    let refused = |error| ServeError::Socket(path.to_owned(), error);
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => return Err(ServeError::NoSocket(path.to_owned())),
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(ServeError::InUse(path.to_owned())),
        Ok(_) => std::fs::remove_file(path).map_err(refused)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(refused)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    Ok(listener)
}
