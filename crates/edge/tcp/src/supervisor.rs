// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a service manager is told: sd_notify(3) and its watchdog, sd_watchdog_enabled(3).

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::pulse::Pulse;

/// A service manager that has started this process and wants to hear of it.
#[derive(Clone, Debug)]
pub struct Supervisor {
    socket: Arc<UnixDatagram>,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// The one that the environment names (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`), if there is one.
    ///
    /// # Errors
    /// When its address makes no sense or the system has no socket.
    pub fn of_environment() -> io::Result<Option<Self>> {
        let variable = |name: &str| std::env::var_os(name);
        Self::of(variable("NOTIFY_SOCKET"), variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"))
    }

    fn of(
        address: Option<OsString>,
        watchdog: Option<OsString>,
        watched: Option<OsString>,
    ) -> io::Result<Option<Self>> {
        let Some(address) = address.filter(|address| !address.is_empty()) else { return Ok(None) };
        let address = match address.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&address)?,
        };
        let number = |text: Option<OsString>| text?.to_str()?.parse::<u64>().ok();
        let is_other = number(watched).is_some_and(|pid| pid != u64::from(std::process::id()));
        let watchdog = number(watchdog).filter(|micros| *micros > 0 && !is_other).map(Duration::from_micros);
        Ok(Some(Self { socket: Arc::new(UnixDatagram::unbound()?), address, watchdog }))
    }

    /// Hosts can connect.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")));
    }

    /// The end has begun.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping");
    }

    /// Says as long as all threads of a server go on that they do. If one does not, the manager hears nothing and acts. `None`: it
    /// does not ask. The first word is out when the call returns: what a manager hears has the order of the calls here, however busy the
    /// machine is.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn watch(&self, pulse: Pulse) -> io::Result<Option<Watch>> {
        let Some(period) = self.watchdog else { return Ok(None) };
        let turn = period / 3;
        if pulse.beats(turn) {
            self.tell("WATCHDOG=1");
        }
        let (stop, stopped) = channel();
        let supervisor = self.clone();
        let thread = std::thread::Builder::new().name("saker-watchdog".into());
        let thread = thread.spawn(move || supervisor.watch_until(&stopped, &pulse, turn))?;
        Ok(Some(Watch { stop: Some(stop), thread: Some(thread) }))
    }

    /// Three times in a period: one word may be late.
    fn watch_until(&self, stopped: &Receiver<()>, pulse: &Pulse, turn: Duration) {
        while stopped.recv_timeout(turn) == Err(RecvTimeoutError::Timeout) {
            if pulse.beats(turn) {
                self.tell("WATCHDOG=1");
            }
        }
    }

    fn tell(&self, what: &str) {
        // A manager that is gone has nothing to hear, and what is served does not depend on it.
        let _ = self.socket.send_to_addr(what.as_bytes(), &self.address);
    }
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic there ends the process.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(socket: &str, watchdog: &str, watched: &str) -> io::Result<Option<Supervisor>> {
        Supervisor::of(Some(socket.into()), Some(watchdog.into()), Some(watched.into()))
    }

    #[test]
    fn an_environment_without_a_manager_is_none_and_nonsense_is_no_watchdog() {
        assert!(Supervisor::of(None, None, None).expect("none").is_none());
        assert!(of("", "5", "").expect("none").is_none());
        let own = std::process::id().to_string();
        let watchdog = |micros: &str, pid: &str| {
            of("@saker-test", micros, pid).expect("an address").expect("one").watchdog
        };
        assert_eq!(watchdog("3000000", &own), Some(Duration::from_secs(3)));
        assert_eq!(watchdog("3000000", ""), Some(Duration::from_secs(3)));
        assert_eq!(watchdog("3000000", "1"), None, "another process is watched");
        assert_eq!((watchdog("0", &own), watchdog("often", &own)), (None, None));
        assert!(of(&"x".repeat(200), "1", "").is_err(), "longer than an address can be");
    }

    #[test]
    fn what_is_told_arrives_by_path_and_by_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("notify");
        let name = format!("saker-test-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).expect("a name");
        let sockets = [
            (path.display().to_string(), UnixDatagram::bind(&path).expect("binds")),
            (format!("@{name}"), UnixDatagram::bind_addr(&abstract_address).expect("binds")),
        ];
        for (address, socket) in sockets {
            let supervisor = of(&address, "", "").expect("an address").expect("one");
            supervisor.ready("serving\nhere");
            supervisor.stopping();
            let mut buffer = [0; 200];
            let mut next = || {
                let bytes = socket.recv(&mut buffer).expect("receives");
                String::from_utf8_lossy(&buffer[..bytes]).into_owned()
            };
            assert_eq!(next(), "READY=1\nSTATUS=serving here");
            assert_eq!(next(), "STOPPING=1\nSTATUS=stopping");
        }
    }
}
