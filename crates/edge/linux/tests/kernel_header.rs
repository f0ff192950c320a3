// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Layouts and numbers against the kernel's own header, as the C compiler sees it.

use std::process::Command;

use saker_linux::abi::{IOCTL_ADMIN64, IOCTL_ID, IOCTL_IO64, PassthroughCommand, URING_IO, UringCommand};

const PROGRAM: &str = r#"
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>
#include <linux/ioctl.h>
#include <linux/nvme_ioctl.h>
#define U(field) printf(" %zu", offsetof(struct nvme_uring_cmd, field))
int main(void) {
    printf("%zu", sizeof(struct nvme_uring_cmd));
    U(opcode); U(flags); U(nsid); U(cdw2); U(cdw3); U(metadata); U(addr); U(metadata_len); U(data_len);
    U(cdw10); U(cdw11); U(cdw12); U(cdw13); U(cdw14); U(cdw15); U(timeout_ms);
    printf(" %zu %zu", sizeof(struct nvme_passthru_cmd64), offsetof(struct nvme_passthru_cmd64, result));
    printf(" %lu %lu %lu %lu\n", (unsigned long)NVME_IOCTL_ID, (unsigned long)NVME_IOCTL_ADMIN64_CMD,
           (unsigned long)NVME_IOCTL_IO64_CMD, (unsigned long)NVME_URING_CMD_IO);
    return 0;
}
"#;

/// What the compiler says, or `None` where there is no compiler or no such header.
fn by_the_compiler() -> Option<Vec<usize>> {
    let dir = tempfile::tempdir().ok()?;
    let (source, program) = (dir.path().join("layout.c"), dir.path().join("layout"));
    std::fs::write(&source, PROGRAM).ok()?;
    let built = Command::new("cc").arg("-o").arg(&program).arg(&source).output().ok()?;
    if !built.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&built.stderr));
        return None;
    }
    let output = Command::new(&program).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_whitespace().map(|number| number.parse().expect("a number")).collect())
}

#[test]
fn layouts_and_numbers_are_the_kernels() {
    use std::mem::offset_of;
    let Some(expected) = by_the_compiler() else { return };
    let cdw2 = offset_of!(UringCommand, cdw2);
    let cdw10 = offset_of!(UringCommand, cdw10);
    let mut ours = vec![
        size_of::<UringCommand>(),
        offset_of!(UringCommand, opcode),
        offset_of!(UringCommand, flags),
        offset_of!(UringCommand, nsid),
        cdw2,
        cdw2 + 4,
        offset_of!(UringCommand, metadata),
        offset_of!(UringCommand, addr),
        offset_of!(UringCommand, metadata_len),
        offset_of!(UringCommand, data_len),
    ];
    ours.extend((0..6).map(|n| cdw10 + 4 * n));
    ours.push(offset_of!(UringCommand, timeout_ms));
    ours.extend([size_of::<PassthroughCommand>(), offset_of!(PassthroughCommand, result)]);
    ours.extend([IOCTL_ID, IOCTL_ADMIN64, IOCTL_IO64, URING_IO].map(|number| number as usize));
    assert_eq!(ours, expected);
}
