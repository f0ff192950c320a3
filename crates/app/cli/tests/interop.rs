// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stock Linux kernels against `saker serve`, in QEMU: `interop/run`, a test for each kernel, and `interop/auth` for
//! authentication. And SPDK: `interop/spdk`, where the variable `SAKER_SPDK` names its source tree. And `interop/prometheus`:
//! promtool and Prometheus read its metrics. And `interop/vfio`: a guest whose NVMe controllers are `saker serve --vfio-user`, where
//! `SAKER_QEMU` names a QEMU that has vfio-user-pci. In the soak Redis's clients: `interop/redis`, and `interop/mooncake/run`: Mooncake's
//! published wheel drives the device.
//!
//! Tests that cannot run here are counted as ignored, unless the variable `SAKER_INTEROP` is `require`. A guest takes minutes of an
//! emulated processor, so the check tier has one. libtest decides before a test runs whether it is ignored; so this program speaks its
//! language without it.

use std::path::Path;
use std::process::{Command, ExitCode};

/// When a test runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// In both tiers, and `require` requires it.
    Required,
    /// In both tiers, if what it needs is there.
    Possible,
    /// In the soak.
    Soak,
}

/// Name of the test, script and what it is given behind the program (of kernels Debian's meta package), and when it runs.
const HOSTS: [(&str, &str, &[&str], When); 12] = [
    ("linux_6_1", "run", &["linux-image-cloud-amd64"], When::Required),
    ("linux_6_12", "run", &["linux-image-6.12-cloud-amd64"], When::Soak),
    ("vfio_linux_6_1", "vfio", &["linux-image-cloud-amd64"], When::Soak),
    ("vfio_linux_6_12", "vfio", &["linux-image-6.12-cloud-amd64"], When::Soak),
    ("auth_linux_6_12", "auth", &["linux-image-6.12-cloud-amd64"], When::Soak),
    ("spdk", "spdk", &[], When::Possible),
    ("prometheus", "prometheus", &[], When::Required),
    ("mooncake", "mooncake/run", &[], When::Possible),
    ("redis_benchmark", "redis", &["benchmark"], When::Possible),
    ("redis_cli", "redis", &["cli"], When::Possible),
    ("redis_py", "redis", &["python"], When::Possible),
    ("redis_node", "redis", &["node"], When::Possible),
];

/// Exit code of the scripts where something is missing.
const SKIPPED: i32 = 77;

enum Verdict {
    Passed,
    Ignored(String),
    Failed(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        HOSTS.iter().for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let chosen: Vec<_> = HOSTS
        .iter()
        .filter(|(name, ..)| filter.is_none_or(|filter| name.contains(filter.as_str())))
        .collect();
    println!("\nrunning {} tests", chosen.len());
    let is_required = std::env::var("SAKER_INTEROP").is_ok_and(|value| value == "require");
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for (name, script, arguments, when) in chosen {
        let verdict = if *when == When::Soak && !saker_testing::is_soak() {
            Verdict::Ignored("a guest of the soak".to_owned())
        } else {
            run(script, arguments, is_required && *when == When::Required)
        };
        match verdict {
            Verdict::Passed => {
                passed += 1;
                println!("test {name} ... ok");
            }
            Verdict::Ignored(why) => {
                ignored += 1;
                println!("test {name} ... ignored, {why}");
            }
            Verdict::Failed(output) => {
                failed += 1;
                println!("{output}\ntest {name} ... FAILED");
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out\n"
    );
    ExitCode::from(u8::from(failed > 0) * 101)
}

fn run(script: &str, arguments: &[&str], is_required: bool) -> Verdict {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../interop").join(script);
    // A test program that is run by itself is of the short tier.
    let tier = std::env::var("SAKER_TIER").unwrap_or_else(|_| "check".to_owned());
    let mut command = Command::new(path);
    command.arg(env!("CARGO_BIN_EXE_saker")).args(arguments).env("SAKER_TIER", tier);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Verdict::Failed(format!("interop/{script}: {error}")),
    };
    // Lines of the target's log first: who reads only the end of a long output finds the verdict there.
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    match output.status.code() {
        Some(0) if said.contains(": passed") => Verdict::Passed,
        Some(SKIPPED) if !is_required => Verdict::Ignored(said.lines().last().unwrap_or_default().to_owned()),
        _ => Verdict::Failed(said),
    }
}
