// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker serve` under a service manager: it hears when hosts can connect, and as long as all threads go on.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::e2e::support::Desk;

fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 1000];
    let bytes = socket.recv(&mut buffer).expect("something is told in time");
    String::from_utf8_lossy(&buffer[..bytes]).into_owned()
}

/// A process that ends with its test, however that ends.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_manager_hears_of_the_start_the_watchdog_and_the_end() {
    let desk = Desk::new();
    let path = desk.path("notify");
    let manager = UnixDatagram::bind(&path).expect("binds");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("has a limit");
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.args(["serve", "--url", "mem:?size=8MiB&profile=tiny", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000").env_remove("WATCHDOG_PID");
    let mut child = Served(command.stdout(Stdio::null()).spawn().expect("starts"));
    let ready = next(&manager);
    assert!(ready.starts_with("READY=1\nSTATUS=serving nqn.") && ready.contains("127.0.0.1:"), "{ready}");
    assert_eq!((next(&manager), next(&manager)), ("WATCHDOG=1".into(), "WATCHDOG=1".into()));
    // Stopped, it says nothing, and goes on to do so when it goes on itself.
    let signal = |name: &str| {
        let status = Command::new("sh").args(["-c", &format!("kill {name} {}", child.0.id())]).status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    signal("-STOP");
    manager.set_nonblocking(true).expect("does not wait");
    while manager.recv(&mut [0; 1000]).is_ok() {}
    std::thread::sleep(Duration::from_millis(400));
    assert!(manager.recv(&mut [0; 1000]).is_err(), "a process that stands still says nothing");
    manager.set_nonblocking(false).expect("waits");
    signal("-CONT");
    assert_eq!(next(&manager), "WATCHDOG=1");
    signal("-TERM");
    while next(&manager) == "WATCHDOG=1" {}
    assert!(child.0.wait().expect("ends").success());
}

#[test]
fn the_unit_keeps_what_a_killed_process_is_known_by() {
    let unit = include_str!("../../../../../packaging/saker.service");
    let has = |line: &str| unit.lines().any(|other| other == line);
    assert!(has("Type=notify") && has("WatchdogSec=30") && has("Restart=on-failure"));
    // Without /proc/sys every kill would be taken for a crash of the operating system.
    assert!(!unit.lines().any(|line| line.starts_with("ProcSubset=")));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/saker.service");
    // Where there is no systemd, the lines above are what is looked at.
    let rated = Command::new("systemd-analyze").args(["security", "--offline=true", path]).output();
    let Ok(rated) = rated else { return };
    let said = String::from_utf8_lossy(&rated.stdout).into_owned();
    let level =
        said.rsplit_once("saker.service: ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(level.is_some_and(|level| level < 3.0), "{said}");
}
