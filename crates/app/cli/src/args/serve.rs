// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `saker serve`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Serves until SIGTERM or SIGINT, then answers what was asked, flushes, and closes the image. SIGHUP has it read hosts and \
secrets again, without closing connections. One line on standard output \
says when hosts can connect. Only this machine can reach the default address; for others say who may connect.

Examples:
  saker serve --image disk.img
  saker serve --url 'mem:?size=4GiB' --listen 127.0.0.1:0
  saker serve --image disk.img --listen 0.0.0.0:4420 --allow-host nqn.2014-08.org.nvmexpress:uuid:UUID
  saker serve --image disk.img --resp 127.0.0.1:6379 --listen 127.0.0.1:4420
  saker serve --image disk.img --vfio-user disk.sock
  saker serve --image disk.img --secret-file host.key
  saker serve --image disk.img --scrub 50MiB
  saker serve --config saker.toml")]
pub struct ServeArgs {
    /// An image file to serve
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// A device to serve: mem: or file:IMAGE, with options; otherwise the variable SAKER_DEVICE
    #[arg(long, value_name = "URL")]
    pub url: Vec<String>,
    /// The subsystem's name; the device has one of its own
    #[arg(long, value_name = "NQN")]
    pub nqn: Option<String>,
    /// Where to listen [default: 127.0.0.1:4420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Where to listen for Redis clients; alone, nothing is served over NVMe/TCP unless --listen says where
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub resp: Option<SocketAddr>,
    /// Make the device a PCIe function at this socket, for QEMU and SPDK; nothing is served over the network then
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["resp", "listen"])]
    pub vfio_user: Option<PathBuf>,
    /// That function has a controller memory buffer of 2 MiB, which drivers may have queues and data in
    #[arg(long, requires = "vfio_user")]
    pub vfio_user_cmb: bool,
    /// A file whose first line is the password of Redis clients
    #[arg(long, value_name = "FILE")]
    pub resp_password_file: Option<PathBuf>,
    /// A host that may connect, by its name
    #[arg(long, value_name = "NQN", conflicts_with = "allow_any_host")]
    pub allow_host: Vec<String>,
    /// Any host may connect, from any machine that reaches the address
    #[arg(long)]
    pub allow_any_host: bool,
    /// Hosts have to authenticate with a secret of this file
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// This target's own secret, for hosts that ask for proof
    #[arg(long, value_name = "FILE", requires = "secret_file")]
    pub ctrl_secret_file: Option<PathBuf>,
    /// What hosts may do that other hosts feel: format, settings, namespaces, firmware [default: all on this machine's own
    /// addresses, nothing on others]
    #[arg(long, value_name = "NAME")]
    pub allow_admin: Vec<String>,
    /// off, or real: the profile's latencies, as an emulator
    #[arg(long, value_name = "TIMING", value_parser = ["off", "real"])]
    pub timing: Option<String>,
    /// A seeded fault, such as seed=7 or program=1/1000
    #[arg(long, value_name = "NAME=VALUE")]
    pub fault: Vec<String>,
    /// Memory of all connections together, such as 768MiB: data under way, and answers that hosts have not read
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    pub connections_memory_max: Option<u64>,
    /// Read and verify the images that are served, once a day, at most so many bytes a second
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    pub scrub: Option<u64>,
    /// A configuration file; what is given here comes on top
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read the configuration and the files that it names, say whether they are sound, and serve nothing
    #[arg(long)]
    pub check_config: bool,
    /// Poll instead of sleeping: lower latency for a core's time
    #[arg(long, visible_alias = "poll")]
    pub busy_poll: bool,
    /// Tell metrics over HTTP at this address, for Prometheus; anybody who reaches it may read them
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// What the log on standard error has: off, error, warn, info, debug, or levels by module [default: info; error with --quiet]
    #[arg(long, value_name = "LEVELS")]
    pub log: Option<String>,
    /// Lines of the log as text or as JSON [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub log_format: Option<String>,
    /// Log commands that take this many milliseconds or more; 0: none [default: 1000]
    #[arg(long, value_name = "MS")]
    pub slow_ms: Option<u64>,
    /// No log but errors, as --quiet asks
    #[arg(skip)]
    pub quiet: bool,
    /// The device of the variable SAKER_DEVICE, if nothing else is named
    #[arg(skip)]
    pub device: Option<String>,
}
