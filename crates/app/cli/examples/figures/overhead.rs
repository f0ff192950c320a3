// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of the emulator beyond what it models: at most 15 % of the flash in use and 64 MiB.

use crate::child::{mb, status};
use crate::pairs::fill;
use crate::{Outcome, verdict};
use saker::Kv;

const PAIRS: u64 = 4_000_000;

pub fn run() -> Outcome {
    for value in [16, 100, 400] {
        let mut kv = Kv::open("mem:?size=4GiB")?;
        let before = status("VmRSS");
        fill(&mut kv, 0, PAIRS, &vec![7; value])?;
        kv.flush()?;
        let resident = status("VmRSS");
        let s = kv.stats().ok_or("an inline device counts")?;
        let modelled: u64 = s.namespaces.iter().map(|n| n.memory.total()).sum();
        let flash = s.flash_bytes_in_use;
        let overhead = resident.saturating_sub(modelled + flash);
        let limit = flash * 15 / 100 + (64 << 20);
        println!(
            "overhead, {PAIRS} pairs of 16 + {value} bytes: memory {} MB before, {} MB after; modelled DRAM {} MB, flash in \
             use {} MB, the rest {} MB of at most {} MB: {}",
            mb(before),
            mb(resident),
            mb(modelled),
            mb(flash),
            mb(overhead),
            mb(limit),
            verdict(overhead <= limit),
        );
        kv.close()?;
    }
    Ok(())
}
