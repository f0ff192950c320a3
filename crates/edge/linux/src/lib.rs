// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A namespace behind the Linux kernel's NVMe driver, `/dev/ngXnY`, as if it were in this process.
//!
//! Linux makes that device for namespaces of every command set (6.0 and later for those it does not know, such as Key
//! Value), whatever connects them: PCIe or its own NVMe/TCP initiator. [`Passthrough`] serves the rings of the host library
//! and hands each entry to the kernel: I/O commands by io_uring (`NVME_URING_CMD_IO`, Linux 5.19), several at a time, or
//! one at a time by `NVME_IOCTL_IO64_CMD`; admin commands by `NVME_IOCTL_ADMIN64_CMD`. Enabling the controller and its
//! queues are the kernel's business and answered here.
//!
//! | module | holds |
//! |---|---|
//! | [`abi`] | the kernel's structures and numbers (`linux/nvme_ioctl.h`) |
//! | `node` | the device file and its ioctls |
//! | `ring` | io_uring with entries of 128 and completions of 32 bytes |
//! | `admin` | what the kernel must not be asked |
//! | `passthrough`, `relay` | the rings of the host library, registers and admin queue |
//! | `commands`, `flights` | I/O commands on their way |
//!
//! **When the kernel loses a connection**, commands that only read are repeated until the controller is back. Writes that
//! were on their way fail with the kernel's "Command Aborted By Host" (SCT 3, SC 71h): their outcome is not known.

pub mod abi;
mod admin;
mod buffer;
mod commands;
mod flights;
mod node;
mod passthrough;
mod pauses;
mod registers;
mod relay;
mod ring;

pub use passthrough::{LinuxError, Options, Passthrough, Submission};
